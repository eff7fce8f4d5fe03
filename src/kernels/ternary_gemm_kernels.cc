#include "kernels/ternary_gemm_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernel_abi/compute_half.h"
#include "kernel_abi/ternary_layout.h"
#include "kernel_abi/ternary_params.h"
#include "kernel_abi/ternary_quantise.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_tiles_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_tiles_sm_90)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_mma_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_wgmma_sm_90a)

namespace gpuready::ternary {
namespace {

// The kernels take a weight tile's columns for an activation tile's.
static_assert(kTileCols == kActivationTileCols && kTileBytes == 512 && kTileRows == 16);

const KernelImage kTilesImages[] = {
    {gpuready_ptx_ternary_tiles_sm_80_begin, gpuready_ptx_ternary_tiles_sm_80_end, 80, false},
    {gpuready_ptx_ternary_tiles_sm_90_begin, gpuready_ptx_ternary_tiles_sm_90_end, 90, false}};
const KernelImage kMmaImages[] = {
    {gpuready_ptx_ternary_mma_sm_80_begin, gpuready_ptx_ternary_mma_sm_80_end, 80, false}};
const KernelImage kWgmmaImages[] = {
    {gpuready_ptx_ternary_wgmma_sm_90a_begin, gpuready_ptx_ternary_wgmma_sm_90a_end, 90, true}};

template <class T>
T* at(unsigned long long address) {
  return reinterpret_cast<T*>(address);
}

float typed_value(unsigned long long values, unsigned type, std::size_t index) {
  if (type == kGemmF32) return at<const float>(values)[index];
  const unsigned bits = at<const std::uint16_t>(values)[index];
  return type == kGemmF16 ? half_value(bits) : __builtin_bit_cast(float, bits << 16);
}

void quantise_row(const GemmTilesParams& p, unsigned m) {
  const std::size_t first = std::size_t{m} * p.cols;
  GpuActivationRow facts{1, 0, kNoColumn, 0};
  unsigned greatest = 0;
  for (unsigned k = 0; k < p.cols; ++k) {
    const unsigned magnitude =
        __builtin_bit_cast(unsigned, typed_value(p.values, p.value_type, first + k)) & 0x7fffffff;
    if (magnitude >= kInfinityBits) facts.bad_column = std::min(facts.bad_column, k);
    greatest = std::max(greatest, magnitude);
  }
  const bool finite = facts.bad_column == kNoColumn;
  const float limit = activation_limit(__builtin_bit_cast(float, finite ? greatest : 0));
  facts.step = finite ? activation_step(limit) : std::numeric_limits<float>::quiet_NaN();
  for (unsigned k = 0; k < p.k_tiles * kActivationTileCols; ++k) {
    int q = 0;
    if (k < p.cols && finite)
      q = quantise_activation(typed_value(p.values, p.value_type, first + k),
                              activation_scale(limit));
    at<std::int8_t>(p.tiles)[tiled_activation(m, k, p.k_tiles)] = static_cast<std::int8_t>(q);
    if (m < p.code_rows)
      at<std::int8_t>(p.codes)[std::size_t{m} * p.stride + k] = static_cast<std::int8_t>(q);
    facts.sum += q;
  }
  at<GpuActivationRow>(p.row_facts)[m] = facts;
}

void cpu_tiles(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const GemmTilesParams*>(params);
  for (unsigned m = slice.index; m < p.rows; m += slice.count) {
    if (p.value_type != kGemmInt8) {
      quantise_row(p, m);
      continue;
    }
    for (unsigned k = 0; k < p.k_tiles * kActivationTileCols; k += 16)
      std::memcpy(at<std::int8_t>(p.tiles) + tiled_activation(m, k, p.k_tiles),
                  at<const std::int8_t>(p.values) + std::size_t{m} * p.stride + k, 16);
  }
}

// Sums of code * activation of one piece of a tile, [feature][token].
using Sums = std::vector<std::int32_t>;

// One step's activations as a block has them in shared memory.
using Stage = std::vector<std::int8_t>;
void copy_in(const GemmParams& p, unsigned tokens, unsigned token0, unsigned k, Stage& stage) {
  const ActivationSlice slice = activation_slice(p, tokens, token0, k);
  const auto* tiles = at<const std::int8_t>(p.activations);
  std::memcpy(stage.data(), tiles + slice.first, slice.first_rows * kActivationTileCols);
  std::memcpy(stage.data() + slice.first_rows * kActivationTileCols, tiles + slice.next,
              slice.next_rows * kActivationTileCols);
}

void multiply(const GemmParams& p, GemmPiece piece, GemmTile tile, unsigned tokens,
              unsigned features, Sums& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  const auto* words = at<const std::uint32_t>(p.weights);
  const unsigned feature0 = tile.feature * features, token0 = tile.token * tokens;
  const unsigned rows = std::min(tokens, p.rows - token0);
  Stage stage(std::size_t{tokens} * kActivationTileCols);
  for (unsigned step = piece.k_begin; step < piece.k_end; ++step) {
    copy_in(p, tokens, token0, step, stage);
    for (unsigned f = 0; f < features && feature0 + f < p.features; ++f) {
      int codes[kTileCols];
      for (unsigned k = 0; k < kTileCols; ++k) {
        const WeightPlace place = weight_place(feature0 + f, step * kTileCols + k, p.k_tiles);
        codes[k] = static_cast<int>(words[place.word] >> place.shift & 3);
      }
      for (unsigned t = 0; t < rows; ++t) {
        for (unsigned k = 0; k < kTileCols; k += 16) {
          const std::int8_t* sixteen = stage.data() + tiled_activation(t, k, 1);
          for (unsigned i = 0; i < 16; ++i) sums[f * tokens + t] += codes[k + i] * sixteen[i];
        }
      }
    }
  }
}

void store(const GemmParams& p, std::size_t m, std::size_t n, std::int32_t codes_sum) {
  const std::size_t index = m * p.features + n;
  const GpuActivationRow& row = at<const GpuActivationRow>(p.row_facts)[m];
  const std::int32_t sum = codes_sum - row.sum;
  if (p.output_type == kGemmOutInt32) {
    at<std::int32_t>(p.out)[index] = sum;
    return;
  }
  const float scale = row.step * at<const float>(p.scales)[n];
  float value = static_cast<float>(sum) * scale;
  const auto add = [&](unsigned long long word, std::size_t i) {
    if (word != 0) value += typed_value(addend_address(word), addend_type(word), i);
  };
  add(p.addends.bias, n);
  add(p.addends.residual, index);
  if (p.output_type == kGemmOutF16) {
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(value), &exponent);  // whole in units of 2^-24
    const unsigned sign = std::signbit(value) ? 0x8000u : 0;
    const unsigned bits =
        std::isnan(value) ? 0x7FFFu
        : std::isinf(value)
            ? sign | kHalfInfinity
            : half_round(sign != 0, static_cast<unsigned>(fraction * 0x1p24f), exponent - 24);
    at<std::uint16_t>(p.out)[index] = static_cast<std::uint16_t>(bits);
    return;
  }
  if (p.output_type == kGemmOutF32) {
    at<float>(p.out)[index] = value;
    return;
  }
  unsigned bits = __builtin_bit_cast(unsigned, value);
  bits += 0x7FFF + (bits >> 16 & 1);  // nearest even
  at<std::uint16_t>(p.out)[index] = static_cast<std::uint16_t>(bits >> 16);
}

void store_tile(const GemmParams& p, GemmTile tile, unsigned tokens, unsigned features,
                const Sums& sums) {
  for (unsigned t = 0; t < tokens && tile.token * tokens + t < p.rows; ++t) {
    for (unsigned f = 0; f < features && tile.feature * features + f < p.features; ++f)
      store(p, tile.token * tokens + t, tile.feature * features + f, sums[f * tokens + t]);
  }
}

std::int32_t* part_of(const GemmParams& p, unsigned block, unsigned tile, std::size_t size) {
  return at<std::int32_t>(p.partials) + partial_slot(p, block, tile) * size;
}

template <unsigned kFeatures, unsigned kTokens>
void cpu_multiply(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const GemmParams*>(params);
  Sums sums(std::size_t{kTokens} * kFeatures);
  for (unsigned block = slice.index; block < p.blocks; block += slice.count) {
    GemmWalk walk(p, block);
    GemmPiece piece;
    while (walk.next(piece)) {
      const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
      multiply(p, piece, tile, kTokens, kFeatures, sums);
      if (piece.k_end - piece.k_begin == p.k_tiles)
        store_tile(p, tile, kTokens, kFeatures, sums);
      else
        std::copy(sums.begin(), sums.end(), part_of(p, block, piece.tile, sums.size()));
    }
  }
}

template <unsigned kFeatures, unsigned kTokens>
void cpu_finish(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const GemmParams*>(params);
  Sums sums(std::size_t{kTokens} * kFeatures);
  for (unsigned tile = slice.index; tile < p.split_tiles; tile += slice.count) {
    const unsigned first = split_owner(p, tile * p.k_tiles);
    const unsigned last = split_owner(p, (tile + 1) * p.k_tiles - 1);
    if (first == last) continue;
    std::fill(sums.begin(), sums.end(), 0);
    for (unsigned block = first; block <= last; ++block) {
      const std::int32_t* part = part_of(p, block, tile, sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
    }
    store_tile(p, gemm_tile(p.token_tiles, p.feature_tiles, tile), kTokens, kFeatures, sums);
  }
}

}  // namespace

const Kernel kGemmTiles{"gpuready_ternary_tiles", kTilesImages, cpu_tiles};
const Kernel kGemmMma{"gpuready_ternary_mma", kMmaImages, cpu_multiply<kMmaFeatures, kMmaTokens>};
#define GPUREADY_TERNARY_WGMMA(features, tokens)                                                 \
  const Kernel kGemmWgmma##features##x##tokens{"gpuready_ternary_wgmma_" #features "x" #tokens,  \
                                               kWgmmaImages, cpu_multiply<features, tokens>};    \
  const Kernel kGemmFinish##features##x##tokens {                                                \
    "gpuready_ternary_finish_" #features "x" #tokens, kWgmmaImages, cpu_finish<features, tokens> \
  }
GPUREADY_TERNARY_WGMMA(256, 128);
GPUREADY_TERNARY_WGMMA(128, 128);
GPUREADY_TERNARY_WGMMA(128, 96);
GPUREADY_TERNARY_WGMMA(256, 64);
GPUREADY_TERNARY_WGMMA(256, 32);
#define GPUREADY_TERNARY_WGMMA_GROUPS(features, tokens, groups)               \
  const Kernel kGemmWgmma##features##x##tokens##x##groups {                   \
    "gpuready_ternary_wgmma_" #features "x" #tokens "_" #groups, kWgmmaImages \
  }
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 4);
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 2);
GPUREADY_TERNARY_WGMMA_GROUPS(128, 128, 1);
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 4);
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 2);
GPUREADY_TERNARY_WGMMA_GROUPS(256, 32, 1);

}  // namespace gpuready::ternary
