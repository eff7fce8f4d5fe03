// The scalar tier: any CPU, and the plainest statement of the packed layout.
#include "ternary/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

// Code of field `f` of a byte, by form.
template <int form>
inline int field(uint8_t byte, int f) {
  if (form == 0) return byte >> 2 * f & 3;
  constexpr unsigned kPowers[5] = {1, 3, 9, 27, 81};
  return static_cast<int>((byte * kPowers[f] & 0xFF) * 3 >> 8);
}

template <int form>
void gemv(const GemvArgs& a) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    int32_t sums[kPanelRows] = {};
    const uint8_t* block = a.packed + panel * a.blocks * kBlockBytes;
    const int8_t* y = a.y;
    for (size_t b = 0; b < a.blocks; ++b, block += kBlockBytes, y += kBlockCols[form]) {
      for (int byte = 0; byte < kBlockBytes; ++byte) {
        int32_t sum = 0;
        for (int f = 0; f < kFields; ++f) {
          sum += field<form>(block[byte], f) * y[4 * f + byte % 4];
        }
        sums[byte / 4] += sum;
      }
    }
    for (int r = 0; r < kPanelRows; ++r) a.out[panel * kPanelRows + r] = sums[r] - a.y_sum;
  }
}

template <int form>
void unpack(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes) {
    for (int f = 0; f < kFields; ++f, quads += kBlockBytes) {
      for (int byte = 0; byte < kBlockBytes; ++byte) {
        quads[byte] = static_cast<uint8_t>(field<form>(packed[byte], f));
      }
    }
  }
}

void gemm(const GemmArgs& a) {
  for (size_t m = 0; m < a.rows; ++m) {
    const int8_t* y = a.y + m * a.y_stride;
    for (int panel = 0; panel < a.panels; ++panel) {
      int32_t sums[kPanelRows] = {};
      const uint8_t* quads = a.quads[panel];
      for (size_t q = 0; q < a.quad_count; ++q, quads += kBlockBytes) {
        for (int byte = 0; byte < kBlockBytes; ++byte) {
          sums[byte / 4] += quads[byte] * y[4 * q + static_cast<size_t>(byte % 4)];
        }
      }
      int32_t* out = a.sums + m * 32 + panel * kPanelRows;
      for (int r = 0; r < kPanelRows; ++r) out[r] = sums[r] + (a.first ? 0 : out[r]);
    }
  }
}

}  // namespace

const Table kScalar{{gemv<0>, gemv<1>}, {unpack<0>, unpack<1>}, gemm, finish_rows, quantise_row};

}  // namespace gpuready::ternary::kernels
