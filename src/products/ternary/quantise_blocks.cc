// The quantising rules that give each block of weights a scale: BitNet.rs' and ggml's.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "ternary/floats.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/shape.h"
#include "ternary/share.h"

namespace gpuready::ternary {
namespace {

constexpr std::size_t kPiece = 1024;                       // weights that are read at once
constexpr std::size_t kGrain = 1 << 16;                    // that a thread takes at once
static_assert(kPiece % 256 == 0 && kGrain % kPiece == 0);  // whole blocks of every format

// Each gives a block's codes (levels, of formats of four) and returns its scale.

// BitNet.rs: absmax / 1.5; beyond half a scale is one.
float code_bitnet_rs(const float* w, std::size_t count, float greatest, std::int8_t* codes) {
  const float scale = greatest > 1e-8f ? greatest / 1.5f : 1.0f;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = w[i] / scale;
    codes[i] = static_cast<std::int8_t>(x > 0.5f ? 1 : x < -0.5f ? -1 : 0);
  }
  return scale;
}

// BitNet.rs' four levels: the nearest, the lower of two at the same distance.
auto code_nearest(FormatId to) {
  return
      [level = levels(to)](const float* w, std::size_t count, float greatest, std::int8_t* codes) {
        const float scale = greatest > 1e-8f ? greatest / 1.5f : 1.0f;
        for (std::size_t i = 0; i < count; ++i) {
          const float x = w[i] / scale;
          int best = 0;
          for (int l = 1; l < 4; ++l) {
            if (std::fabs(x - level[l]) < std::fabs(x - level[best])) best = l;
          }
          codes[i] = static_cast<std::int8_t>(best);
        }
        return scale;
      };
}

// ggml, and BitNet.rs for its GGUF files: absmax, times whose reciprocal the weights are rounded,
// halves away from zero.
float code_ggml(const float* w, std::size_t count, float greatest, std::int8_t* codes) {
  const float inverse = greatest != 0 ? 1.0f / greatest : 0.0f;
  for (std::size_t i = 0; i < count; ++i) {
    // The reciprocal of a subnormal overflows; such a block's scale is refused as no f16 number.
    const float x = std::clamp(w[i] * inverse, -1.0f, 1.0f);
    codes[i] = static_cast<std::int8_t>(std::isnan(x) ? 0 : std::lround(x));
  }
  return greatest;
}

bool all_finite(const float* values, std::size_t count) {
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    finite &= std::fabs(values[i]) <= std::numeric_limits<float>::max();  // false for NaN
  }
  return finite;
}

template <class CodeBlock>
Result<Encoded> by_block(const FloatView& weights, Started started, std::span<std::uint8_t> bytes,
                         const EncodeOptions& options, CodeBlock code_block) {
  Encoded& encoded = started.encoded;
  const Format& f = format(encoded.format);
  const std::size_t count = static_cast<std::size_t>(encoded.shape.rows * encoded.shape.cols);
  const std::size_t block = static_cast<std::size_t>(f.scale_block);
  // kPiece weights are whole bytes, and whole blocks of those that keep their scales among them.
  const std::size_t piece_bytes =
      static_cast<std::size_t>(f.bits_per_weight * static_cast<double>(kPiece)) / 8;
  std::vector<float> scales((count + block - 1) / block);
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  std::atomic<bool> finite{true};
  share(count, kGrain, options.threads, [&](std::size_t begin, std::size_t end) {
    float values[kPiece];
    std::int8_t codes[kPiece];
    for (std::size_t first = begin; first < end; first += kPiece) {
      const std::size_t now = std::min(kPiece, end - first);
      read_floats(weights, first, now, values);
      if (!all_finite(values, now)) {
        finite = false;
        return;
      }
      for (std::size_t i = 0; i < now; i += block) {
        const std::size_t width = std::min(block, now - i);
        float greatest = 0;
        for (std::size_t j = 0; j < width; ++j) {
          greatest = std::max(greatest, std::fabs(values[i + j]));
        }
        scales[(first + i) / block] = code_block(values + i, width, greatest, codes + i);
      }
      write_codes(encoded.format, {1, static_cast<std::int64_t>(now)}, {}, codes,
                  bytes.data() + first / kPiece * piece_bytes);
    }
  });
  if (!finite) return std::unexpected(not_finite(weights, 0, count));
  TRY(finish_encoded(encoded, bytes, scales, options));
  return std::move(encoded);
}

}  // namespace

Error not_finite(const FloatView& weights, std::size_t first, std::size_t count) {
  float value = 0;
  for (; first < count; ++first) {
    read_floats(weights, first, 1, &value);
    if (!std::isfinite(value)) break;
  }
  return {ErrorKind::not_finite,
          "weight " + std::to_string(first) + " is " + (std::isnan(value) ? "NaN" : "infinite")};
}

Result<Encoded> quantise_blocks(const FloatView& weights, Started started,
                                std::span<std::uint8_t> bytes, const EncodeOptions& options) {
  const FormatId to = started.encoded.format;
  if (to == FormatId::i2s_bitnet_rs) {
    return by_block(weights, std::move(started), bytes, options, code_bitnet_rs);
  }
  if (format(to).four_levels) {
    return by_block(weights, std::move(started), bytes, options, code_nearest(to));
  }
  EncodeOptions rounding = options;
  rounding.round_scales = true;  // of those with f16 scales the rule has them rounded
  return by_block(weights, std::move(started), bytes, rounding, code_ggml);
}

}  // namespace gpuready::ternary
