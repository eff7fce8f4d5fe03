// The suite's check of quantised weights.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "ternary/floats.h"
#include "ternary_device/verify_compare.h"

namespace gpuready::ternary {
namespace {

// What a format's own rule gives, written down a second time: bitnet.cpp's sign rule, and ggml's
// absmax of a block of 256 with its scale rounded to f16.
std::vector<std::int8_t> plain_codes(const std::vector<float>& w, FormatId to) {
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

}  // namespace

void SubjectRun::quantise(Shape shape, FloatType type, std::uint64_t seed) {
  CheckResult& c = check(CheckId::quantise);
  const auto start = Clock::now();
  Numbers numbers(seed);
  const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
  std::vector<float> w(count);
  std::vector<std::byte> bytes(count * bytes_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    w[i] = i % 13 == 0 ? 0.0f : static_cast<float>(numbers.normal() * 0.02);
    if (type == FloatType::f32) {
      std::memcpy(bytes.data() + 4 * i, &w[i], 4);
      continue;
    }
    const std::uint16_t bits =
        type == FloatType::f16
            ? f32_to_f16(w[i])
            : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(w[i]) >> 16);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
    w[i] = type == FloatType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
  const FloatView view{type, bytes};
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
      if (plain && rule == Rule::of_format) {
        const auto codes = decode(*got);
        if (!codes)
          failed(CheckId::quantise, codes.error(), where);
        else
          compare<std::int8_t>(CheckId::quantise, codes->values, plain_codes(w, format.id),
                               shape.cols, where + ", codes");
      }
    }
  }
  c.duration_ms += elapsed_ms(start);
}

}  // namespace gpuready::ternary
