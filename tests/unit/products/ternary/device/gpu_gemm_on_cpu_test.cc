#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "device/cpu_device.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/device/gpu_layout.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

// The kernels' CPU versions, by way of the same launches.
class GpuGemmOnCpu : public testing::Test {
 protected:
  DeviceAddress put(const void* data, std::uint64_t bytes) {
    buffers_.push_back(*DeviceBuffer::make(*device_, std::max<std::uint64_t>(bytes, 256)));
    if (data) {
      EXPECT_TRUE(device_->copy_to_device({}, buffers_.back().address(), data, bytes));
    }
    return buffers_.back().address();
  }
  template <class T>
  std::vector<T> get(DeviceAddress address, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_->copy_to_host({}, values.data(), address, count * sizeof(T)));
    return values;
  }
  GpuActivationsView room(std::int64_t rows, std::int64_t cols) {
    GpuActivationsView view;
    view.capacity_rows = rows;
    view.cols = cols;
    view.stride = static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(cols), kTileCols) *
                                             kTileCols);
    const auto m = static_cast<std::uint64_t>(rows);
    view.codes = put(nullptr, m * view.stride);
    view.rows = put(nullptr, m * sizeof(GpuActivationRow));
    const std::vector<std::byte> garbage(gemm_tiles_bytes(rows, cols), std::byte{0x55});
    view.tiles = put(garbage.data(), garbage.size());
    return view;
  }

  void expect_engine_products(Shape shape, std::int64_t row_count);

  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 2});
  std::vector<DeviceBuffer> buffers_;
};

template <class T>
std::vector<T> engine_product(const PackedWeights& weights, const Activations& y) {
  std::vector<T> out(static_cast<std::size_t>(y.rows() * weights.shape().rows));
  const auto engine = CpuEngine::create({.tier = Tier::scalar, .threads = 1});
  if constexpr (std::is_same_v<T, std::uint16_t>)
    EXPECT_TRUE(engine->multiply_bf16(weights, y, out));
  else
    EXPECT_TRUE(engine->multiply(weights, y, std::span<T>(out)));
  return out;
}

// By every kernel and plan, from quantisation to output.
void GpuGemmOnCpu::expect_engine_products(Shape shape, std::int64_t row_count) {
  std::mt19937 random(3);
  Codes codes{shape, {}, shape.cols, {}};
  for (std::int64_t i = 0; i < shape.rows * shape.cols; ++i)
    codes.values.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1));
  for (std::int64_t n = 0; n < shape.rows; ++n)
    codes.scales.push_back(0.1f * static_cast<float>(n + 1));
  const PackedWeights packed = *PackedWeights::pack(codes);
  const auto words = gpu_tiles(packed);
  GpuWeightsView weights;
  weights.shape = shape;
  weights.tiles = put(words.data(), words.size() * 4);
  weights.scales = put(codes.scales.data(), codes.scales.size() * 4);

  std::vector<float> values(static_cast<std::size_t>(row_count * shape.cols));
  std::normal_distribution<float> normal;
  for (float& v : values) v = normal(random);
  const Activations y =
      *Activations::quantise(std::span<const float>(values), row_count, shape.cols);
  const GpuActivationsView rows = room(row_count, shape.cols);
  ASSERT_TRUE(enqueue_gemm_quantise(*device_, {}, put(values.data(), values.size() * 4),
                                    FloatType::f32, row_count, rows));

  const auto sums = engine_product<std::int32_t>(packed, y);
  const auto floats = engine_product<float>(packed, y);
  const auto halves = engine_product<std::uint16_t>(packed, y);
  std::vector<GemmPlan> plans = {plan_gemm(GemmKernel::mma, 4, shape, row_count)};
  for (const GemmTileSize tile : wgmma_tile_sizes())
    for (const bool split : {false, true})
      plans.push_back(plan_gemm(5, shape, row_count, tile, split));
  EXPECT_TRUE(std::ranges::any_of(plans, [](const GemmPlan& p) { return p.split_tiles > 0; }));
  for (const GemmPlan& plan : plans) {
    const DeviceAddress workspace = put(nullptr, plan.workspace_bytes);
    const DeviceAddress out = put(nullptr, sums.size() * 4);
    const auto multiply = [&](OutputType type) {
      return enqueue_gemm_product(*device_, {}, plan, weights, rows, workspace, {type, {out, 0}});
    };
    ASSERT_TRUE(multiply(OutputType::int32));
    EXPECT_EQ(get<std::int32_t>(out, sums.size()), sums);
    if (plan.tile != plans.back().tile) continue;  // the rest is the same for all
    ASSERT_TRUE(multiply(OutputType::f32));
    EXPECT_EQ(get<float>(out, sums.size()), floats);
    ASSERT_TRUE(multiply(OutputType::bf16));
    EXPECT_EQ(get<std::uint16_t>(out, sums.size()), halves);
  }
}

