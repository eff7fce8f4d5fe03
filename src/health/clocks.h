// Whether a GPU ran at the clock that it may run at while its tests loaded it. A test that compares
// a GPU with itself, or SMs with each other, cannot see that all of it is slow.
#pragma once

#include <string_view>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

// A verdict of the test "clocks" for each GPU whose SMs counted their own cycles (the compute test,
// also a quick one) or that was sampled for long enough. What counts is the share of the loaded
// time in which the clock was below 0.75 of what the device allows: NVML's greatest SM clock, or
// the application clock where NVML names that as a reason. Time at the power limit does not count
// while the power is within 5% of that limit, nor time under another setting that NVML names.
//   failed         over half of the load was slow; or the hardware held the clocks back (HW
//                  slowdown, HW thermal slowdown, power brake) in a tenth of the load; or the SMs
//                  counted less than 0.75 of the cycles that NVML's clock would make
//   passed         else; over a tenth slow, the metric "slow_share" has its threshold and is above
//   inconclusive   NVML reports no clock, no greatest clock, or one that the SMs' count contradicts
//   not_supported  the same where NVML is hidden for good, or a virtual GPU has no clock to tell
std::vector<Verdict> judge_clocks(const Machine& machine, const Samples& samples,
                                  const std::vector<Verdict>& verdicts);

// A test that keeps every SM busy; what copies only does not.
bool loads_every_sm(const Verdict& verdict);

inline constexpr std::string_view kClocksTest = "clocks";
// Metrics of that verdict. A threshold is the least that passes, and of these shares the most.
inline constexpr const char *kSlowShare = "slow_share", *kHardwareShare = "hardware_share";
// The greatest generation at which the GPU's PCI Express link ran meanwhile: an idle link is slow
// on purpose. Says nothing about the clock, and is absent where the link is not the GPU's own.
inline constexpr const char* kLinkGeneration = "link_generation";

}  // namespace gpuready
