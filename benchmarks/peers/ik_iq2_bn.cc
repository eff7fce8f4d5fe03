// ik_llama.cpp's IQ2_BN and IQ2_BN_R4 for bench_ternary_cpu, by its own matrix product.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ggml.h"
#include "iqk/iqk_mul_mat.h"

namespace {
struct Kind {
  const char* name;
  ggml_type type;
};
const Kind kKinds[] = {{"ik IQ2_BN", GGML_TYPE_IQ2_BN}, {"ik IQ2_BN_R4", GGML_TYPE_IQ2_BN_R4}};
ggml_type rows_type(int index) {
  return ggml_internal_get_type_traits(kKinds[index].type).vec_dot_type;
}
}  // namespace

extern "C" {
int ternary_peer_count() {
  ggml_init_params params{1 << 20, nullptr, false};
  ggml_free(ggml_init(params));  // its tables
  return 2;
}
const char* ternary_peer_name(int index) { return kKinds[index].name; }
int ternary_peer_for(int) { return 3; }
void* ternary_peer_weights(int index, const int8_t* codes, long n, long k) {
  if (k % 64 != 0 || n % 16 != 0) return nullptr;
  const ggml_type type = kKinds[index].type;
  const size_t bytes = ggml_row_size(type, k);
  void* packed = std::aligned_alloc(64, (static_cast<size_t>(n) * bytes + 127) / 64 * 64);
  std::vector<float> some(static_cast<size_t>(4 * k));
  for (long i = 0; i < n; i += 4) {
    for (long j = 0; j < 4 * k; ++j) some[static_cast<size_t>(j)] = codes[i * k + j];
    ggml_quantize_chunk(type, some.data(),
                        static_cast<char*>(packed) + static_cast<size_t>(i) * bytes, 0, 4, k,
                        nullptr, nullptr);
  }
  return packed;
}
long ternary_peer_row_bytes(int index, long, long k) {
  return static_cast<long>(ggml_row_size(rows_type(index), k));
}
void ternary_peer_quantise(int index, const float* x, long m, long, long k, void* rows) {
  const auto from_float = ggml_internal_get_type_traits(rows_type(index)).from_float;
  const size_t bytes = ggml_row_size(rows_type(index), k);
  for (long i = 0; i < m; ++i)
    from_float(x + i * k, static_cast<char*>(rows) + static_cast<size_t>(i) * bytes, k);
}
void ternary_peer_multiply(int index, const void* weights, const void* rows, long m, long n, long k,
                           long first_n, long last_n, float* out) {
  const long bytes = static_cast<long>(ggml_row_size(kKinds[index].type, k));
  iqk_mul_mat(last_n - first_n, m, k, kKinds[index].type,
              static_cast<const char*>(weights) + first_n * bytes, bytes, rows_type(index), rows,
              static_cast<long>(ggml_row_size(rows_type(index), k)), out + first_n, n, 0, 1);
}
}
