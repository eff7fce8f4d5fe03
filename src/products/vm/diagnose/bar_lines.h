// What the kernel says of memory windows (BARs) for which it seeks an address.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "gpuready/machine.h"

namespace gpuready::vm {

struct BarLine {
  PciAddress device;
  int bar = 0;
  bool assigned = false;  // else: no address was found
  std::uint64_t bytes = 0;
};

// A line about a BAR of memory; nothing of I/O ports, expansion ROMs and windows of bridges.
// "pci 0000:01:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]" (to Linux 6.9), "BAR 1
// [mem size 0x2000000000 64bit pref]: can't assign; no space" (since), and "BAR 1: assigned [mem
// 0x...-0x... 64bit pref]".
std::optional<BarLine> parse_bar_line(std::string_view line);

}  // namespace gpuready::vm
