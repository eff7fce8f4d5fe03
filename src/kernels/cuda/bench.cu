// Kernels of the benchmarks' native stacks: a plain matrix product as a reference, and what stands
// between the products of a tuned library: GELU by erf, and a mean.
#include "kernel_abi/bench_params.h"
#include "kernels/cuda/target.cuh"

using namespace gpuready;
using namespace gpuready::device;

namespace {

struct alignas(16) Words {
  u32 word[4];
};

GPUREADY_DEVICE float from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }
GPUREADY_DEVICE u32 to_bits(float value) { return __builtin_bit_cast(u32, value); }

GPUREADY_DEVICE float from_half(u32 half) {
  float value;
  asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(value) : "r"(half));
  return value;
}
GPUREADY_DEVICE u32 to_half(float value) {
  u32 half;
  asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.u32.u16 %0, h; }" : "=r"(half) : "f"(value));
  return half;
}
// bfloat16 is the upper half of a float; rounded to the nearest, ties to even.
GPUREADY_DEVICE u32 to_bfloat(float value) {
  const u32 bits = to_bits(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

GPUREADY_DEVICE float unpack(u32 half, BenchDtype dtype) {
  return dtype == BenchDtype::bf16 ? from_bits(half << 16) : from_half(half);
}
GPUREADY_DEVICE u32 pack(float value, BenchDtype dtype) {
  return dtype == BenchDtype::bf16 ? to_bfloat(value) : to_half(value);
}
GPUREADY_DEVICE float load(u64 address, u64 index, BenchDtype dtype) {
  if (dtype == BenchDtype::fp32) return reinterpret_cast<const float*>(address)[index];
  return unpack(reinterpret_cast<const unsigned short*>(address)[index], dtype);
}
GPUREADY_DEVICE void store(u64 address, u64 index, float value, BenchDtype dtype) {
  if (dtype == BenchDtype::fp32)
    reinterpret_cast<float*>(address)[index] = value;
  else
    reinterpret_cast<unsigned short*>(address)[index] =
        static_cast<unsigned short>(pack(value, dtype));
}

// x Phi(x) by erf within 1.5e-7 (Abramowitz and Stegun, "Handbook of Mathematical Functions",
// 7.1.26): max(x, 0) - |x| / 2 erfc(|x| / sqrt(2)), with their constants times 1/2 and 1/sqrt(2).
GPUREADY_DEVICE float gelu(float x) {
  const float a = __builtin_fabsf(x);
  float t, e;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(__builtin_fmaf(0.231641882f, a, 1)));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * -0.721347520f * x));
  float p = 0.5307027145f;
  p = __builtin_fmaf(t, p, -0.7265760135f);
  p = __builtin_fmaf(t, p, 0.7107068705f);
  p = __builtin_fmaf(t, p, -0.142248368f);
  p = __builtin_fmaf(t, p, 0.127414796f);
  return __builtin_fmaf(-a * t, p * e, __builtin_fmaxf(x, 0));
}

template <BenchDtype kDtype>
GPUREADY_DEVICE u32 gelu_word(u32 word) {
  if constexpr (kDtype == BenchDtype::fp32) return to_bits(gelu(from_bits(word)));
  return pack(gelu(unpack(word & 0xffff, kDtype)), kDtype) |
         pack(gelu(unpack(word >> 16, kDtype)), kDtype) << 16;
}

template <BenchDtype kDtype>
GPUREADY_DEVICE Words gelu_words(Words words) {
#pragma unroll
  for (u32& word : words.word) word = gelu_word<kDtype>(word);
  return words;
}

// 16 bytes a thread and step, two steps in flight.
template <BenchDtype kDtype>
GPUREADY_DEVICE void gelu_all(Words* words, u64 count) {
  const u64 stride = u64{block_count()} * block_threads();
  u64 i = u64{block_index()} * block_threads() + thread_index();
  for (; i + stride < count; i += 2 * stride) {
    const Words first = words[i], second = words[i + stride];
    words[i] = gelu_words<kDtype>(first);
    words[i + stride] = gelu_words<kDtype>(second);
  }
  if (i < count) words[i] = gelu_words<kDtype>(words[i]);
}

// Sums over the block, right in its thread 0.
GPUREADY_SHARED float warp_sums[32];
GPUREADY_DEVICE float block_sum(float value) {
  for (u32 distance = 16; distance > 0; distance /= 2)
    value += from_bits(shuffle_down(to_bits(value), distance));
  const u32 thread = thread_index();
  block_barrier();
  if (thread % 32 == 0) warp_sums[thread / 32] = value;
  block_barrier();
  float sum = 0;
  for (u32 i = 0; i < block_threads() / 32; ++i) sum += warp_sums[i];
  return sum;
}

