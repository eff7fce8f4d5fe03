// Saved packed weights of any bytes. What is accepted is weights: it unpacks to codes, packs again
// to the same bytes, and multiplies alike on the scalar tier and the best one. The checksum, which
// malice can make too, is made right for the fuzzer.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/packed.h"

using namespace gpuready::ternary;

namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

std::uint64_t checksum(std::span<const std::byte> header, std::span<const std::byte> rest) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < header.size(); ++i)
    hash = (hash ^ (i >= 32 && i < 40 ? 0 : static_cast<std::uint64_t>(header[i]))) * 0x100000001b3;
  for (const std::byte byte : rest)
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<Line> lines(size / 64 + 1);
  const std::span<std::byte> bytes(lines[0].bytes, size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (size >= 64) {
    std::int64_t rows = 0;
    std::memcpy(&rows, data + 16, 8);
    const auto small = static_cast<std::uint64_t>(rows) < (1u << 20)
                           ? static_cast<std::size_t>(rows)
                           : std::size_t{0};
    std::int64_t cols = 0, group = 0;
    std::memcpy(&cols, data + 24, 8);
    std::memcpy(&group, data + 40, 8);
    const bool groups = group > 0 && cols > 0 && cols < 1 << 22;
    const std::size_t padded = (small + 15) / 16 * 16,
                      of_row = groups ? static_cast<std::size_t>((cols - 1) / group + 1) : 1;
    const std::size_t tail = padded * 4 + (groups ? padded : small) * of_row * 4;
    if (tail <= size - 64) {
      const std::uint64_t contents =
          saved_contents_hash(bytes.subspan(64, size - 64 - tail), padded / 16, 1);
      std::memcpy(bytes.data() + 48, &contents, 8);
      const std::uint64_t hash = checksum(bytes.first(64), bytes.last(tail));
      std::memcpy(bytes.data() + 32, &hash, 8);
    }
  }
  const auto weights = PackedWeights::view(bytes, nullptr, Contents::check, 1);
  if (!weights) {
    if (weights.error().message.empty()) std::abort();
    return 0;
  }
  const Codes codes = weights->unpack();
  const auto groups = weights->group_scales();
  const auto packed =
      weights->scale_group() == 0
          ? PackedWeights::pack(codes, weights->form(), 1)
          : PackedWeights::pack(codes.values, codes.shape,
                                {std::span<const float>(groups), weights->scale_group()},
                                weights->form(), 1);
  if (!packed) std::abort();
  std::vector<std::byte> again(packed->saved_bytes());
  if (!packed->save(again) || again.size() != size ||
      std::memcmp(again.data(), bytes.data(), size) != 0)
    std::abort();
  const std::vector<std::int8_t> ones(static_cast<std::size_t>(codes.shape.cols), 127);
  const auto y = Activations::from_int8(ones, 1, codes.shape.cols);
  std::vector<std::int32_t> best(static_cast<std::size_t>(codes.shape.rows)), plain = best;
  static const auto engines = [] {
    EngineOptions scalar;
    scalar.tier = Tier::scalar;
    scalar.threads = 1;
    return std::pair(CpuEngine::create(scalar), CpuEngine::create({{}, false, 1}));
  }();
  // Weights with scales by group have no int32 product, and f32 ones are the same on every tier.
  std::vector<float> best_f32(best.size()), plain_f32 = best_f32;
  if (!y || !engines.first->multiply(*weights, *y, std::span(plain_f32)) ||
      !engines.second->multiply(*weights, *y, std::span(best_f32)) ||
      std::memcmp(plain_f32.data(), best_f32.data(), 4 * plain_f32.size()) != 0)
    if (!y || weights->scale_group() != 0) std::abort();
  if (weights->scale_group() == 0 &&
      (!engines.first->multiply(*weights, *y, std::span(plain)) ||
       !engines.second->multiply(*weights, *y, std::span(best)) || plain != best))
    std::abort();
  return 0;
}
