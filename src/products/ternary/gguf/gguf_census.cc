#include "ternary/gguf/gguf_census.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ternary/floats.h"
#include "ternary/layout.h"
#include "ternary/shape.h"

namespace gpuready::ternary::gguf {
namespace {

using Histogram = std::array<std::uint64_t, 256>;

void add_scale(Census& census, float scale) {
  if (census.scales++ == 0) {
    census.scale_least = std::numeric_limits<float>::infinity();
    census.scale_greatest = -std::numeric_limits<float>::infinity();
  }
  if (!std::isfinite(scale)) {
    ++census.scales_not_finite;
    return;
  }
  census.scale_least = std::min(census.scale_least, scale);
  census.scale_greatest = std::max(census.scale_greatest, scale);
}

std::array<std::uint64_t, 4> two_bit_of(const Histogram& histogram) {
  std::array<std::uint64_t, 4> codes{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (int shift = 0; shift < 8; shift += 2) codes[byte >> shift & 3] += histogram[byte];
  return codes;
}

void add_histogram(Bytes bytes, Histogram& histogram) {
  // Equal neighbours would wait for each other's count, so four tables take turns.
  std::array<Histogram, 4> tables{};
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) ++tables[lane][bytes[i + lane]];
  for (; i < bytes.size(); ++i) ++tables[0][bytes[i]];
  for (std::size_t value = 0; value < 256; ++value)
    for (const Histogram& table : tables) histogram[value] += table[value];
}

void add_codes(Census& census, const std::array<std::uint64_t, 4>& codes, FormatId id) {
  const auto weights = weights_of_bits(id);
  for (std::size_t code = 0; code < 4; ++code) {
    std::uint64_t& count = weights[code] == -1  ? census.minus
                           : weights[code] == 0 ? census.zero
                           : weights[code] == 1 ? census.plus
                                                : census.undefined;
    count += codes[code];
  }
}

// ggml's reading of trit n of a byte: the top of (byte 3^n mod 256) times 3. An encoder writes the
// value v of five trits, missing ones 0, as ceil(v 256 / 243).
void add_trits(Census& census, const Histogram& histogram, int trits) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned rest = byte, value = 0;
    for (int n = 0; n < 5; ++n, rest = rest * 3 & 255) {
      const unsigned trit = n < trits ? rest * 3 >> 8 : 0;
      value = value * 3 + trit;
      if (n < trits)
        (trit == 0 ? census.minus : trit == 1 ? census.zero : census.plus) += histogram[byte];
    }
    if ((value * 256 + 242) / 243 != byte) census.unwritten += histogram[byte];
  }
}

Census count_blocks(const Loaded& tensor) {
  const bool tq1 = tensor.format == FormatId::tq1_0;
  const std::size_t block = block_bytes(format(tensor.format));
  Census census;
  Histogram first{}, second{};
  for (std::size_t at = 0; at + block <= tensor.bytes.size(); at += block) {
    const Bytes bytes = tensor.bytes.subspan(at, block);
    const std::size_t fives = tq1 ? 48 : block - 2;
    for (std::size_t i = 0; i < fives; ++i) ++first[bytes[i]];
    for (std::size_t i = fives; i < block - 2; ++i) ++second[bytes[i]];
    std::uint16_t bits;
    std::memcpy(&bits, bytes.data() + block - 2, 2);
    add_scale(census, f16_to_f32(bits));
  }
  if (tq1) {
    add_trits(census, first, 5);
    add_trits(census, second, 4);
  } else {
    add_codes(census, two_bit_of(first), tensor.format);
  }
  return census;
}

Result<Census> count_decoded(const Loaded& tensor) {
  const auto codes = TRY(decode(tensor.view()));
  Census census;
  for (const std::int8_t code : codes.values)
    ++(code < 0 ? census.minus : code == 0 ? census.zero : census.plus);
  for (const float scale : codes.scales) add_scale(census, scale);
  return census;
}

}  // namespace

std::array<std::uint64_t, 4> count_two_bit(Bytes bytes) {
  Histogram histogram{};
  add_histogram(bytes, histogram);
  return two_bit_of(histogram);
}

Result<Census> count(const Loaded& tensor) {
  const Format& f = format(tensor.format);
  if (f.scales_inside && f.scale_block != 0) return count_blocks(tensor);
  if (f.needs_tiling || f.four_levels) return count_decoded(tensor);
  const std::uint64_t weights = static_cast<std::uint64_t>(tensor.shape.rows * tensor.shape.cols);
  if (weights % 4 != 0) return count_decoded(tensor);
  Census census;
  const auto codes = count_two_bit(tensor.bytes.first(weights / 4));
  add_codes(census, codes, tensor.format);
  for (const float scale : tensor.scales) add_scale(census, scale);
  if (!f.scales_inside) return census;
  float scale;
  std::memcpy(&scale, tensor.bytes.data() + weights / 4, 4);
  add_scale(census, scale);
  return census;
}

}  // namespace gpuready::ternary::gguf
