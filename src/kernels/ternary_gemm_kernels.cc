#include "kernels/ternary_gemm_kernels.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/ternary_layout.h"
#include "kernels/ternary_quantise.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_gemm_prepare_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_mma_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_wgmma_sm_90a)

namespace gpuready::ternary {
namespace {

// The kernels take a weight tile's columns for an activation tile's.
static_assert(kTileCols == kActivationTileCols && kTileBytes == 512 && kTileRows == 16);

const KernelImage kPrepareImages[] = {{gpuready_ptx_ternary_gemm_prepare_sm_80_begin,
                                       gpuready_ptx_ternary_gemm_prepare_sm_80_end, 80, false}};
const KernelImage kMmaImages[] = {
    {gpuready_ptx_ternary_mma_sm_80_begin, gpuready_ptx_ternary_mma_sm_80_end, 80, false}};
const KernelImage kWgmmaImages[] = {
    {gpuready_ptx_ternary_wgmma_sm_90a_begin, gpuready_ptx_ternary_wgmma_sm_90a_end, 90, true}};

template <class T>
T* at(unsigned long long address) {
  return reinterpret_cast<T*>(address);
}

float input_value(const GemmPrepareParams& p, std::size_t index) {
  if (p.input_type == kGemmF32) return at<const float>(p.input)[index];
  const unsigned bits = at<const std::uint16_t>(p.input)[index];
  return p.input_type == kGemmF16 ? half_value(bits) : __builtin_bit_cast(float, bits << 16);
}

void prepare_row(const GemmPrepareParams& p, unsigned m) {
  const std::size_t first = std::size_t{m} * p.cols;
  auto* tiles = at<std::int8_t>(p.tiles);
  float step = p.input_steps != 0 ? at<const float>(p.input_steps)[m] : 1.0f, scale = 1;
  if (p.input_type != kGemmInt8) {
    unsigned greatest = 0;
    for (unsigned k = 0; k < p.cols; ++k) {
      greatest =
          std::max(greatest, __builtin_bit_cast(unsigned, input_value(p, first + k)) & 0x7fffffff);
    }
    if (greatest >= kInfinityBits) {
      std::atomic_ref(*at<unsigned>(p.not_finite)).store(1);
      greatest = 0;
    }
    const float limit = activation_limit(__builtin_bit_cast(float, greatest));
    step = activation_step(limit);
    scale = activation_scale(limit);
  }
  std::int32_t sum = 0;
  for (unsigned k = 0; k < p.k_tiles * kActivationTileCols; ++k) {
    int q = 0;
    if (k < p.cols) {
      q = p.input_type == kGemmInt8 ? at<const std::int8_t>(p.input)[first + k]
                                    : quantise_activation(input_value(p, first + k), scale);
    }
    tiles[tiled_activation(m, k, p.k_tiles)] = static_cast<std::int8_t>(q);
    sum += q;
  }
  at<std::int32_t>(p.sums)[m] = sum;
  at<float>(p.steps)[m] = step;
}

void cpu_prepare(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const GemmPrepareParams*>(params);
  for (unsigned i = slice.index; i < p.counter_count; i += slice.count)
    at<unsigned>(p.counters)[i] = 0;
  for (unsigned m = slice.index; m < p.rows; m += slice.count) prepare_row(p, m);
}

// Sums of code * activation of one piece of a tile, [token][feature].
using Sums = std::vector<std::int32_t>;

void multiply(const GemmParams& p, GemmPiece piece, GemmTile tile, unsigned tokens,
              unsigned features, Sums& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  const auto* words = at<const std::uint32_t>(p.weights);
  const auto* tiles = at<const std::int8_t>(p.activations);
  for (unsigned f = 0; f < features; ++f) {
    const unsigned n = tile.feature * features + f;
    if (n >= p.features) break;
    for (unsigned k = piece.k_begin * kTileCols; k < piece.k_end * kTileCols; ++k) {
      const WeightPlace place = weight_place(n, k, p.k_tiles);
      const int code = static_cast<int>(words[place.word] >> place.shift & 3);
      for (unsigned t = 0; t < tokens; ++t) {
        const unsigned m = tile.token * tokens + t;
        if (m >= p.rows) break;
        sums[t * features + f] += code * tiles[tiled_activation(m, k, p.k_tiles)];
      }
    }
  }
}

void store(const GemmParams& p, std::size_t m, std::size_t n, std::int32_t codes_sum) {
  const std::size_t index = m * p.features + n;
  const std::int32_t sum = codes_sum - at<const std::int32_t>(p.sums)[m];
  if (p.output_type == kGemmOutInt32) {
    at<std::int32_t>(p.out)[index] = sum;
    return;
  }
  const float scale = at<const float>(p.steps)[m] * at<const float>(p.scales)[n];
  const float value = static_cast<float>(sum) * scale;
  if (p.output_type == kGemmOutF32) {
    at<float>(p.out)[index] = value;
    return;
  }
  unsigned bits = __builtin_bit_cast(unsigned, value);
  bits += 0x7FFF + (bits >> 16 & 1);  // nearest even
  at<std::uint16_t>(p.out)[index] = static_cast<std::uint16_t>(bits >> 16);
}

// The parts of a split tile that other blocks have, added to ours; false when others will do that.
bool gather(const GemmParams& p, unsigned block, unsigned tile, Sums& sums) {
  auto* partials = at<std::int32_t>(p.partials);
  const unsigned first = split_owner(p, tile * p.k_tiles);
  const unsigned last = split_owner(p, (tile + 1) * p.k_tiles - 1);
  std::memcpy(partials + partial_slot(p, block, tile) * sums.size(), sums.data(),
              sums.size() * sizeof(std::int32_t));
  if (std::atomic_ref(at<unsigned>(p.counters)[tile]).fetch_add(1) != last - first) return false;
  for (unsigned other = first; other <= last; ++other) {
    if (other == block) continue;
    const std::int32_t* part = partials + partial_slot(p, other, tile) * sums.size();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  return true;
}

template <unsigned kTokens, unsigned kFeatures>
void cpu_multiply(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const GemmParams*>(params);
  Sums sums(std::size_t{kTokens} * kFeatures);
  for (unsigned block = slice.index; block < p.blocks; block += slice.count) {
    GemmWalk walk(p, block);
    GemmPiece piece;
    while (walk.next(piece)) {
      const GemmTile tile = gemm_tile(p.token_tiles, p.feature_tiles, piece.tile);
      multiply(p, piece, tile, kTokens, kFeatures, sums);
      if (piece.k_end - piece.k_begin != p.k_tiles && !gather(p, block, piece.tile, sums)) continue;
      for (unsigned t = 0; t < kTokens; ++t) {
        const unsigned m = tile.token * kTokens + t;
        for (unsigned f = 0; m < p.rows && f < kFeatures; ++f) {
          const unsigned n = tile.feature * kFeatures + f;
          if (n < p.features) store(p, m, n, sums[t * kFeatures + f]);
        }
      }
    }
  }
}

}  // namespace

const Kernel kGemmPrepare{"gpuready_ternary_gemm_prepare", kPrepareImages, cpu_prepare};
const Kernel kGemmMma{"gpuready_ternary_mma", kMmaImages, cpu_multiply<kMmaTokens, kMmaFeatures>};
const Kernel kGemmWgmma32{"gpuready_ternary_wgmma_32", kWgmmaImages,
                          cpu_multiply<32, kWgmmaFeatures>};
const Kernel kGemmWgmma64{"gpuready_ternary_wgmma_64", kWgmmaImages,
                          cpu_multiply<64, kWgmmaFeatures>};
const Kernel kGemmWgmma128{"gpuready_ternary_wgmma_128", kWgmmaImages,
                           cpu_multiply<128, kWgmmaFeatures>};

}  // namespace gpuready::ternary
