// Quantising weights: each format's own rule, and BitNet b1.58's absmean.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ternary/error.h"
#include "ternary/floats.h"
#include "ternary/levels.h"

namespace gpuready::ternary {
namespace {

constexpr std::size_t kPiece = 1024;  // elements read at once; what fixes the order of sums

Result<std::size_t> check(const FloatView& weights, Shape shape) {
  const Result<std::size_t> count = elements(shape);
  if (!count) return count;
  const std::size_t needed = *count * bytes_of(weights.type);
  if (weights.bytes.size() == needed) return count;
  return fail(weights.bytes.size() < needed ? ErrorKind::truncated : ErrorKind::wrong_size,
              "weights of " + to_text(shape) + " take " + std::to_string(needed) + " bytes, not " +
                  std::to_string(weights.bytes.size()));
}

// Calls use(first, values, count) for piece after piece, and stops at what is not finite.
template <class Use>
Result<void> for_each_piece(const FloatView& weights, std::size_t count, Use use) {
  float values[kPiece];
  for (std::size_t first = 0; first < count; first += kPiece) {
    const std::size_t now = std::min(kPiece, count - first);
    read_floats(weights, first, now, values);
    bool finite = true;
    for (std::size_t i = 0; i < now; ++i) {
      finite &= std::fabs(values[i]) <= std::numeric_limits<float>::max();  // false for NaN
    }
    if (!finite) {
      const float* bad =
          std::find_if(values, values + now, [](float x) { return !std::isfinite(x); });
      return fail(ErrorKind::not_finite,
                  "weight " + std::to_string(first + static_cast<std::size_t>(bad - values)) +
                      " is " + (std::isnan(*bad) ? "NaN" : "infinite"));
    }
    use(first, values, now);
  }
  return {};
}

Result<float> greatest_magnitude(const FloatView& weights, std::size_t count) {
  float greatest = 0;
  const Result<void> read =
      for_each_piece(weights, count, [&](std::size_t, const float* w, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) greatest = std::max(greatest, std::fabs(w[i]));
      });
  if (!read) return std::unexpected(read.error());
  return greatest;
}

// bitnet.cpp: the sign, and zero below 1e-6; the greatest magnitude is the scale of all.
Result<Encoded> by_sign(const FloatView& weights, Shape shape, std::size_t count, FormatId to,
                        const EncodeOptions& options) {
  const Result<float> scale = greatest_magnitude(weights, count);
  if (!scale) return std::unexpected(scale.error());
  std::vector<std::int8_t> codes(count);
  (void)for_each_piece(weights, count, [&](std::size_t first, const float* w, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool zero = std::fabs(static_cast<double>(w[i])) < 1e-6;
      codes[first + i] = static_cast<std::int8_t>(zero ? 0 : w[i] > 0 ? 1 : -1);
    }
  });
  const float scales[1] = {*scale};
  return encode_levels(to, shape, codes.data(), scales, options);
}

// Blocks with a scale each: `code_of(block values, count, codes)` gives a block's scale.
template <class CodeBlock>
Result<Encoded> by_block(const FloatView& weights, Shape shape, std::size_t count, FormatId to,
                         const EncodeOptions& options, CodeBlock code_block) {
  const std::size_t block = static_cast<std::size_t>(format(to).scale_block);
  std::vector<std::int8_t> codes(count);
  std::vector<float> scales;
  scales.reserve((count + block - 1) / block);
  static_assert(kPiece % 256 == 0);  // so a piece holds whole blocks
  const Result<void> read =
      for_each_piece(weights, count, [&](std::size_t first, const float* w, std::size_t n) {
        for (std::size_t i = 0; i < n; i += block) {
          const std::size_t now = std::min(block, n - i);
          float greatest = 0;
          for (std::size_t j = 0; j < now; ++j) greatest = std::max(greatest, std::fabs(w[i + j]));
          scales.push_back(code_block(w + i, now, greatest, codes.data() + first + i));
        }
      });
  if (!read) return std::unexpected(read.error());
  return encode_levels(to, shape, codes.data(), scales, options);
}

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

// ggml: absmax, times whose reciprocal the weights are rounded, halves away from zero.
float code_ggml(const float* w, std::size_t count, float greatest, std::int8_t* codes) {
  const float inverse = greatest != 0 ? 1.0f / greatest : 0.0f;
  for (std::size_t i = 0; i < count; ++i) {
    // The reciprocal of a subnormal overflows; such a block's scale is refused as no f16 number.
    const float x = std::clamp(w[i] * inverse, -1.0f, 1.0f);
    codes[i] = static_cast<std::int8_t>(std::isnan(x) ? 0 : std::lround(x));
  }
  return greatest;
}

}  // namespace

// The mean is of f64 sums in a fixed order: of each 1024 weights, 16 sums of every sixteenth
// weight, added in a tree; these in turn.
Result<Codes> quantise_absmean(const FloatView& weights, Shape shape) {
  const Result<std::size_t> count = check(weights, shape);
  if (!count) return std::unexpected(count.error());
  double total = 0;
  const Result<void> read =
      for_each_piece(weights, *count, [&](std::size_t, const float* w, std::size_t n) {
        double lanes[16] = {};
        for (std::size_t i = 0; i < n; ++i) lanes[i % 16] += std::fabs(static_cast<double>(w[i]));
        for (int half = 8; half > 0; half /= 2) {
          for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
        }
        total += lanes[0];
      });
  if (!read) return std::unexpected(read.error());
  const float scale = std::max(1e-5f, static_cast<float>(total / static_cast<double>(*count)));
  Codes codes;
  codes.shape = shape;
  codes.scales = {scale};
  codes.values.resize(*count);
  (void)for_each_piece(weights, *count, [&](std::size_t first, const float* w, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      // Round half to even and clamp: beyond one half is one, and one half itself goes to zero.
      const float x = w[i] / scale;
      codes.values[first + i] = static_cast<std::int8_t>((x > 0.5f ? 1 : 0) - (x < -0.5f ? 1 : 0));
    }
  });
  return codes;
}

Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                         const QuantiseOptions& options) {
  const Result<std::size_t> count = check(weights, shape);
  if (!count) return std::unexpected(count.error());
  EncodeOptions encode_options = options.encode;
  if (options.rule == Rule::absmean) {
    const Result<Codes> codes = quantise_absmean(weights, shape);
    if (!codes) return std::unexpected(codes.error());
    return encode(*codes, to, encode_options);
  }
  switch (to) {
    case FormatId::i2s_bitnet_rs:
      return by_block(weights, shape, *count, to, encode_options, code_bitnet_rs);
    case FormatId::tl1_bitnet_rs:
    case FormatId::tl2_bitnet_rs:
      return by_block(weights, shape, *count, to, encode_options, code_nearest(to));
    case FormatId::tq1_0:
    case FormatId::tq2_0:
      encode_options.round_scales = true;  // the rule has the scale rounded to f16
      return by_block(weights, shape, *count, to, encode_options, code_ggml);
    case FormatId::w2a8_gpu: {  // microsoft/BitNet gpu/convert_checkpoint.py
      const Result<Codes> codes = quantise_absmean(weights, shape);
      if (!codes) return std::unexpected(codes.error());
      return encode(*codes, to, encode_options);
    }
    default:
      return by_sign(weights, shape, *count, to, encode_options);
  }
}

}  // namespace gpuready::ternary