TEST_F(GpuGemmOnCpu, multiplies_like_the_engine_whole_and_split_with_tails) {
  expect_engine_products({270, 600}, 34);
}

TEST_F(GpuGemmOnCpu, multiplies_tokens_of_two_activation_tiles) {
  expect_engine_products({20, 1300}, 200);
}

TEST_F(GpuGemmOnCpu, quantises_values_into_tiles_codes_and_facts_of_rows) {
  constexpr std::int64_t kRows = kMatrixRows + 3, kCols = 200;
  std::mt19937 random(5);
  for (const FloatType type : {FloatType::f32, FloatType::f16, FloatType::bf16}) {
    std::vector<std::byte> values(static_cast<std::size_t>(kRows * kCols) * bytes_of(type));
    for (std::size_t i = 0; i < values.size(); i += bytes_of(type)) {
      // Exponents near zero's, in all three types.
      const std::uint32_t bits = type == FloatType::f32   ? (random() & 0x80ffffff) | 0x3f000000
                                 : type == FloatType::f16 ? random() & 0xbfff
                                                          : (random() & 0x80ff) | 0x3f00;
      std::memcpy(values.data() + i, &bits, bytes_of(type));
    }
    const Activations y = *Activations::quantise({type, values}, kRows, kCols);
    const GpuActivationsView view = room(kRows, kCols);
    ASSERT_TRUE(
        enqueue_gemm_quantise(*device_, {}, put(values.data(), values.size()), type, kRows, view));
    const auto tiles = get<std::int8_t>(view.tiles, gemm_tiles_bytes(kRows, kCols));
    const auto codes = get<std::int8_t>(view.codes, kMatrixRows * view.stride);
    const auto facts = get<GpuActivationRow>(view.rows, kRows);
    for (unsigned m = 0; m < kRows; ++m) {
      EXPECT_EQ(facts[m].step, y.steps()[m]);
      EXPECT_EQ(facts[m].sum, y.sums()[m]);
      EXPECT_EQ(facts[m].bad_column, kNoColumn);
      for (unsigned k = 0; k < 2 * kTileCols; ++k) {
        const int expected = k < kCols ? y.row(m)[k] : 0;
        ASSERT_EQ(tiles[tiled_activation(m, k, 2)], expected);
        if (m < kMatrixRows) {
          ASSERT_EQ(codes[m * view.stride + k], expected);
        }
      }
    }
  }
}

TEST_F(GpuGemmOnCpu, tells_the_first_value_of_a_row_that_is_not_finite) {
  std::vector<float> values(kMatrixRows * 10, 1.0f);
  values[34] = std::numeric_limits<float>::infinity();
  values[37] = std::numeric_limits<float>::quiet_NaN();
  const GpuActivationsView view = room(kMatrixRows, 10);
  ASSERT_TRUE(enqueue_gemm_quantise(*device_, {}, put(values.data(), values.size() * 4),
                                    FloatType::f32, kMatrixRows, view));
  const auto facts = get<GpuActivationRow>(view.rows, kMatrixRows);
  for (unsigned m = 0; m < kMatrixRows; ++m) {
    EXPECT_EQ(facts[m].bad_column, m == 3 ? 4u : kNoColumn);
    EXPECT_EQ(std::isnan(facts[m].step), m == 3);
  }
}

TEST_F(GpuGemmOnCpu, takes_codes_into_tiles) {
  constexpr std::int64_t kRows = 20, kCols = 300;
  const GpuActivationsView view = room(kRows, kCols);
  std::vector<std::int8_t> codes(kRows * view.stride);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(i * 7);
  ASSERT_TRUE(device_->copy_to_device({}, view.codes, codes.data(), codes.size()));
  ASSERT_TRUE(enqueue_gemm_tiles(*device_, {}, kRows, view));
  const auto tiles = get<std::int8_t>(view.tiles, gemm_tiles_bytes(kRows, kCols));
  for (unsigned m = 0; m < kRows; ++m)
    for (unsigned k = 0; k < view.stride; ++k)
      ASSERT_EQ(tiles[tiled_activation(m, k, 3)], codes[m * view.stride + k]);
}

}  // namespace
}  // namespace gpuready::ternary
