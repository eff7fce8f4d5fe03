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
// lg2, ex2, tanh", for the .approx forms without .ftz; for sin and cos from -pi to pi the tighter
// ones of the CUDA C++ Programming Guide, "Intrinsic Functions" (__sinf, __cosf). Exact points are
// those sections' tables.
std::optional<double> special_function_error(unsigned op, std::uint32_t x, std::uint32_t result);

// What is let pass, in published bounds. Good chips exceed one: on an H200 cos.approx is up
// to 1.052 times as far off as is published for arguments from pi to 2 pi (all were tried). A fault
// that all SMs share and that stays below twice the bound is not to be expected; one that they do
// not share is found by comparison.
inline constexpr double kSpecialErrorAllowed = 2;

}  // namespace gpuready
