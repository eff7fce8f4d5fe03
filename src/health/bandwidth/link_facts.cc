#include "health/bandwidth/link_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/lesser.h"
#include "machine/pci_files.h"

namespace gpuready {
namespace {

struct Generation {
  double transfers_per_second;  // a lane and direction; one bit each
  double efficiency;
};
constexpr std::array<Generation, 6> kGenerations = {{{2.5e9, 8.0 / 10},
                                                     {5e9, 8.0 / 10},
                                                     {8e9, 128.0 / 130},
                                                     {16e9, 128.0 / 130},
                                                     {32e9, 128.0 / 130},
                                                     {64e9, 236.0 / 256}}};

PcieLink read_link(Host& host, const std::string& folder, const char* which) {
  PcieLink link;
  if (const auto speed = host.read_text(folder + '/' + which + "_link_speed"))
    link.generation = parse_link_speed(*speed);
  if (const auto width = host.read_text(folder + '/' + which + "_link_width"))
    link.width = parse_link_width(*width);
  return link;
}

}  // namespace

bool LinkFacts::reduced() const {
  return (now.generation && most.generation && *now.generation < *most.generation) ||
         (now.width && most.width && *now.width < *most.width);
}

LinkFacts read_link_facts(Host& host, std::string_view pci_address) {
  const std::string folder = "/sys/bus/pci/devices/" + std::string(pci_address);
  LinkFacts facts{read_link(host, folder, "current"), read_link(host, folder, "max")};
  // The port at the other end is the folder above, where that is a PCI function at all.
  if (const auto path = host.real_path(folder)) {
    const std::string parent = path->substr(0, path->rfind('/'));
    if (parse_pci_address(parent.substr(parent.rfind('/') + 1))) {
      const PcieLink port = read_link(host, parent, "max");
      // Less than what runs is not what a real port can do.
      if (!port.generation || !port.width || *port.generation < facts.now.generation.value_or(0) ||
          *port.width < facts.now.width.value_or(0))
        return facts;
      facts.port_seen = true;
      facts.most.generation = lesser(facts.most.generation, port.generation);
      facts.most.width = lesser(facts.most.width, port.width);
    }
  }
  return facts;
}

std::optional<double> raw_link_rate(const PcieLink& link) {
  if (!link.generation || !link.width || *link.generation < 1 ||
      *link.generation > static_cast<int>(kGenerations.size()))
    return std::nullopt;
  const Generation& generation = kGenerations[static_cast<std::size_t>(*link.generation - 1)];
  return generation.transfers_per_second / 8 * generation.efficiency * *link.width;
}

std::string describe_link(const PcieLink& link) {
  std::string text = link.generation ? fmt::format("PCIe {}.0", *link.generation)
                                     : std::string("PCIe of unknown generation");
  if (link.width) text += fmt::format(" x{}", *link.width);
  return text;
}

}  // namespace gpuready
