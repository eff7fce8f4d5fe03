// The scalar tier: any CPU, and the plainest statement of the packed layout.
#include "ternary/cpu/kernels_common.h"

namespace gpuready::ternary::kernels {
namespace {

struct TripleDigits {
  uint8_t of[32][3] = {};
  constexpr TripleDigits() {
    for (int t = 0; t < 32; ++t) {
      of[t][0] = static_cast<uint8_t>(t / 9);
      of[t][1] = static_cast<uint8_t>(t / 3 % 3);
      of[t][2] = static_cast<uint8_t>(t % 3);
    }
  }
};
constexpr TripleDigits kDigits;

// The codes of one place of a block, a quad row each.
template <int form>
inline void codes_at(const uint8_t* place, uint8_t (&codes)[kBlockCols[form] / 4]) {
  if constexpr (form == 0) {
    for (int f = 0; f < 4; ++f) codes[f] = place[0] >> 2 * f & 3;
  } else {
    int line[5], triples[8];
    for (int i = 0; i < 5; ++i) {
      line[i] = place[i * kQuadBytes];
      triples[i] = line[i] & 31;
    }
    triples[5] = (line[0] >> 5) << 2 | (line[1] >> 5 & 3);
    triples[6] = (line[2] >> 5) << 2 | line[3] >> 6;
    triples[7] = (line[4] >> 5) << 2 | (line[1] >> 7) << 1 | (line[3] >> 5 & 1);
    for (int t = 0; t < 8; ++t) {
      for (int f = 0; f < 3; ++f) codes[3 * t + f] = kDigits.of[triples[t]][f];
    }
  }
}

template <int form>
void gemv(const GemvArgs& a) {
  constexpr int kFields = kBlockCols[form] / 4;
  const uint8_t* block = a.packed;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    int32_t sums[kPanelRows] = {};
    const int8_t* y = a.y;
    for (size_t b = 0; b < a.blocks; ++b, block += kBlockBytes[form], y += kBlockCols[form]) {
      for (int byte = 0; byte < kQuadBytes; ++byte) {
        uint8_t codes[kFields];
        codes_at<form>(block + byte, codes);
        int32_t sum = 0;
        for (int f = 0; f < kFields; ++f) sum += codes[f] * y[4 * f + byte % 4];
        sums[byte / 4] += sum;
      }
    }
    for (int r = 0; r < kPanelRows; ++r) a.out[panel * kPanelRows + r] = sums[r] - a.y_sum;
  }
}

void grouped_gemv(const GroupedGemvArgs& a) {
  GemvArgs group{};
  group.panels = 1;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    const uint8_t* packed = a.packed + panel * a.blocks * kQuadBytes;
    const float* scales = a.scales + panel * a.groups * kPanelRows;
    float* values = a.out + panel * kPanelRows;
    for (int r = 0; r < kPanelRows; ++r) values[r] = 0;
    for (size_t g = 0; g < a.groups; ++g) {
      const size_t first = g * a.group_blocks, left = a.blocks - first;
      int32_t sums[kPanelRows];
      group.packed = packed + first * kQuadBytes;
      group.blocks = left < a.group_blocks ? left : a.group_blocks;
      group.y = a.y + first * kBlockCols[0];
      group.y_sum = a.y_sums[g];
      group.out = sums;
      gemv<0>(group);
      for (int r = 0; r < kPanelRows; ++r) {
        const float term =
            static_cast<float>(sums[r]) * scales[g * kPanelRows + static_cast<size_t>(r)];
        values[r] = values[r] + term;
      }
    }
  }
}

template <int form>
void unpack(const uint8_t* packed, size_t blocks, uint8_t* quads) {
  constexpr int kFields = kBlockCols[form] / 4;
  for (size_t b = 0; b < blocks; ++b, packed += kBlockBytes[form], quads += kFields * kQuadBytes) {
    for (int byte = 0; byte < kQuadBytes; ++byte) {
      uint8_t codes[kFields];
      codes_at<form>(packed + byte, codes);
      for (int f = 0; f < kFields; ++f) quads[f * kQuadBytes + byte] = codes[f];
    }
  }
}

void gemm(const GemmArgs& a) {
  for (size_t m = 0; m < a.rows; ++m) {
    const int8_t* y = a.y + m * a.y_stride;
    for (int panel = 0; panel < a.panels; ++panel) {
      int32_t sums[kPanelRows] = {};
      const uint8_t* quads = a.quads[panel];
      for (size_t q = 0; q < a.quad_count; ++q, quads += kQuadBytes) {
        for (int byte = 0; byte < kQuadBytes; ++byte) {
          sums[byte / 4] += quads[byte] * y[4 * q + static_cast<size_t>(byte % 4)];
        }
      }
      int32_t* out = a.sums + m * 32 + panel * kPanelRows;
      for (int r = 0; r < kPanelRows; ++r) out[r] = sums[r] + (a.first ? 0 : out[r]);
    }
  }
}

}  // namespace

const Table kScalar{{gemv<0>, gemv<1>}, {unpack<0>, unpack<1>}, gemm,
                    finish_rows,        greatest_magnitude,     quantise_row,
                    grouped_gemv,       add_group_terms,        scale_values,
                    sum_codes,          store_values,           nullptr};

}  // namespace gpuready::ternary::kernels
