// Devices into and out of a running QEMU.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/named.h"
#include "vm/guest_args.h"

namespace gpuready::vm {

enum class PlugState { plugged, already_plugged, unplugged, not_plugged };

struct HotPlugged {
  std::string device;  // PCI address or UUID
  PlugState state = PlugState::plugged;
};

// All slots are plugged, each into an empty root port of its own, or none. QEMU tells the guest's
// kernel; nothing says whether the guest's driver takes them.
Result<std::vector<HotPlugged>> plug(const std::string& socket, const std::vector<GuestSlot>& slots,
                                     std::chrono::milliseconds timeout);

// Waits until the guest has released all of them. After `timed_out` the requests stay pending: the
// next call waits again.
Result<std::vector<HotPlugged>> unplug(const std::string& socket,
                                       const std::vector<GuestSlot>& slots,
                                       std::chrono::milliseconds timeout);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::PlugState, "plugged", "already_plugged", "unplugged", "not_plugged");
}  // namespace gpuready
