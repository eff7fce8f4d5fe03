// ggml's TQ2_0 for bench_ternary_cpu: its own quantising of activations (Q8_K) and dot product, in
// tiles of 16 by 16 as ggml's matrix product takes them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ggml-cpu.h"
#include "ggml.h"

namespace {
const ggml_type kType = GGML_TYPE_TQ2_0;
const ggml_type_traits_cpu* traits() { return ggml_get_type_traits_cpu(kType); }
}  // namespace

extern "C" {
int ternary_peer_count() {
  ggml_cpu_init();
  return 1;
}
const char* ternary_peer_name(int) { return "ggml TQ2_0"; }
int ternary_peer_for(int) { return 3; }
void* ternary_peer_weights(int, const int8_t* codes, long n, long k) {
  if (k % 256 != 0) return nullptr;
  void* packed =
      std::aligned_alloc(64, (static_cast<size_t>(n) * ggml_row_size(kType, k) + 127) / 64 * 64);
  std::vector<float> row(static_cast<size_t>(k));
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < k; ++j) row[static_cast<size_t>(j)] = codes[i * k + j];
    ggml_quantize_chunk(
        kType, row.data(),
        static_cast<char*>(packed) + static_cast<size_t>(i) * ggml_row_size(kType, k), 0, 1, k,
        nullptr);
  }
  return packed;
}
long ternary_peer_row_bytes(int, long, long k) {
  return static_cast<long>(ggml_row_size(traits()->vec_dot_type, k));
}
void ternary_peer_quantise(int, const float* x, long m, long, long k, void* rows) {
  const auto from_float = ggml_get_type_traits_cpu(traits()->vec_dot_type)->from_float;
  const size_t bytes = ggml_row_size(traits()->vec_dot_type, k);
  for (long i = 0; i < m; ++i)
    from_float(x + i * k, static_cast<char*>(rows) + static_cast<size_t>(i) * bytes, k);
}
void ternary_peer_multiply(int, const void* weights, const void* rows, long m, long n, long k,
                           long first_n, long last_n, float* out) {
  const auto dot = traits()->vec_dot;
  const size_t weight_bytes = ggml_row_size(kType, k);
  const size_t row_bytes = ggml_row_size(traits()->vec_dot_type, k);
  constexpr long kTile = 16;
  for (long i0 = 0; i0 < m; i0 += kTile)
    for (long j0 = first_n; j0 < last_n; j0 += kTile)
      for (long i = i0; i < std::min(m, i0 + kTile); ++i)
        for (long j = j0; j < std::min(last_n, j0 + kTile); ++j)
          dot(static_cast<int>(k), out + i * n + j, 0,
              static_cast<const char*>(weights) + static_cast<size_t>(j) * weight_bytes, 0,
              static_cast<const char*>(rows) + static_cast<size_t>(i) * row_bytes, 0, 1);
}
}
