// Ternary products with scales by group, by each kernel that ships, against the plain reference.
#include <gtest/gtest.h>

#include "ptx_gpu.h"
#include "ternary/device/gpu_backend.h"
#include "unit/products/ternary/reference.h"

namespace gpuready::ternary {
namespace {

using reference::Fill;

struct Counts {
  int products = 0, wrong = 0;
  std::string first;
  void count(bool good, const std::string& what) {
    ++products;
    if (!good && wrong++ == 0) first = what;
  }
};

void check(Backend& gpu, const reference::GroupedProblem& p, Counts& counts) {
  const auto packed = PackedWeights::pack(p.plain.weights.values, {p.plain.n, p.plain.k},
                                          {std::span<const float>(p.scales), p.group});
  const auto y = Activations::from_int8(p.plain.y, p.plain.m, p.plain.k, p.plain.steps);
  const auto weights = gpu.load(*packed);
  std::vector<float> values(p.values.size(), -1.0f);
  std::vector<std::uint16_t> halves(p.values.size(), 0x5555);
  const std::string what = std::to_string(p.plain.m) + " x " + std::to_string(p.plain.n) + " x " +
                           std::to_string(p.plain.k) + ", groups of " + std::to_string(p.group);
  if (!weights) return counts.count(false, what + ": " + weights.error().message);
  for (const auto& done : {gpu.multiply(**weights, *y, std::span(values)),
                           gpu.multiply(**weights, *y, std::span(halves))})
    if (!done) return counts.count(false, what + ": " + done.error().message);
  bool good = true;
  for (std::size_t i = 0; i < values.size(); ++i)
    good &= std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(p.values[i]) &&
            halves[i] == reference::to_bf16(p.values[i]);
  counts.count(good, what);
  std::vector<std::int32_t> sums(values.size(), 7);
  const auto refused = gpu.multiply(**weights, *y, std::span(sums));
  counts.count(!refused && refused.error().kind == ErrorKind::not_representable, what + ": sums");
}

// The same activations as values, which the device quantises: the CPU's bits.
void check_values(Backend& gpu, const reference::GroupedProblem& p, Counts& counts) {
  const auto packed = PackedWeights::pack(p.plain.weights.values, {p.plain.n, p.plain.k},
                                          {std::span<const float>(p.scales), p.group});
  std::vector<float> x(p.plain.y.begin(), p.plain.y.end());
  const auto weights = gpu.load(*packed);
  const auto engine = CpuEngine::create({{}, false, 1});
  const auto y = Activations::quantise(std::span<const float>(x), p.plain.m, p.plain.k);
  std::vector<float> got(p.values.size(), -1.0f), want(p.values.size(), -2.0f);
  const bool good = engine->multiply(*packed, *y, std::span(want)).has_value() && weights &&
                    gpu.multiply(**weights, std::span<const float>(x), p.plain.m, std::span(got)) &&
                    std::ranges::equal(got, want, {}, std::bit_cast<std::uint32_t, float>,
                                       std::bit_cast<std::uint32_t, float>);
  counts.count(good, std::to_string(p.plain.m) + " rows of values");
}

class PtxTernaryGrouped : public testing::TestWithParam<const char*> {};

TEST_P(PtxTernaryGrouped, EachGivesTheReferencesBits) {
  const auto outcome = in_child(
      std::string("sms=3,memory=256MiB,guard=4KiB,cc=") + GetParam(),
      [] {
        auto gpu = make_cuda_backend(kFakeGpu0);
        if (!gpu) return gpu.error().message;
        Counts counts;
        unsigned seed = 1;
        for (const std::int64_t group : {32, 64, 128, 256}) {
          const auto one = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                               Fill fill = Fill::random) {
            const auto p = reference::make_grouped(m, n, k, group, fill, seed++);
            check(**gpu, p, counts);
            check_values(**gpu, p, counts);
          };
          for (const std::int64_t k : {1, 31, 33, 127, 130, 257, 300, 385, 513}) one(1, 17, k);
          // More columns than a block has in shared memory at once.
          for (const std::int64_t m : {1, 2, 4, 5, 16, 17, 33}) one(m, 35, 2300);
          for (const std::int64_t m : {1, 2}) one(m, 20, 50'000);
          // A block takes some row tiles: of 1, 2, 3 and 9 pairs of column tiles.
          for (const std::int64_t k : {130, 300, 700, 2300}) one(1, 300, k);
          for (const std::int64_t m : {3, 7}) one(m, 300, 300);
          one(1, 16, 4500, Fill::all_plus);
          one(3, 16, 4500, Fill::all_minus);
          one(18, 16, 1300, Fill::saturating);
          // Products by tiles leave the least scales to others; so once without them.
          const auto tiles = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
            auto p = reference::make_grouped(m, n, k, group, Fill::saturating, seed++);
            for (float& scale : p.scales)
              if (std::fabs(scale) < 0x1p-100f && scale != 0) scale = 0x1p-120f;
            p.multiply();
            check(**gpu, p, counts);
            check_values(**gpu, p, counts);
          };
          tiles(17, 275, 300);
          tiles(130, 140, 513);
          tiles(33, 16, 130);
        }
        return std::to_string(counts.products) + " products, " + std::to_string(counts.wrong) +
               " wrong" + (counts.wrong > 0 ? ": " + counts.first : "");
      },
      "fake_cuda_ptx");
  EXPECT_EQ(outcome, "360 products, 0 wrong");
}

INSTANTIATE_TEST_SUITE_P(Every, PtxTernaryGrouped, testing::Values("5.0", "6.1", "8.0", "9.0"));

}  // namespace
}  // namespace gpuready::ternary
