// What an SM does in a clock cycle, by the architecture. A GPU that is slow as a whole cannot be
// seen by comparing its SMs, and not by the clock that it claims to run at.
#pragma once

#include <optional>
#include <string>

namespace gpuready {

// The figure that the fastest SM must reach.
struct SmRateRule {
  double most;  // what the architecture does
  double least_share;
  std::string source;
  double least() const { return most * least_share; }
};

// Fused multiply-adds of single precision a cycle. Compute capability as 90 for 9.0; nothing where
// it is not known, which is then not judged.
std::optional<SmRateRule> fma_rate_rule(int capability);
// Operations a cycle of the form of matrix instruction that the tensor test burns with (bf16, two
// for a multiply-add).
std::optional<SmRateRule> tensor_rate_rule(int capability);

}  // namespace gpuready
