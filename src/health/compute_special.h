// The special functions, which the hardware only approximates: how far a result is from the exact
// value, as a share of what is published.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuready {

// The error of `result` for the argument `x` (fp32 bit patterns), divided by the published bound:
// at most 1 is good, infinity where the published result is one exact value and this is another.
// Absent where nothing is promised.
//
// Bounds: NVIDIA, PTX ISA 9.0, sections "Floating Point Instructions: rcp, sqrt, rsqrt, sin, cos,
// lg2, ex2, tanh", for the .approx forms without .ftz; exact points are those sections' tables.
std::optional<double> special_function_error(unsigned op, std::uint32_t x, std::uint32_t result);

}  // namespace gpuready
