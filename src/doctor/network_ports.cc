#include "doctor/network_ports.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpuready::doctor {
namespace {

// The InfiniBand specification's bit error rate of 10^-12 is about 120 symbol errors an hour; of
// the others ibcheckerrors of infiniband-diags warns from 10 on, and what rebooting switches add is
// one or two a day at most.
constexpr LinkErrorLimit kLimits[] = {{"symbol_error", 120, 120, 65535},
                                      {"link_downed", 2.0 / 24, 10, 255},
                                      {"link_error_recovery", 2.0 / 24, 10, 255},
                                      {"local_link_integrity_errors", 0, 10, 15},
                                      {"excessive_buffer_overrun_errors", 0, 10, 15}};

}  // namespace

std::vector<NetworkPlace> network_ports(const Machine& machine) {
  std::vector<NetworkPlace> ports;
  for (const auto& adapter : machine.network)
    for (const auto& port : adapter.ports)
      if (!adapter.virtual_function) ports.push_back({&adapter, &port});
  return ports;
}

std::string file_of(const NetworkPlace& place, std::string_view file) {
  return fmt::format("/sys/class/infiniband/{}/ports/{}/{}", place.adapter->name.value_or("?"),
                     place.port->port, file);
}

Match about(const NetworkAdapter& adapter) {
  Match match;
  if (adapter.pci) match.pci.push_back(*adapter.pci);
  return match;
}

double LinkErrorLimit::usual(double hours) const {
  return std::max(static_cast<double>(at_once), per_hour * hours);
}

std::span<const LinkErrorLimit> link_error_limits() { return kLimits; }

}  // namespace gpuready::doctor