// Of a row of 64 values with a query in FP32.
template <BenchDtype kDtype>
GPUREADY_DEVICE float dot_head(const float* query, u64 address, u64 row) {
  constexpr u32 kEach = kDtype == BenchDtype::fp32 ? 4 : 8;
  const auto* words = reinterpret_cast<const Words*>(address) + row * (64 / kEach);
  float sum = 0;
  for (u32 i = 0; i < 64 / kEach; ++i) {
    const Words value = words[i];
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      if constexpr (kDtype == BenchDtype::fp32) {
        sum = __builtin_fmaf(query[4 * i + j], from_bits(value.word[j]), sum);
      } else {
        const float* pair = query + 8 * i + 2 * j;
        sum = __builtin_fmaf(pair[0], unpack(value.word[j] & 0xffff, kDtype), sum);
        sum = __builtin_fmaf(pair[1], unpack(value.word[j] >> 16, kDtype), sum);
      }
    }
  }
  return sum;
}
GPUREADY_DEVICE float exp2_of(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

GPUREADY_SHARED float queries[kBenchAttentionRows][64];
GPUREADY_SHARED float key_weights[kBenchAttentionRows][32];

// A warp takes a row and 32 keys at a time: a lane has the score of one key, and then two of the
// 64 sums. The greatest score so far is kept, and the sums are scaled to it.
template <BenchDtype kDtype>
GPUREADY_DEVICE void attend(const BenchAttentionParams& p) {
  const u32 lane = thread_index() % 32, warp = thread_index() / 32;
  const u64 asked = u64{block_index()} * kBenchAttentionRows + warp;
  const u64 row = asked < p.rows ? asked : p.rows - 1;  // all warps wait at the same barriers
  const u64 first = row / p.keys * p.keys;
  float* query = queries[warp];
  float* weight = key_weights[warp];
  for (u32 i = lane; i < 64; i += 32)
    query[i] = load(p.q_address, row * 64 + i, kDtype) * (1.44269504f / 8);
  block_barrier();
  float most = -__builtin_huge_valf(), total = 0, sum[2] = {};
  for (u64 key = 0; key < p.keys; key += 32) {
    const bool has_key = key + lane < p.keys;
    const float score =
        has_key ? dot_head<kDtype>(query, p.k_address, first + key + lane) : -__builtin_huge_valf();
    weight[lane] = score;
    block_barrier();
    float greatest = most;
    for (u32 i = 0; i < 32; ++i) greatest = __builtin_fmaxf(greatest, weight[i]);
    block_barrier();
    weight[lane] = exp2_of(score - greatest);
    block_barrier();
    const float scale = exp2_of(most - greatest);
    most = greatest;
    total *= scale;
    sum[0] *= scale, sum[1] *= scale;
    for (u32 i = 0; i < 32 && key + i < p.keys; ++i) {
      total += weight[i];
      for (u32 j = 0; j < 2; ++j)
        sum[j] = __builtin_fmaf(
            weight[i], load(p.v_address, (first + key + i) * 64 + 2 * lane + j, kDtype), sum[j]);
    }
    block_barrier();
  }
  if (asked < p.rows)
    for (u32 j = 0; j < 2; ++j) store(p.y_address, row * 64 + 2 * lane + j, sum[j] / total, kDtype);
}

constexpr u32 kTile = kBenchGemmTile, kDepth = 16;
GPUREADY_SHARED float a_tile[kDepth][kTile + 1];
GPUREADY_SHARED float b_tile[kDepth][kTile + 1];

}  // namespace

