// Kernels of the benchmarks' native stacks.
#pragma once

namespace gpuready {

enum class BenchDtype : unsigned { fp32, bf16, fp16 };

// c[m,n] = act(a[m,k] b + bias): b is [k,n], or [n,k] where `b_transposed`. All row-major and of
// one dtype; sums in FP32. No bias: address 0.
struct BenchGemmParams {
  unsigned long long a_address, b_address, bias_address, c_address;
  unsigned long long m, n, k;
  BenchDtype dtype;
  unsigned b_transposed, gelu;
};
inline constexpr unsigned kBenchGemmThreads = 256, kBenchGemmTile = 64;

// values[i] = gelu(values[i]), by erf. The address is aligned to 16 bytes.
struct BenchGeluParams {
  unsigned long long address, count;
  BenchDtype dtype;
};

// *mean = the mean of values[0, count), in FP32. `partial`: a float a block; `counter`: 64 bits,
// 0 before the first launch, and again after each.
struct BenchMeanParams {
  unsigned long long address, count, partial_address, counter_address, mean_address;
  BenchDtype dtype;
};
inline constexpr unsigned kBenchThreads = 256;

// y = softmax(q k^T / 8) v for each head; all [heads, keys, 64], row-major and of one dtype,
// aligned to 16 bytes. `rows` = heads * keys. Sums in FP32.
struct BenchAttentionParams {
  unsigned long long q_address, k_address, v_address, y_address;
  unsigned long long rows, keys;
  BenchDtype dtype;
};
inline constexpr unsigned kBenchAttentionRows = kBenchThreads / 32;  // of a block

}  // namespace gpuready
