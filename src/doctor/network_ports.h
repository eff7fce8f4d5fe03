// Ports of network adapters, and how many errors a good link has: for diagnose() and comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/cause.h"

namespace gpuready::doctor {

struct NetworkPlace {
  const NetworkAdapter* adapter;
  const NetworkPort* port;
};
// Without those of virtual functions, whose ports are their guests'.
std::vector<NetworkPlace> network_ports(const Machine& machine);
std::string file_of(const NetworkPlace& place, std::string_view file);
Match about(const NetworkAdapter& adapter);

// How many errors a good link has at most since the machine started.
struct LinkErrorLimit {
  const char* counter;
  double per_hour;
  std::uint64_t at_once;
  std::uint64_t full;  // where the port's counter stops; 0: not before it is a warning

  double usual(double hours) const;
};
std::span<const LinkErrorLimit> link_error_limits();

}  // namespace gpuready::doctor
