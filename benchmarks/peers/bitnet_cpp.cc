// bitnet.cpp's kernels for bench_ternary_cpu: I2_S as its x86 build uses it (a row at a time for
// vectors, four rows of activations at once for matrices), the kernel of four interleaved rows, and
// TL2 of the preset for 3B models. I2_S's activations are quantised by the loop below, since
// bitnet.cpp has its own in a fork of llama.cpp; TL2's by TL2.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "bitnet-lut-kernels.h"
#include "ggml-bitnet.h"

extern "C++" {
void ggml_vec_dot_i2_i8_s_1x1(int, float*, size_t, const void*, size_t, const void*, size_t, int);
void ggml_vec_dot_i2_i8_s_1x4_32W(int, float*, size_t, const void*, size_t, const void*, size_t,
                                  int);
void ggml_vec_dot_i2_i8_s_Nx1(int, float*, size_t, const void*, size_t, const void*, size_t, int);
}

namespace {

enum Kind { kI2s, kFourRow, kTl2, kKinds };
constexpr const char* kNames[] = {"bitnet.cpp I2_S", "bitnet.cpp I2_S, four rows",
                                  "bitnet.cpp TL2"};
constexpr const char* kFormats[] = {"i2_s-x86", "i2_s-four-row", "tl2-bitnet.cpp"};

void* (*encode)(const char* format, const int8_t* codes, long n, long k);

// A row of int8 codes, then their sum and scale.
struct Tail {
  float sum, scale;
};
void quantise(const float* x, long k, int8_t* row) {
  float greatest = 1e-5f, sum = 0;
  for (long i = 0; i < k; ++i) greatest = std::fmax(greatest, std::fabs(x[i]));
  const float scale = 127.0f / greatest;
  int total = 0;
  for (long i = 0; i < k; ++i) {
    const int code = static_cast<int>(std::nearbyintf(x[i] * scale));
    row[i] = static_cast<int8_t>(code);
    total += code;
  }
  sum = static_cast<float>(total);
  const Tail tail{sum, scale};
  std::memcpy(row + k, &tail, sizeof tail);
}

// TL2: bytes of the table that a row is made into, and rows of a tile.
long table_bytes(long k) { return k / 3 * 32; }
constexpr long kTileRows = 160;

}  // namespace

extern "C" {
void ternary_peer_encoder(void* (*with)(const char*, const int8_t*, long, long)) { encode = with; }
int ternary_peer_count() { return kKinds; }
const char* ternary_peer_name(int kind) { return kNames[kind]; }
int ternary_peer_for(int kind) { return kind == kI2s ? 3 : 1; }
void* ternary_peer_weights(int kind, const int8_t* codes, long n, long k) {
  // The one shape of the preset whose columns all come in threes.
  const bool preset = n == 3200 && k == 8640;
  if (kind == kTl2 ? !preset : k % 128 != 0 || n % 4 != 0) return nullptr;
  return encode(kFormats[kind], codes, n, k);
}
long ternary_peer_row_bytes(int kind, long, long k) {
  return kind == kTl2 ? table_bytes(k) + 64 : (k + 64) / 64 * 64;
}
void ternary_peer_quantise(int kind, const float* x, long m, long n, long k, void* rows) {
  const long bytes = ternary_peer_row_bytes(kind, n, k);
  for (long i = 0; i < m; ++i) {
    int8_t* row = static_cast<int8_t*>(rows) + i * bytes;
    float* values = const_cast<float*>(x + i * k);
    if (kind == kTl2) {
      ggml_preprocessor(1, static_cast<int>(n), static_cast<int>(k), 0, values,
                        row + table_bytes(k), row, row + table_bytes(k));
    } else {
      quantise(values, k, row);
    }
  }
}
void ternary_peer_multiply(int kind, const void* weights, const void* rows, long m, long n, long k,
                           long first_n, long last_n, float* out) {
  const uint8_t* w = static_cast<const uint8_t*>(weights);
  const int8_t* y = static_cast<const int8_t*>(rows);
  const int cols = static_cast<int>(k), count = static_cast<int>(last_n - first_n);
  const size_t row_elements = static_cast<size_t>(k);
  const long bytes = ternary_peer_row_bytes(kind, n, k);
  if (kind == kTl2) {
    const uint8_t* signs = w + n * k / 6;
    int8_t* table = const_cast<int8_t*>(y);
    float scale = 1;
    for (long row = (first_n + kTileRows - 1) / kTileRows * kTileRows; row < last_n;
         row += kTileRows) {
      // The second call has no columns left, and turns sums into values.
      for (const int of_k : {cols, 0}) {
        ggml_qgemm_lut(1, static_cast<int>(n), cols, of_k, const_cast<uint8_t*>(w + row * k / 6),
                       const_cast<uint8_t*>(signs + row * k / 24), table, &scale,
                       table + table_bytes(k), out + row);
      }
    }
    return;
  }
  const auto finish = [&](long i, float& value) {
    Tail tail;
    std::memcpy(&tail, y + i * bytes + k, sizeof tail);
    value = (value - tail.sum) / tail.scale;
  };
  if (m == 1) {
    (kind == kI2s ? ggml_vec_dot_i2_i8_s_1x1 : ggml_vec_dot_i2_i8_s_1x4_32W)(
        cols, out + first_n, 0, w + first_n * k / 4, row_elements, y, 0, count);
    for (long j = first_n; j < last_n; ++j) finish(0, out[j]);
    return;
  }
  constexpr long kTile = 16;
  for (long i0 = 0; i0 < m; i0 += kTile) {
    for (long j = first_n; j < last_n; ++j) {
      const long some = m - i0 < kTile ? (m - i0) / 4 * 4 : kTile;
      if (some > 0)
        ggml_vec_dot_i2_i8_s_Nx1(cols, out + i0 * n + j, static_cast<size_t>(n), w + j * k / 4,
                                 row_elements, y + i0 * bytes, static_cast<size_t>(bytes),
                                 static_cast<int>(some));
      for (long i = i0 + some; i < m && i < i0 + kTile; ++i)
        ggml_vec_dot_i2_i8_s_1x1(cols, out + i * n + j, 0, w + j * k / 4, row_elements,
                                 y + i * bytes, 0, 1);
      for (long i = i0; i < m && i < i0 + kTile; ++i) finish(i, out[i * n + j]);
    }
  }
}
}
