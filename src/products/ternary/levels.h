// What quantise.cc shares with codec.cc.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

// The four levels of a format that is not ternary.
inline const float* levels(FormatId id) {
  static constexpr float kTl1[4] = {-1.0f, -0.33f, 0.33f, 1.0f};
  static constexpr float kTl2[4] = {-1.2f, -0.4f, 0.4f, 1.2f};
  static constexpr float kQk256[4] = {-2.0f, -1.0f, 1.0f, 2.0f};
  return id == FormatId::tl1_bitnet_rs ? kTl1 : id == FormatId::i2s_qk256 ? kQk256 : kTl2;
}

// An encoded tensor is made in three steps. The first is everything but the bytes and scales, and
// the bytes that it takes.
struct Started {
  Encoded encoded;
  std::size_t bytes = 0;
};
Result<Started> start_encoded(FormatId to, Shape shape, const EncodeOptions& options);
// Then the codes: of formats with planes from fill(first, count, codes), which writes the codes
// plus one of some weights and is called by several threads; of all others from codes that are
// already the format's (levels 0 to 3 for formats of four), into zeroed bytes.
using FillCodes = std::function<void(std::size_t first, std::size_t count, std::uint8_t* codes)>;
void write_planes(std::size_t width, std::size_t count, unsigned threads, std::uint8_t* bytes,
                  const FillCodes& fill);
// The reverse, to codes -1, 0 and +1; false when there is another.
bool read_planes(std::size_t width, std::size_t count, unsigned threads, const std::uint8_t* bytes,
                 std::int8_t* codes);
// At last the scales, among the bytes or beside them.
Result<void> finish_encoded(Encoded& encoded, std::span<std::uint8_t> bytes,
                            std::span<const float> scales, const EncodeOptions& options);
// Zeroed bytes. Large ones are asked of the system by all threads.
std::vector<std::uint8_t> make_bytes(std::size_t count, unsigned threads);

// The scales of an encoded tensor, whose size is checked, wherever it keeps them.
Result<std::vector<float>> scales_of(const EncodedView& from);

// The formats whose own rule has a scale for each block of weights.
Result<Encoded> quantise_blocks(const FloatView& weights, Started started,
                                std::span<std::uint8_t> bytes, const EncodeOptions& options);
// Says which weight is not finite.
Error not_finite(const FloatView& weights, std::size_t first, std::size_t count);

}  // namespace gpuready::ternary
