#include "machine/drm_cards.h"

#include "base/text.h"
#include "machine/pci_files.h"

namespace gpuready {

std::map<PciAddress, std::string> drm_cards(Host& host) {
  std::map<PciAddress, std::string> cards;
  const auto names = host.list_directory("/sys/class/drm");
  if (!names) return cards;
  for (const auto& name : *names) {
    const auto number = after_prefix(name, "card");
    if (!number || !parse_uint(*number)) continue;
    const std::string base = "/sys/class/drm/" + name;
    auto target = host.read_link(base + "/device");
    if (!target) target = host.real_path(base + "/device");
    if (!target) continue;
    if (const auto address = parse_pci_address(last_component(*target)))
      cards.emplace(*address, base);
  }
  return cards;
}

}  // namespace gpuready
