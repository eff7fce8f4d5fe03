// The suite's check of quantised weights.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "ternary/floats.h"
#include "ternary/suite/verify_compare.h"

namespace gpuready::ternary {
namespace {

// What a format's own rule gives, written down a second time: bitnet.cpp's sign rule, and ggml's
// absmax of a block of 256 with its scale rounded to f16.
std::vector<std::int8_t> plain_codes(std::span<const float> w, FormatId to) {
  std::vector<std::int8_t> codes(w.size());
  if (to == FormatId::i2s_x86) {
    for (std::size_t i = 0; i < w.size(); ++i)
      codes[i] = static_cast<std::int8_t>(std::fabs(w[i]) < 1e-6f ? 0 : w[i] > 0 ? 1 : -1);
    return codes;
  }
  for (std::size_t block = 0; block < w.size(); block += 256) {
    float greatest = 0;
    for (std::size_t i = block; i < block + 256; ++i)
      greatest = std::max(greatest, std::fabs(w[i]));
    const float inverse = greatest == 0 ? 0 : 1.0f / greatest;
    for (std::size_t i = block; i < block + 256; ++i)
      codes[i] = static_cast<std::int8_t>(std::lround(w[i] * inverse));
  }
  return codes;
}

// The absmean rule, in the order of kernel_abi/ternary_weights.h, written down a second time.
double plain_total(std::span<const float> w) {
  std::vector<double> level;
  for (std::size_t piece = 0; piece < w.size(); piece += 1024) {
    double lanes[16] = {};
    for (std::size_t i = piece; i < std::min(piece + 1024, w.size()); ++i)
      lanes[i % 16] += std::fabs(static_cast<double>(w[i]));
    for (std::size_t half = 8; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    level.push_back(lanes[0]);
  }
  level.resize(std::bit_ceil(level.size()));
  for (; level.size() > 1; level.resize(level.size() / 2))
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
  return level[0];
}
Codes plain_absmean(std::span<const float> w, Shape shape) {
  Codes codes{shape, std::vector<std::int8_t>(w.size()), 0, {}};
  const float scale =
      std::max(1e-5f, static_cast<float>(plain_total(w) / static_cast<double>(w.size())));
  codes.scales = {scale};
  for (std::size_t i = 0; i < w.size(); ++i)
    codes.values[i] =
        static_cast<std::int8_t>(std::clamp(std::nearbyint(w[i] / scale), -1.0f, 1.0f));
  return codes;
}

// Weights as a type's words, and their values.
struct Weights {
  Weights(FloatType t, std::size_t count) : type(t), bytes(count * bytes_of(t)), values(count) {}
  void set(std::size_t i, std::uint32_t bits) {
    std::memcpy(bytes.data() + i * bytes_of(type), &bits, bytes_of(type));
    read_floats(view(), i, 1, &values[i]);
  }
  void set(std::size_t i, float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    set(i, type == FloatType::f32 ? bits : type == FloatType::f16 ? f32_to_f16(value) : bits >> 16);
  }
  FloatView view() const { return {type, bytes}; }

  FloatType type;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

}  // namespace

// What a mean is sensitive to, by the rule that has one: any finite bits at all, subnormals, values
// about one half of the scale, the greatest, and nothing.
void SubjectRun::absmean(Shape shape, FloatType type, std::uint64_t seed) {
  const auto start = Clock::now();
  Numbers numbers(seed);
  const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
  const std::uint32_t infinity = type == FloatType::f32   ? 0x7F800000
                                 : type == FloatType::f16 ? 0x7C00
                                                          : 0x7F80;
  const std::uint32_t sign = type == FloatType::f32 ? 1u << 31 : 1u << 15;
  QuantiseOptions options;
  options.rule = Rule::absmean;
  for (const std::string_view fill : {"any bits", "subnormals", "halves", "greatest", "zeros"}) {
    Weights weights(type, count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto random = static_cast<std::uint32_t>(numbers.next());
      const std::uint32_t negative = random & 1 ? sign : 0;
      if (fill == "any bits")
        weights.set(i, negative | (random >> 1) % infinity);
      else if (fill == "subnormals")
        weights.set(i, negative | (random >> 1) % (type == FloatType::f16   ? 1u << 10
                                                   : type == FloatType::f32 ? 1u << 23
                                                                            : 1u << 7));
      else if (fill == "halves")  // the mean is 2, or nearly
        weights.set(i, (i % 2 == 0 ? 3.0f : 1.0f) * (random % 64 == 0 ? 1.0f - 0x1p-24f
                                                     : random & 1     ? -1.0f
                                                                      : 1.0f));
      else if (fill == "greatest")
        weights.set(i, negative | (infinity - 1));
    }
    for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_arm}) {
      if (!alive_ || !encoded_bytes(id, shape)) continue;
      const std::string where = std::string(format(id).name) + ", " + std::to_string(shape.rows) +
                                " x " + std::to_string(shape.cols) + ", absmean of " +
                                std::string(fill);
      const auto got = backend_->quantise(weights.view(), shape, id, options);
      const auto codes = got ? decode(*got) : Result<Codes>(std::unexpected(got.error()));
      if (!codes) {
        failed(CheckId::quantise, codes.error(), where);
        continue;
      }
      const Codes want = plain_absmean(weights.values, shape);
      compare<float>(CheckId::quantise, codes->scales, want.scales, 1, where + ", scale");
      compare<std::int8_t>(CheckId::quantise, codes->values, want.values, shape.cols,
                           where + ", codes");
    }
  }
  // The first of two that are not finite is named.
  Weights weights(type, count);
  weights.set(count * 2 / 3, infinity | sign);
  weights.set(count - 1, infinity | 1);
  const std::string place = "weight " + std::to_string(count * 2 / 3) + " ";
  for (const Rule rule : {Rule::of_format, Rule::absmean}) {
    options.rule = rule;
    if (!alive_) break;
    const auto got = backend_->quantise(weights.view(), shape, FormatId::i2s_arm, options);
    if (got)
      failed(CheckId::quantise, {ErrorKind::wrong_size, "an infinity was taken"}, place);
    else if (got.error().kind == ErrorKind::not_finite && got.error().message.starts_with(place))
      ++check(CheckId::quantise).cases;
    else
      failed(CheckId::quantise, got.error(), place);
  }
  check(CheckId::quantise).duration_ms += elapsed_ms(start);
}

void SubjectRun::quantise(Shape shape, FloatType type, std::uint64_t seed) {
  CheckResult& c = check(CheckId::quantise);
  const auto start = Clock::now();
  Numbers numbers(seed);
  const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
  Weights weights(type, count);
  for (std::size_t i = 0; i < count; ++i)
    weights.set(i, i % 13 == 0 ? 0.0f : static_cast<float>(numbers.normal() * 0.02));
  const FloatView view = weights.view();
  const bool device = backend_->info().kind != BackendKind::cpu;
  for (const Format& format : formats()) {
    const bool plain = format.id == FormatId::i2s_x86 || format.id == FormatId::tq2_0;
    // On the CPU the library would be compared with itself.
    if (!alive_ || format.four_levels || (!device && !plain)) continue;
    for (const Rule rule : {Rule::of_format, Rule::absmean}) {
      QuantiseOptions options;
      options.rule = rule;
      options.encode.round_scales = true;
      const auto want = ternary::quantise(view, shape, format.id, options);
      if (!want) continue;  // the format does not hold this shape
      const std::string where = std::string(format.name) + ", " + std::to_string(shape.rows) +
                                " x " + std::to_string(shape.cols) +
                                (rule == Rule::absmean ? ", absmean" : "");
      const auto got = backend_->quantise(view, shape, format.id, options);
      if (!got) {
        failed(CheckId::quantise, got.error(), where);
        continue;
      }
      if (device) {
        if (got->bytes.size() != want->bytes.size() || got->scales.size() != want->scales.size()) {
          failed(CheckId::quantise, {ErrorKind::wrong_size, "sizes differ from the CPU's"}, where);
          continue;
        }
        compare<std::uint8_t>(CheckId::quantise, got->bytes, want->bytes,
                              static_cast<std::int64_t>(want->bytes.size()), where + ", bytes");
        if (!want->scales.empty())
          compare<float>(CheckId::quantise, got->scales, want->scales,
                         static_cast<std::int64_t>(want->scales.size()), where + ", scales");
      }
      if (plain) {
        const auto codes = decode(*got);
        if (!codes)
          failed(CheckId::quantise, codes.error(), where);
        else
          compare<std::int8_t>(CheckId::quantise, codes->values,
                               rule == Rule::absmean ? plain_absmean(weights.values, shape).values
                                                     : plain_codes(weights.values, format.id),
                               shape.cols, where + ", codes");
      }
    }
  }
  c.duration_ms += elapsed_ms(start);
}

}  // namespace gpuready::ternary
