// Quantising weights: bitnet.cpp's sign rule and BitNet b1.58's absmean. Both give a weight its
// sign where its magnitude is above a threshold, so both are one loop over the weights' bits; for
// the sign rule that loop finds the scale too.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernel_abi/ternary_weights.h"
#include "ternary/call_log.h"
#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/floats.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/shape.h"
#include "ternary/share.h"
#include "ternary/workers.h"

namespace gpuready::ternary {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 18;  // weights that a thread takes at once
constexpr std::size_t kGrainPieces = kGrain / kSumPiece;
static_assert(kGrain % kSumPiece == 0 && std::has_single_bit(kGrainPieces));
static_assert(kernels::kSumPiece == kSumPiece);

Result<std::size_t> check(const FloatView& weights, Shape shape) {
  const Result<std::size_t> count = elements(shape);
  if (!count) return count;
  TRY(check_type(weights.type));
  const std::size_t needed = *count * bytes_of(weights.type);
  if (weights.bytes.size() == needed) return count;
  return fail(weights.bytes.size() < needed ? ErrorKind::truncated : ErrorKind::wrong_size,
              "weights of " + to_text(shape) + " take " + std::to_string(needed) + " bytes, not " +
                  std::to_string(weights.bytes.size()));
}

const std::uint8_t* word(const FloatView& weights, std::size_t index) {
  return reinterpret_cast<const std::uint8_t*>(weights.bytes.data()) +
         index * bytes_of(weights.type);
}

float value_of(FloatType type, std::uint32_t bits) {
  if (type == FloatType::f32) return std::bit_cast<float>(bits);
  const std::uint16_t half = static_cast<std::uint16_t>(bits);
  return type == FloatType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

// The greatest of several threads.
class Greatest {
 public:
  void raise(std::uint32_t bits) {
    std::uint32_t now = bits_.load(std::memory_order_relaxed);
    while (bits > now && !bits_.compare_exchange_weak(now, bits, std::memory_order_relaxed)) {
    }
  }
  std::uint32_t bits() const { return bits_.load(std::memory_order_relaxed); }
  bool finite(FloatType type) const { return bits() < kernels::kInfinity[static_cast<int>(type)]; }

 private:
  std::atomic<std::uint32_t> bits_{0};
};

// Sums in pairs, in their own place.
double add_pairs(std::span<double> sums) {
  for (std::size_t count = sums.size(); count > 1; count = (count + 1) / 2) {
    for (std::size_t i = 0; i < count / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    if (count % 2 != 0) sums[count / 2] = sums[count - 1];
  }
  return sums[0];
}

// What a thread takes at once is an aligned run of pieces, so that it has one sum.
Result<float> scale_by_absmean(const FloatView& weights, std::size_t count, unsigned threads) {
  const auto sums_of = weight_table().sums[static_cast<int>(weights.type)];
  std::vector<double> sums((count + kGrain - 1) / kGrain);
  Greatest greatest;
  share(count, kGrain, threads, [&](std::size_t begin, std::size_t end) {
    double pieces[kGrainPieces];
    greatest.raise(sums_of(word(weights, begin), end - begin, pieces));
    sums[begin / kGrain] = add_pairs(std::span(pieces, (end - begin + kSumPiece - 1) / kSumPiece));
  });
  if (!greatest.finite(weights.type)) {
    return std::unexpected(not_finite(weights, 0, count));
  }
  return absmean_scale(add_pairs(sums), static_cast<double>(count));
}

template <unsigned type>
std::uint32_t threshold(bool absmean, float scale) {
  return absmean ? absmean_threshold<type>(scale) : kSignThreshold<type>;
}
std::uint32_t threshold_of(FloatType type, bool absmean, float scale = 0) {
  constexpr decltype(&threshold<0>) kOf[] = {threshold<kWeightsF32>, threshold<kWeightsF16>,
                                             threshold<kWeightsBf16>};
  return kOf[static_cast<int>(type)](absmean, scale);
}

void write_signs(const FloatView& weights, std::size_t count, std::uint32_t threshold,
                 unsigned threads, std::int8_t* codes, Greatest& greatest) {
  const auto codes_of = weight_table().codes[static_cast<int>(weights.type)];
  share(count, kGrain, threads, [&](std::size_t begin, std::size_t end) {
    greatest.raise(codes_of(word(weights, begin), end - begin, threshold, 0,
                            reinterpret_cast<std::uint8_t*>(codes + begin)));
  });
}

bool has_block_rule(FormatId id) { return format(id).scales == ScaleGranularity::block; }

// Into `into` where it has been given, else into bytes of the result's own.
Result<Encoded> quantise_any(const FloatView& weights, Shape shape, FormatId to,
                             const QuantiseOptions& options,
                             std::optional<std::span<std::uint8_t>> into) {
  const unsigned threads = options.encode.threads;
  TRY(check_threads(threads));
  const auto count = TRY(check(weights, shape));
  if (options.rule != Rule::of_format && options.rule != Rule::absmean)
    return fail(ErrorKind::bad_input, "the rule is not one of those that there are");
  if (options.rule == Rule::absmean && format(to).four_levels) {
    return fail(ErrorKind::not_ternary,
                std::string(format(to).name) + " has four levels and no zero, so no absmean rule");
  }
  if (to == FormatId::i2s_qk256)
    return fail(ErrorKind::not_ternary,
                std::string(format(to).name) + " has no scales; only encode() writes it");
  auto started = TRY(start_encoded(to, shape, options.encode));
  if (into && into->size() != started.bytes) {
    return fail(ErrorKind::wrong_size, std::string(format(to).name) + " of " + to_text(shape) +
                                           " takes " + std::to_string(started.bytes) +
                                           " bytes, not " + std::to_string(into->size()));
  }
  Encoded& encoded = started.encoded;
  if (!into) encoded.bytes = make_bytes(started.bytes, threads);
  const std::span<std::uint8_t> bytes = into ? *into : std::span(encoded.bytes);
  if (options.rule == Rule::of_format && has_block_rule(to)) {
    return quantise_blocks(weights, std::move(started), bytes, options.encode);
  }

  const bool absmean =
      options.rule == Rule::absmean || to == FormatId::w2a8_gpu || to == FormatId::bitnet_hf;
  float scale = 0;  // bitnet.cpp: the greatest magnitude is the scale of all
  if (absmean) {    // also microsoft/BitNet gpu/convert_checkpoint.py, transformers' bitnet.py
    const auto mean = TRY(scale_by_absmean(weights, count, threads));
    scale = mean;
  }
  const std::uint32_t threshold = threshold_of(weights.type, absmean, scale);
  Greatest greatest;
  if (const std::size_t width = plane_width(to, shape); width != 0) {
    const auto codes_of = weight_table().codes[static_cast<int>(weights.type)];
    write_planes(width, count, threads, bytes.data(),
                 [&](std::size_t first, std::size_t now, std::uint8_t* codes) {
                   greatest.raise(codes_of(word(weights, first), now, threshold, 1, codes));
                 });
  } else {
    std::vector<std::int8_t> codes(count);
    write_signs(weights, count, threshold, threads, codes.data(), greatest);
    if (into) std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
    write_codes(to, shape, encoded.tiling, codes.data(), bytes.data());
  }
  if (!greatest.finite(weights.type)) {
    return std::unexpected(not_finite(weights, 0, count));
  }
  if (!absmean) scale = value_of(weights.type, greatest.bits());
  const std::size_t block = static_cast<std::size_t>(format(to).scale_block);
  const std::vector<float> scales(block == 0 ? 1 : (count + block - 1) / block, scale);
  TRY(finish_encoded(encoded, bytes, scales, options.encode));
  return std::move(encoded);
}

Result<Encoded> quantise_logged(const FloatView& weights, Shape shape, FormatId to,
                                const QuantiseOptions& options,
                                std::optional<std::span<std::uint8_t>> into) {
  return compute([&] {
    const CallLog log;
    auto done = quantise_any(weights, shape, to, options, into);
    if (log.on() && done) {
      log.write({.what = "quantise",
                 .weights = shape,
                 .form = format(to).name,
                 .threads = options.encode.threads == 0 ? usable_cpus() : options.encode.threads,
                 .bytes = weights.bytes.size()});
    }
    return done;
  });
}

}  // namespace

Result<Codes> v0::quantise_absmean(const FloatView& weights, Shape shape, unsigned threads) {
  return compute([&]() -> Result<Codes> {
    TRY(check_threads(threads));
    const auto count = TRY(check(weights, shape));
    const auto scale = TRY(scale_by_absmean(weights, count, threads));
    Codes codes;
    codes.shape = shape;
    codes.scales = {scale};
    codes.values.resize(count);
    Greatest greatest;
    write_signs(weights, count, threshold_of(weights.type, true, scale), threads,
                codes.values.data(), greatest);
    return codes;
  });
}

Result<Encoded> v0::quantise(const FloatView& weights, Shape shape, FormatId to,
                             const QuantiseOptions& options) {
  return quantise_logged(weights, shape, to, options, std::nullopt);
}

Result<Encoded> v0::quantise_into(std::span<std::uint8_t> bytes, const FloatView& weights,
                                  Shape shape, FormatId to, const QuantiseOptions& options) {
  return quantise_logged(weights, shape, to, options, bytes);
}

}  // namespace gpuready::ternary
