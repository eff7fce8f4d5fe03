#include "health/sm_rates.h"

#include <fmt/format.h>

namespace gpuready {
namespace {

// Multiply-adds are from registers alone and reach nearly all; the rest is margin for
// architectures on which that was not measured.
constexpr double kLeastFmaShare = 0.75;
constexpr const char* kGuide =
    "CUDA C++ Programming Guide, throughput of native arithmetic instructions";

struct Architecture {
  int capability;
  double fma;
  // Of the product of the architecture that does least: on GeForce GPUs sums in fp32 come at half
  // the rate of the same chips in other products. 0: not known.
  double tensor = 0, least_tensor_share = 0;
  const char* tensor_source = "";
};
// Hopper's burn was measured to reach all of it (docs/tensor-test.md); of the others' mma.sync the
// share is not known.
constexpr Architecture kArchitectures[] = {
    {50, 128},
    {52, 128},
    {53, 128},
    {60, 64},
    {61, 128},
    {62, 128},
    {70, 64},
    {72, 64},
    {75, 64},
    {80, 64, 2048, 0.5, "A100 whitepaper: 312 TFLOPS of 108 SMs at 1410 MHz"},
    {86, 128, 512, 0.5, "GA102 whitepaper: 71 TFLOPS of 82 SMs at 1695 MHz"},
    {87, 128},
    {89, 128, 512, 0.5, "Ada whitepaper: 165.2 TFLOPS of 128 SMs at 2520 MHz"},
    {90, 128, 4096, 0.8, "H100 whitepaper: 989.4 TFLOPS of 132 SMs at 1830 MHz"},
    {100, 128},
    {103, 128},
    {120, 128},
    {121, 128},
};

const Architecture* find(int capability) {
  for (const Architecture& one : kArchitectures)
    if (one.capability == capability) return &one;
  return nullptr;
}

}  // namespace

std::optional<SmRateRule> fma_rate_rule(int capability) {
  const Architecture* one = find(capability);
  if (!one) return std::nullopt;
  return SmRateRule{one->fma, kLeastFmaShare,
                    fmt::format("{} of the {} of compute capability {}.{} ({})", kLeastFmaShare,
                                one->fma, capability / 10, capability % 10, kGuide)};
}

std::optional<SmRateRule> tensor_rate_rule(int capability) {
  const Architecture* one = find(capability);
  if (!one || one->tensor == 0) return std::nullopt;
  return SmRateRule{
      one->tensor, one->least_tensor_share,
      fmt::format("{} of the {} of compute capability {}.{} ({})", one->least_tensor_share,
                  one->tensor, capability / 10, capability % 10, one->tensor_source)};
}

}  // namespace gpuready
