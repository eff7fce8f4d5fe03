// What quantise.cc shares with codec.cc.
#pragma once

#include <span>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

// The four levels of a format that is not ternary.
inline const float* levels(FormatId id) {
  static constexpr float kTl1[4] = {-1.0f, -0.33f, 0.33f, 1.0f};
  static constexpr float kTl2[4] = {-1.2f, -0.4f, 0.4f, 1.2f};
  return id == FormatId::tl1_bitnet_rs ? kTl1 : kTl2;
}

// Codes that are already the format's (levels 0 to 3 for formats of four) with the scales it keeps.
Result<Encoded> encode_levels(FormatId to, Shape shape, const std::int8_t* codes,
                              std::span<const float> scales, const EncodeOptions& options);

}  // namespace gpuready::ternary
