#include "ternary/device/gpu_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "ternary/device/gemv_plan.h"
#include "ternary/device/gpu_types.h"

namespace gpuready::ternary {
namespace {

Codes random_codes(Shape shape) {
  std::mt19937 random(7);
  Codes codes{shape,
              std::vector<std::int8_t>(static_cast<std::size_t>(shape.rows * shape.cols)),
              0,
              {0.5f}};
  for (auto& code : codes.values) code = static_cast<std::int8_t>(random() % 3) - 1;
  return codes;
}

TEST(GpuLayout, gives_every_weight_of_a_tile_two_bits_of_its_own) {
  std::set<std::uint64_t> places;
  for (std::uint64_t row = 0; row < kTileRows; ++row)
    for (std::uint64_t col = 0; col < 2 * kTileCols; ++col) {
      const WeightPlace place = weight_place(row, col, 2);
      EXPECT_EQ(place.shift % 2, 0u);
      EXPECT_EQ(place.word / (kTileBytes / 4), col / kTileCols);
      places.insert(place.word * 32 + place.shift);
    }
  EXPECT_EQ(places.size(), kTileRows * 2 * kTileCols);
}

TEST(GpuLayout, is_the_same_from_codes_and_from_both_forms_of_the_cpu) {
  for (const Shape shape : {Shape{1, 1}, {16, 128}, {17, 129}, {40, 300}, {5, 1000}}) {
    const Codes codes = random_codes(shape);
    const auto expected = gpu_tiles(codes.values, shape);
    EXPECT_EQ(expected.size() * 4, gpu_tile_bytes(shape));
    EXPECT_EQ(gpu_tiles(*PackedWeights::pack(codes, Form::two_bit)), expected);
    EXPECT_EQ(gpu_tiles(*PackedWeights::pack(codes, Form::three_trits)), expected);
  }
}

TEST(GpuLayout, holds_codes_plus_one_and_pads_with_one) {
  const Codes codes = random_codes({3, 5});
  const auto tiles = gpu_tiles(codes.values, codes.shape);
  for (std::uint64_t row = 0; row < kTileRows; ++row)
    for (std::uint64_t col = 0; col < kTileCols; ++col) {
      const WeightPlace place = weight_place(row, col, 1);
      const int code = static_cast<int>(tiles[place.word] >> place.shift & 3);
      EXPECT_EQ(code - 1, row < 3 && col < 5 ? codes.values[row * 5 + col] : 0);
    }
}

TEST(GemvPlan, covers_every_column_in_chunks_that_fit_a_block) {
  DeviceInfo device;
  device.executor = "cuda";
  device.units = 132;
  for (const std::int64_t cols : {1, 128, 129, 2560, 8192, 27648, 32768, 1 << 20, 1 << 22})
    for (const std::int64_t rows : {1, 16, 2560, 28672, 200000})
      for (const std::int64_t m : {1, 2, 3, 4, 17})
        for (const unsigned slices : {0u, 1u, 8u, kStream}) {
          device.compute_capability = m == 3 || m == 17 ? 90 : 61;
          const GemvPlan plan = gemv_plan(device, {rows, cols}, m, slices);
          const std::uint64_t tiles = tiles_of(static_cast<std::uint64_t>(cols), kTileCols);
          EXPECT_LE(plan.shape.shared_bytes,
                    device.compute_capability == 61 ? 48u * 1024 : 226u * 1024);
          EXPECT_GE(std::uint64_t{plan.slices} * plan.slice_tiles, tiles);
          EXPECT_GE(plan.chunk_tiles, 1u);
          EXPECT_GE(std::int64_t{plan.shape.blocks} * plan.rows, plan.groups * m);
          if (plan.kernel->name.find("stream") !=
              std::string_view::npos) {  // any groups share all row tiles
            EXPECT_EQ(plan.chunk_tiles, tiles);
            EXPECT_GE(plan.groups, 1u);
            continue;
          }
          EXPECT_EQ(kGemvWarps % plan.slices, 0u);
          EXPECT_TRUE(plan.chunk_tiles == plan.slice_tiles || plan.chunk_tiles % kGemvRing == 0);
          EXPECT_GE(std::int64_t{plan.groups} * (kGemvWarps / plan.slices) * kTileRows, rows);
        }
}

TEST(GemvPlan, shares_row_tiles_among_warps_where_there_are_few) {
  DeviceInfo device;
  device.executor = "cuda";
  device.units = 132;
  device.compute_capability = 90;
  EXPECT_EQ(gemv_plan(device, {55296, 5120}, 1).groups, 132u);
  device.compute_capability = 61;
  EXPECT_EQ(gemv_plan(device, {2560, 2560}, 1).slices, 8u);
  EXPECT_EQ(gemv_plan(device, {55296, 5120}, 1).slices, 1u);
  EXPECT_EQ(gemv_plan(device, {2560, 128}, 1).slices, 1u);
}

DeviceInfo nvidia(int capability) {
  DeviceInfo device;
  device.executor = "cuda";
  device.units = 132;
  device.compute_capability = capability;
  return device;
}

TEST(GemvPlan, has_more_on_the_way_the_more_a_block_reads) {
  const auto stages = [](int capability, Shape weights, std::int64_t rows) {
    const GemvPlan plan = gemv_plan(nvidia(capability), weights, rows);
    EXPECT_TRUE(plan.streams);
    return plan.stages;
  };
  EXPECT_EQ(stages(90, {13824, 2560}, 1), 1u);
  EXPECT_EQ(stages(90, {5120, 27648}, 1), 2u);
  EXPECT_EQ(stages(90, {28672, 8192}, 1), 3u);
  EXPECT_EQ(stages(90, {28672, 8192}, 8), 1u);  // its activations take the room
  EXPECT_EQ(stages(80, {28672, 8192}, 1), 0u);  // in registers
}

TEST(GemvPlan, streams_as_long_as_a_stage_fits_beside_the_activations) {
  constexpr unsigned kStage = kStreamWarps * kStreamPieceTiles * kTileBytes, kLimit = 226 * 1024;
  unsigned streams = 0;
  for (std::int64_t cols = 128; cols <= 1 << 18; cols += 128) {
    const GemvPlan plan = gemv_plan(nvidia(90), {28672, cols}, 1);
    if (!plan.streams) break;
    ++streams;
    EXPECT_GE(plan.stages, 1u) << cols;
    EXPECT_GE(plan.shape.shared_bytes, plan.stages * kStage + cols) << cols;
    EXPECT_LE(plan.shape.shared_bytes, kLimit) << cols;
  }
  EXPECT_EQ(streams, (kLimit - kStage - 64) / 128);
}

// Of a block in KiB, from the CUDA C++ programming guide's table; a kernel's own variables take up
// to one of them.
TEST(GemvPlan, streams_as_long_as_a_block_of_that_capability_has_room) {
  for (const auto& [capability, kib] : {std::pair{80, 163u},
                                        {86, 99u},
                                        {87, 163u},
                                        {89, 99u},
                                        {90, 227u},
                                        {100, 227u},
                                        {103, 227u},
                                        {120, 99u}}) {
    const std::int64_t room =
        (kib - 1) * 1024 - (capability < 90 ? 0 : kStreamWarps * kStreamPieceTiles * kTileBytes);
    const std::int64_t cols = (room - kTileRows * 4) / kTileCols * kTileCols;
    const GemvPlan plan = gemv_plan(nvidia(capability), {28672, cols}, 1);
    EXPECT_TRUE(plan.streams) << capability;
    EXPECT_LE(plan.shape.shared_bytes, (kib - 1) * 1024) << capability;
    EXPECT_FALSE(gemv_plan(nvidia(capability), {28672, cols + kTileCols}, 1).streams) << capability;
  }
  EXPECT_FALSE(gemv_plan(nvidia(75), {28672, 128}, 1).streams);
}

TEST(GemvPlan, quantises_in_the_product_where_that_is_quicker) {
  const auto fuses = [](const DeviceInfo& device, Shape weights, std::int64_t rows) {
    const auto products = gpu_products();
    const auto product = std::find_if(products.begin(), products.end(),
                                      [&](auto& p) { return p.serves(device, weights, rows); });
    return product->fuses != nullptr && product->fuses(device, weights, rows);
  };
  EXPECT_TRUE(fuses(nvidia(90), {28672, 8192}, 1));
  EXPECT_TRUE(fuses(nvidia(80), {2560, 27648}, 1));
  EXPECT_TRUE(fuses(nvidia(90), {28672, 8192}, 2));
  EXPECT_TRUE(fuses(nvidia(90), {2560, 2560}, 4));
  EXPECT_FALSE(fuses(nvidia(90), {28672, 8192}, 4));
  EXPECT_FALSE(fuses(nvidia(90), {2560, 128}, 5));
  EXPECT_FALSE(fuses(nvidia(90), {16, 1 << 20}, 1));  // too long to stream
  EXPECT_FALSE(fuses(nvidia(61), {2560, 2560}, 1));
  DeviceInfo vulkan;
  vulkan.executor = "vulkan";
  EXPECT_FALSE(fuses(vulkan, {2560, 2560}, 1));
}

TEST(GpuProducts, name_the_instructions_that_a_device_has) {
  const auto name = [](const char* executor, std::optional<int> capability, std::int64_t rows) {
    DeviceInfo device;
    device.executor = executor;
    device.compute_capability = capability;
    for (const GpuProduct& product : gpu_products())
      if (product.serves(device, {64, 64}, rows)) return product.name;
    return std::string_view();
  };
  EXPECT_EQ(name("cuda", 50, 1), "plain-gemv");
  EXPECT_EQ(name("cuda", 61, 4), "dp4a-gemv");
  EXPECT_EQ(name("cuda", 90, 1), "dp4a-gemv");
  EXPECT_EQ(name("cuda", 80, 2), "mma-gemv");
  EXPECT_EQ(name("vulkan", std::nullopt, 3), "vulkan-gemv");
}

}  // namespace
}  // namespace gpuready::ternary
