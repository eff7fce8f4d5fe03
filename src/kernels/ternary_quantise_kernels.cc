// The kernels that quantise. Those of weights have CPU versions, in the same runs, for tests.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel_abi/ternary_quantise.h"
#include "kernel_abi/ternary_weights.h"
#include "kernels/ternary_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_ternary_quantise_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_quantise_sm_80)
GPUREADY_EMBEDDED(gpuready_ptx_ternary_quantise_sm_90)
GPUREADY_EMBEDDED(gpuready_spirv_ternary_activations)

namespace gpuready::ternary {
namespace {

const KernelImage kQuantise[] = {
    {gpuready_ptx_ternary_quantise_sm_50_begin, gpuready_ptx_ternary_quantise_sm_50_end, 50, false},
    {gpuready_ptx_ternary_quantise_sm_80_begin, gpuready_ptx_ternary_quantise_sm_80_end, 80, false},
    {gpuready_ptx_ternary_quantise_sm_90_begin, gpuready_ptx_ternary_quantise_sm_90_end, 90,
     false}};

template <class T>
T* at(unsigned long long address) {
  return reinterpret_cast<T*>(address);
}

template <unsigned kType>
struct Stored {
  using Word = std::conditional_t<kType == kWeightsF32, std::uint32_t, std::uint16_t>;
  static constexpr unsigned kSign = 8 * sizeof(Word) - 1, kMagnitude = (1u << kSign) - 1;
  static constexpr unsigned kInfinity = kType == kWeightsF32   ? kInfinityBits
                                        : kType == kWeightsF16 ? 0x7C00u
                                                               : 0x7F80u;
};

double add_pairs(std::vector<double>& sums) {
  for (std::size_t count = sums.size(); count > 1; count = (count + 1) / 2)
    for (std::size_t i = 0; i < count; i += 2)
      sums[i / 2] = i + 1 < count ? sums[i] + sums[i + 1] : sums[i];
  return sums[0];
}

template <unsigned kType>
void sum_pieces(const TernaryWeightsParams& p, CpuSlice slice) {
  const auto* weights = at<const typename Stored<kType>::Word>(p.values_address);
  const unsigned long long run_weights = kSumPiece * kSummedPieces;
  for (unsigned long long run = slice.index; run < summed_runs(p.count); run += slice.count) {
    std::vector<double> pieces;
    const unsigned long long end = std::min((run + 1) * run_weights, p.count);
    for (unsigned long long first = run * run_weights; first < end; first += kSumPiece) {
      double lanes[kSumLanes] = {};
      for (unsigned long long i = first; i < std::min(first + kSumPiece, end); ++i)
        lanes[i % kSumLanes] += summand<kType>(weights[i], 0);
      for (unsigned half = kSumLanes / 2; half > 0; half /= 2)
        for (unsigned i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      pieces.push_back(lanes[0]);
    }
    at<double>(sums_address(p.out_address))[run] = add_pairs(pieces);
  }
}

void make_mean(const TernaryWeightsParams& p) {
  std::vector<double> sums(summed_runs(p.count));
  std::memcpy(sums.data(), at<const double>(sums_address(p.out_address)), sums.size() * 8);
  const double unit =
      p.value_type == kWeightsF16 ? kSummandUnit<kWeightsF16> : kSummandUnit<kWeightsF32>;
  auto* scale = at<float>(p.out_address + p.count / 4);
  std::fill(scale, scale + 8, 0.0f);
  *scale = absmean_scale(add_pairs(sums) * unit, static_cast<double>(p.count));
  *at<std::uint64_t>(p.bad_address) = ~std::uint64_t{0};
}

template <class T, class Better>
void replace(T* target, T value, Better better) {
  const std::atomic_ref<T> shared(*target);
  T now = shared.load(std::memory_order_relaxed);
  while (better(value, now) && !shared.compare_exchange_weak(now, value)) {
  }
}

template <unsigned kType>
void quantise_signs(const TernaryWeightsParams& p, CpuSlice slice) {
  using S = Stored<kType>;
  auto* scale = at<std::uint32_t>(p.out_address + p.count / 4);
  if (p.begin) {
    if (slice.index != 0) return;
    std::fill(scale, scale + 8, 0);
    *at<std::uint64_t>(p.bad_address) = ~std::uint64_t{0};
    return;
  }
  const auto* weights = at<const typename S::Word>(p.values_address);
  const unsigned threshold = p.absmean ? absmean_threshold<kType>(__builtin_bit_cast(float, *scale))
                                       : kSignThreshold<kType>;
  const unsigned plane = p.block / 4;
  unsigned greatest = 0;
  for (unsigned long long byte = slice.index; byte < p.count / 4; byte += slice.count) {
    const unsigned long long first = byte / plane * p.block + byte % plane;
    unsigned codes = 0;
    for (unsigned field = 0; field < 4; ++field) {
      const unsigned long long index = first + field * plane;
      const unsigned bits = weights[index], magnitude = bits & S::kMagnitude;
      if (magnitude >= S::kInfinity)
        replace(at<std::uint64_t>(p.bad_address), std::uint64_t{index}, std::less());
      greatest = std::max(greatest, magnitude);
      codes = codes << 2 | (magnitude <= threshold ? 1 : bits >> S::kSign ? 0 : 2);
    }
    at<std::uint8_t>(p.out_address)[byte] = static_cast<std::uint8_t>(codes);
  }
  if (p.absmean) return;
  const std::uint32_t wide = kType == kWeightsF32 ? greatest
                             : kType == kWeightsF16
                                 ? __builtin_bit_cast(unsigned, half_value(greatest))
                                 : greatest << 16;
  replace(scale, wide, std::greater());
}

void cpu_sums(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const TernaryWeightsParams*>(params);
  constexpr void (*kOf[])(const TernaryWeightsParams&, CpuSlice) = {sum_pieces<0>, sum_pieces<1>,
                                                                    sum_pieces<2>};
  kOf[p.value_type](p, slice);
}

void cpu_mean(const void* params, CpuSlice slice) {
  if (slice.index == 0) make_mean(*static_cast<const TernaryWeightsParams*>(params));
}

void cpu_signs(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const TernaryWeightsParams*>(params);
  constexpr void (*kOf[])(const TernaryWeightsParams&, CpuSlice) = {
      quantise_signs<0>, quantise_signs<1>, quantise_signs<2>};
  kOf[p.value_type](p, slice);
}

}  // namespace

const Kernel kTernaryActivations{"gpuready_ternary_activations", kQuantise, nullptr,
                                 GPUREADY_SPIRV(gpuready_spirv_ternary_activations)};
const Kernel kTernarySums{"gpuready_ternary_sums", kQuantise, cpu_sums};
const Kernel kTernaryMean{"gpuready_ternary_mean", kQuantise, cpu_mean};
const Kernel kTernarySigns{"gpuready_ternary_signs", kQuantise, cpu_signs};

}  // namespace gpuready::ternary
