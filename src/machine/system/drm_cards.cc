#include "machine/system/drm_cards.h"

#include <optional>

#include "base/text.h"
#include "machine/pci/pci_files.h"

namespace gpuready {
namespace {

const std::string kFolder = "/sys/class/drm";

std::optional<PciAddress> gpu_of(Host& host, const std::string& name) {
  const std::string link = kFolder + "/" + name + "/device";
  auto target = host.read_link(link);
  if (!target) target = host.real_path(link);
  return target ? parse_pci_address(last_component(*target)) : std::nullopt;
}

bool is_node(std::string_view name) {
  for (const std::string_view prefix : {"card", "renderD"})
    if (const auto number = after_prefix(name, prefix); number && parse_uint(*number)) return true;
  return false;
}

std::vector<std::string> listed(Host& host) {
  return host.list_directory(kFolder).value_or(std::vector<std::string>{});
}

}  // namespace

std::vector<DrmNode> drm_nodes(Host& host) {
  std::vector<DrmNode> nodes;
  for (const auto& name : listed(host)) {
    if (!is_node(name)) continue;
    if (const auto gpu = gpu_of(host, name)) nodes.push_back({name, *gpu});
  }
  return nodes;
}

std::map<PciAddress, std::string> drm_cards(Host& host) {
  std::map<PciAddress, std::string> cards;
  for (const auto& node : drm_nodes(host))
    if (node.name.starts_with("card")) cards.emplace(node.gpu, kFolder + "/" + node.name);
  return cards;
}

std::map<PciAddress, bool> connected_displays(Host& host) {
  std::map<PciAddress, bool> displays;
  for (const auto& name : listed(host)) {
    const auto dash = name.find('-');
    if (dash == name.npos || contains(name, "Writeback")) continue;
    const auto status = host.read_text(kFolder + "/" + name + "/status");
    const auto gpu = status ? gpu_of(host, name.substr(0, dash)) : std::nullopt;
    if (gpu) displays[*gpu] |= *status == "connected";
  }
  return displays;
}

}  // namespace gpuready
