#include "ternary/device/gpu_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernel_abi/ternary_quantise.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

GemmParams params_of(const GemmPlan& plan) {
  const unsigned steps = plan.split_tiles * plan.k_tiles;
  GemmParams p{};
  p.k_tiles = plan.k_tiles;
  p.token_tiles = plan.token_tiles;
  p.feature_tiles = plan.feature_tiles;
  p.split_tiles = plan.split_tiles;
  p.share = steps / plan.blocks;
  p.extra = steps % plan.blocks;
  p.blocks = plan.blocks;
  return p;
}

// What tests of plans go through: few and many tiles, short and long rows.
std::vector<GemmPlan> many_plans() {
  std::vector<GemmPlan> plans;
  for (const unsigned units : {1u, 7u, 132u})
    for (const std::int64_t m : {16, 129, 512})
      for (const std::int64_t n : {1, 300, 2560, 13824})
        for (const std::int64_t k : {1, 640, 8192})
          for (const GemmTileSize tile : wgmma_tile_sizes())
            for (const bool split : {false, true})
              plans.push_back(plan_gemm(units, {n, k}, m, tile, split));
  return plans;
}

TEST(GpuGemm, tiles_lie_in_the_swizzle_of_128_bytes) {
  std::set<std::uint64_t> places;
  for (unsigned row = 0; row < 256; ++row)
    for (unsigned col = 0; col < 384; ++col) {
      // PTX's: bits 4 to 6 of the address are xored with bits 7 to 9.
      const std::uint64_t tile = row / 128 * 3 + col / 128;
      std::uint64_t plain = tile * 16384 + row % 128 * 128 + col % 128;
      plain ^= plain >> 7 << 4 & 0x70;
      ASSERT_EQ(tiled_activation(row, col, 3), plain);
      places.insert(plain);
    }
  EXPECT_EQ(places.size(), 256u * 384u);
  EXPECT_EQ(*places.rbegin(), gemm_tiles_bytes(256, 384) - 1);
}

TEST(GpuGemm, steps_copy_tokens_that_lie_in_one_tile_or_in_two) {
  unsigned in_two = 0, cut = 0;
  for (const unsigned all_rows : {120u, 300u})
    for (const unsigned tokens : {32u, 64u, 96u, 128u})
      for (unsigned token0 = 0; token0 < all_rows; token0 += tokens) {
        constexpr unsigned kStep = 1, kSteps = 3;
        GemmParams p{};
        p.rows = all_rows;
        p.k_tiles = kSteps;
        const ActivationSlice slice = activation_slice(p, tokens, token0, kStep);
        const unsigned rows = slice.first_rows + slice.next_rows;
        ASSERT_LE(rows, tokens);
        ASSERT_GE(rows, std::min(tokens, all_rows - token0));
        in_two += slice.next_rows > 0;
        cut += rows < tokens;  // where no memory is
        for (unsigned row = 0; row < rows; ++row)
          for (const unsigned col : {0u, 37u, 127u}) {
            // A stage is swizzled as a tile of the memory's is.
            const std::uint64_t at = tiled_activation(row, col, 1);
            const std::uint64_t from = row < slice.first_rows
                                           ? slice.first + at
                                           : slice.next + at - slice.first_rows * 128;
            ASSERT_EQ(from, tiled_activation(token0 + row, kStep * 128 + col, kSteps));
            ASSERT_LT(from, gemm_tiles_bytes(all_rows, kSteps * 128));
          }
      }
  EXPECT_GT(in_two, 0u);
  EXPECT_GT(cut, 0u);
}

TEST(GpuGemm, rows_stay_in_the_registers_of_the_warps_that_share_them) {
  GemmTilesParams p{};
  for (const unsigned type : {kGemmF32, kGemmF16, kGemmBf16}) {
    const unsigned bytes = type == kGemmF32 ? 4 : 2;
    p.value_type = type;
    for (p.k_tiles = 1; p.k_tiles < 400; ++p.k_tiles) {
      const unsigned warps = gemm_tiles_warps(p), row = p.k_tiles * kActivationTileCols * bytes;
      const auto held = [](unsigned count) { return count * 32 * kGemmTilesHeldWords * 4; };
      ASSERT_GE(warps, 1u);
      ASSERT_LE(warps * gemm_tiles_rows(warps), kGemmTilesMostWarps);
      ASSERT_TRUE(held(warps) >= row || warps == kGemmTilesMostWarps);
      ASSERT_LT(held(warps - 1), row);
    }
  }
}