// Each block of 256 threads makes a 64 x 64 tile, 4 x 4 a thread.
GPUREADY_KERNEL(256, 1) void gpuready_bench_gemm(BenchGemmParams p) {
  const u32 thread = thread_index();
  const u64 tiles = (p.n + kTile - 1) / kTile;
  const u64 row0 = block_index() / tiles * kTile, column0 = block_index() % tiles * kTile;
  const u32 my_row = thread / 16 * 4, my_column = thread % 16 * 4;
  float sum[4][4] = {};
  for (u64 k0 = 0; k0 < p.k; k0 += kDepth) {
    for (u32 i = thread; i < kTile * kDepth; i += 256) {
      const u64 row = row0 + i / kDepth, k = k0 + i % kDepth;
      a_tile[i % kDepth][i / kDepth] =
          row < p.m && k < p.k ? load(p.a_address, row * p.k + k, p.dtype) : 0;
      if (p.b_transposed) {
        const u64 column = column0 + i / kDepth;
        b_tile[i % kDepth][i / kDepth] =
            column < p.n && k < p.k ? load(p.b_address, column * p.k + k, p.dtype) : 0;
      } else {
        const u64 column = column0 + i % kTile, depth = k0 + i / kTile;
        b_tile[i / kTile][i % kTile] =
            column < p.n && depth < p.k ? load(p.b_address, depth * p.n + column, p.dtype) : 0;
      }
    }
    block_barrier();
#pragma unroll
    for (u32 k = 0; k < kDepth; ++k)
#pragma unroll
      for (u32 r = 0; r < 4; ++r)
#pragma unroll
        for (u32 c = 0; c < 4; ++c)
          sum[r][c] = __builtin_fmaf(a_tile[k][my_row + r], b_tile[k][my_column + c], sum[r][c]);
    block_barrier();
  }
  for (u32 r = 0; r < 4; ++r)
    for (u32 c = 0; c < 4; ++c) {
      const u64 row = row0 + my_row + r, column = column0 + my_column + c;
      if (row >= p.m || column >= p.n) continue;
      float value = sum[r][c];
      if (p.bias_address != 0) value += load(p.bias_address, column, p.dtype);
      if (p.gelu) value = gelu(value);
      store(p.c_address, row * p.n + column, value, p.dtype);
    }
}

GPUREADY_KERNEL(256, 4) void gpuready_bench_attention(BenchAttentionParams p) {
  if (p.dtype == BenchDtype::fp32) attend<BenchDtype::fp32>(p);
  if (p.dtype == BenchDtype::fp16) attend<BenchDtype::fp16>(p);
  if (p.dtype == BenchDtype::bf16) attend<BenchDtype::bf16>(p);
}

GPUREADY_KERNEL(256, 4) void gpuready_bench_gelu(BenchGeluParams p) {
  auto* words = reinterpret_cast<Words*>(p.address);
  const u64 each = p.dtype == BenchDtype::fp32 ? 4 : 8, whole = p.count / each;
  if (p.dtype == BenchDtype::fp32) gelu_all<BenchDtype::fp32>(words, whole);
  if (p.dtype == BenchDtype::fp16) gelu_all<BenchDtype::fp16>(words, whole);
  if (p.dtype == BenchDtype::bf16) gelu_all<BenchDtype::bf16>(words, whole);
  if (block_index() == 0 && thread_index() == 0)
    for (u64 i = whole * each; i < p.count; ++i)
      store(p.address, i, gelu(load(p.address, i, p.dtype)), p.dtype);
}

// Each block sums its share; the last to end sums theirs, in a fixed order.
GPUREADY_KERNEL(256, 4) void gpuready_bench_mean(BenchMeanParams p) {
  const u64 first = u64{block_index()} * block_threads() + thread_index();
  const u64 each = p.dtype == BenchDtype::fp32 ? 4 : 8;
  const auto* words = reinterpret_cast<const Words*>(p.address);
  float sum = 0;
  for (u64 i = first; i < p.count / each; i += u64{block_count()} * block_threads()) {
    const Words value = words[i];
#pragma unroll
    for (u32 j = 0; j < 4; ++j)
      sum += p.dtype == BenchDtype::fp32
                 ? from_bits(value.word[j])
                 : unpack(value.word[j] & 0xffff, p.dtype) + unpack(value.word[j] >> 16, p.dtype);
  }
  if (first == 0)
    for (u64 i = p.count / each * each; i < p.count; ++i) sum += load(p.address, i, p.dtype);
  sum = block_sum(sum);
  auto* partial = reinterpret_cast<volatile float*>(p.partial_address);
  auto* counter = reinterpret_cast<u64*>(p.counter_address);
  GPUREADY_SHARED static u32 is_last;
  if (thread_index() == 0) {
    partial[block_index()] = sum;
    device_fence();
    is_last = atomic_add(counter, 1) == block_count() - 1;
  }
  block_barrier();
  if (!is_last) return;
  device_fence();
  float total = 0;
  for (u32 i = thread_index(); i < block_count(); i += block_threads()) total += partial[i];
  total = block_sum(total);
  if (thread_index() == 0) {
    *reinterpret_cast<float*>(p.mean_address) = total / static_cast<float>(p.count);
    *counter = 0;
  }
}
