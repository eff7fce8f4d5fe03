// The tensor test: every matrix instruction that the GPU has, on every SM, on integers whose sums
// are exact, so that each result must equal the CPU's bit for bit. It is the burn, too: most of its
// time goes to one form that keeps the tensor cores busy without a pause while all is checked.
#pragma once

#include "health/tensor_run.h"
#include "health/test.h"

namespace gpuready {

Verdict test_tensor(Device& device, const TestOptions& options, const TestHooks& hooks);

// Chains in the shortest launch: enough to time an SM by.
inline constexpr unsigned kLeastTensorChains = 64;
// An SM whose cycles for equal work, the best of several rounds, exceed the median by more is slow.
inline constexpr double kSlowSmFactor = 1.10;

// Which of `forms` a fault on purpose is made in, and where: on one of the SMs seen.
struct TensorFaultPlace {
  std::size_t form = 0;  // slow-sm: of no meaning, the SM is slow in all
  TensorFault fault;
};
TensorFaultPlace draw_tensor_fault(const Fault& fault, std::span<const TensorForm* const> forms,
                                   std::span<const std::uint64_t> units);

// The units whose cycles exceed the median's by more than kSlowSmFactor, slowest first, and the
// median over the slowest.
struct SlowUnits {
  std::vector<std::pair<std::uint64_t, double>> units;  // %smid, times the median
  double median_to_slowest = 1;
};
SlowUnits find_slow_units(const std::vector<std::pair<std::uint64_t, double>>& cycles_by_unit);

}  // namespace gpuready