TEST(GpuGemm, blocks_together_do_every_step_of_every_tile_once) {
  for (const GemmPlan& plan : many_plans()) {
    const GemmParams p = params_of(plan);
    std::vector<unsigned char> done(std::size_t{p.token_tiles} * p.feature_tiles * p.k_tiles);
    for (unsigned block = 0; block < p.blocks; ++block) {
      GemmWalk walk(p, block);
      for (GemmPiece piece; walk.next(piece);) {
        ASSERT_LT(piece.k_begin, piece.k_end);
        for (unsigned k = piece.k_begin; k < piece.k_end; ++k)
          ++done.at(std::size_t{piece.tile} * p.k_tiles + k);
      }
    }
    ASSERT_TRUE(std::ranges::all_of(done, [](unsigned char count) { return count == 1; }));
  }
}

TEST(GpuGemm, parts_of_split_tiles_are_found_where_their_blocks_put_them) {
  unsigned parts = 0;
  for (const GemmPlan& plan : many_plans()) {
    const GemmParams p = params_of(plan);
    std::set<unsigned> slots;
    for (unsigned block = 0; block < p.blocks; ++block) {
      GemmWalk walk(p, block);
      for (GemmPiece piece; walk.next(piece);) {
        if (piece.tile >= p.split_tiles) continue;
        const unsigned first = split_owner(p, piece.tile * p.k_tiles);
        const unsigned last = split_owner(p, (piece.tile + 1) * p.k_tiles - 1);
        ASSERT_LE(first, block);
        ASSERT_GE(last, block);
        const bool whole = piece.k_begin == 0 && piece.k_end == p.k_tiles;
        ASSERT_EQ(whole, first == last);
        if (whole) continue;
        const unsigned slot = partial_slot(p, block, piece.tile);
        ASSERT_TRUE(slots.insert(slot).second);
        ASSERT_LE((std::uint64_t{slot} + 1) * plan.tile.tokens * plan.tile.features * 4,
                  plan.workspace_bytes);
        ++parts;
      }
    }
  }
  EXPECT_GT(parts, 1000u);
}

TEST(GpuGemm, every_tile_has_one_place_in_the_order) {
  for (const unsigned token_tiles : {1u, 7u, 8u, 9u, 30u})
    for (const unsigned feature_tiles : {1u, 3u, 54u}) {
      std::set<std::pair<unsigned, unsigned>> seen;
      for (unsigned i = 0; i < token_tiles * feature_tiles; ++i) {
        const GemmTile tile = gemm_tile(token_tiles, feature_tiles, i);
        EXPECT_LT(tile.token, token_tiles);
        EXPECT_LT(tile.feature, feature_tiles);
        seen.insert({tile.token, tile.feature});
      }
      EXPECT_EQ(seen.size(), token_tiles * feature_tiles);
    }
}

TEST(GpuGemm, plans_large_tiles_for_many_rows_and_splits_what_would_leave_units_idle) {
  const auto plan = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_gemm(GemmKernel::wgmma, 132, {n, k}, m);
  };
  EXPECT_EQ(plan(4096, 28672, 8192).tile, (GemmTileSize{256, 128}));
  EXPECT_EQ(plan(512, 13824, 2560).tile, (GemmTileSize{256, 128}));
  EXPECT_EQ(plan(512, 13824, 2560).workspace_bytes, 0u);
  EXPECT_EQ(plan(16, 28672, 8192).tile, (GemmTileSize{256, 32}));
  // 80 tiles of 128 by 128 would leave 52 units without work.
  EXPECT_EQ(plan(512, 2560, 2560).tile, (GemmTileSize{128, 96}));
  const GemmPlan narrow = plan(64, 2560, 28672);
  EXPECT_GT(narrow.split_tiles, 0u);
  EXPECT_EQ(narrow.blocks, 132u);
  EXPECT_GT(narrow.workspace_bytes, 0u);
}

TEST(GpuGemm, takes_the_kernel_that_the_capability_has) {
  DeviceInfo device;
  device.executor = "cuda";
  for (const int none : {50, 61, 75}) {
    device.compute_capability = none;
    EXPECT_FALSE(gemm_kernel_of(device));
  }
  for (const int mma : {80, 86, 89, 100, 120}) {
    device.compute_capability = mma;
    EXPECT_EQ(gemm_kernel_of(device), GemmKernel::mma);
  }
  device.compute_capability = 90;
  EXPECT_EQ(gemm_kernel_of(device), GemmKernel::wgmma);
  device.executor = "vulkan";
  EXPECT_FALSE(gemm_kernel_of(device));
}

TEST(GpuGemm, reads_every_half_as_the_library_does) {
  std::vector<std::uint16_t> halves(65536);
  for (unsigned i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> expected(halves.size());
  read_floats({FloatType::f16, std::as_bytes(std::span(halves))}, 0, halves.size(),
              expected.data());
  for (unsigned i = 0; i < halves.size(); ++i) {
    const float value = half_value(i);
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(value)) << i;
    else
      EXPECT_EQ(std::bit_cast<unsigned>(value), std::bit_cast<unsigned>(expected[i])) << i;
  }
}

}  // namespace
}  // namespace gpuready::ternary
