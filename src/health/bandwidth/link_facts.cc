#include "health/bandwidth/link_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/optional_min.h"
#include "base/vendor_codes.h"
#include "machine/pci/pci_files.h"

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

const std::string kDevices = "/sys/bus/pci/devices/";
constexpr std::size_t kConfigForAll = 64;  // what the kernel shows others than root

}  // namespace

bool TrainedLink::narrow() const { return now.width && most.width && *now.width < *most.width; }

bool TrainedLink::slow() const {
  const auto offered = optional_min(most.generation, target);
  return now.generation && offered && *now.generation < *offered;
}

bool TrainedLink::limited() const {
  return !slow() && now.generation && most.generation && *now.generation < *most.generation;
}

PcieLink LinkFacts::slowest() const {
  PcieLink least = now;
  for (const TrainedLink& link : above) {
    const auto rate = raw_link_rate(link.now), known = raw_link_rate(least);
    if (rate && known && *rate < *known) least = link.now;
  }
  return least;
}

namespace {

std::string folder_of(const PciAddress& address) { return kDevices + address.text(); }

// The upper end of a link. Less than what runs is not what a real port can do. False: it is none.
bool add_port(Host& host, const PciAddress& port, TrainedLink& link) {
  const PcieLink most = read_link(host, folder_of(port), "max");
  if (!most.generation || !most.width || *most.generation < link.now.generation.value_or(0) ||
      *most.width < link.now.width.value_or(0))
    return false;
  link.most = slower_of(link.most, most);
  if (const auto config = host.read_file(folder_of(port) + "/config")) {
    link.target = parse_target_generation(*config);
    link.target_read = config->size() > kConfigForAll;
  }
  return true;
}

}  // namespace

LinkFacts read_link_facts(Host& host, std::string_view pci_address) {
  const std::string folder = kDevices + std::string(pci_address);
  LinkFacts facts{
      {read_link(host, folder, "current"), read_link(host, folder, "max"), {}}, false, {}, {}};
  facts.gpu_most = facts.most;
  const auto real = host.real_path(folder);
  const auto path = real ? parse_pci_path(*real).path : std::vector<PciAddress>{};
  if (path.empty()) return facts;
  const auto vendor = static_cast<std::uint16_t>(host.read_hex(folder + "/vendor").value_or(0));
  const std::size_t top = board_top(host, path, vendor);
  if (top + 1 < path.size()) {
    // The board has a switch of its own. Behind Intel's the GPU claims 2.5 GT/s and one lane.
    const std::string end = folder_of(path[top]);
    const PcieLink now = read_link(host, end, "current"), most = read_link(host, end, "max");
    const bool claims = vendor == pci_vendor::kIntel;
    facts.now = claims ? now : slower_of(facts.now, now);
    facts.most = claims ? most : slower_of(facts.most, most);
  }
  if (top == 0) return facts;  // no port is shown above it
  facts.port_seen = add_port(host, path[top - 1], facts);
  // Above the port of a switch lies the switch's own upper end, and above that the next port.
  for (std::size_t i = top - 1; i >= 2; i -= 2) {
    const std::string end = folder_of(path[i - 1]);
    TrainedLink link{read_link(host, end, "current"), read_link(host, end, "max"), {}};
    if (add_port(host, path[i - 2], link)) facts.above.push_back(link);
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
