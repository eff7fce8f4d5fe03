// Faults on purpose: what a test must find, made on the device itself through a kernel argument
// that is zero in production, or in a copy or launch on its way there. Where a fault sits is drawn
// from its seed, so that whoever injected it knows what must be reported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "base/result.h"

namespace gpuready {

enum class FaultClass {
  bitflip,        // one bit of a word is flipped after it was written
  stuck,          // one bit of a word reads as 0 or as 1 whatever is written
  dropped_write,  // a word keeps what it held before
  alias,          // two addresses share one physical cell
  coupling,       // writing a word changes a bit of its logical neighbour
  wrong_sm,       // one SM computes wrongly
  nan,            // one result is a NaN
  slow_sm,        // one SM takes longer than the others
  slow_clock,     // all SMs take longer than they may, and idle in between
  copy,           // a word is corrupted in one copy between host and device, or within the device
  peer_copy,      // a word is corrupted in one copy between two GPUs
  result_copy,    // a bit changes in one copy from the device to the host
  operand_copy,   // a bit changes in one copy from the host to the device
  lost_launch,    // one launch does nothing
};

struct Fault {
  FaultClass kind = FaultClass::bitflip;
  std::uint64_t seed = 0;   // where, and which bits
  std::uint64_t count = 1;  // how many such faults, at different places (memory faults)
};

NAMES_OF(FaultClass, "bitflip", "stuck", "dropped-write", "alias", "coupling", "wrong-sm", "nan",
         "slow-sm", "slow-clock", "copy", "peer-copy", "result-copy", "operand-copy",
         "lost-launch");
constexpr std::string_view to_string(FaultClass kind) { return name_of(kind); }
std::span<const FaultClass> all_fault_classes();
// Whether it is made in front of the device, in a call that a test makes (spoiled_device.h).
constexpr bool is_device_fault(FaultClass kind) { return kind >= FaultClass::result_copy; }
// The tests that must find it, each time (docs/health-tests.md).
std::span<const std::string_view> tests_that_find(FaultClass kind);

}  // namespace gpuready
