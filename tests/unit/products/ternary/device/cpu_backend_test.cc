#include "ternary/device/cpu_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace gpuready::ternary {
namespace {

TEST(CpuBackend, multiplies_values_and_tells_its_tier) {
  auto backend = make_cpu_backend({.tier = Tier::scalar});
  ASSERT_TRUE(backend);
  const Codes codes{{2, 4}, {1, 0, -1, 1, -1, -1, 0, 1}, 0, {0.5f}};
  const auto weights = (*backend)->load(*PackedWeights::pack(codes));
  ASSERT_TRUE(weights);
  EXPECT_EQ((*backend)->kernel_for((*weights)->shape(), 1), "scalar");
  const std::array<float, 4> x = {127, 1, -2, 3};
  std::array<float, 2> out{};
  ASSERT_TRUE((*backend)->multiply(**weights, FloatView(std::span<const float>(x)), 1,
                                   OutputView(std::span<float>(out))));
  EXPECT_EQ(out, (std::array<float, 2>{66, -62.5}));
  const auto memory = (*backend)->memory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->free_bytes, 0u);
  EXPECT_GE(memory->total_bytes, memory->free_bytes);
}

TEST(CpuBackend, refuses_what_is_not_finite) {
  auto backend = make_cpu_backend();
  ASSERT_TRUE(backend);
  const auto weights = (*backend)->load(*PackedWeights::pack(Codes{{1, 2}, {1, 1}, 0, {1}}));
  const std::array<float, 2> x = {1, std::numeric_limits<float>::infinity()};
  std::array<float, 1> out{};
  const auto done = (*backend)->multiply(**weights, FloatView(std::span<const float>(x)), 1,
                                         OutputView(std::span<float>(out)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::not_finite);
}

}  // namespace
}  // namespace gpuready::ternary
