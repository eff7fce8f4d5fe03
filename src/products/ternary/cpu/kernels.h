// What one instruction-set tier offers. Only plain types and no inline function with linkage: the
// tiers' files are compiled for newer CPUs, and the linker must not take code for others from them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gpuready::ternary::kernels {

// The packed layout, the same for all tiers. A panel is 16 rows. A "quad row" is 64 bytes:
// byte 4 * r + i is of row r of the panel and of the quad's column i: 16 rows by 4 columns, what
// one dot-product instruction takes with 4 activations broadcast. Codes are w + 1; padding holds
// code 1, and activations are padded with zeros.
//
// Two bits: a block is 64 bytes, whose two-bit fields, lowest first, are 4 quad rows.
// Three trits: a block is 5 lines of 64 bytes, whose bytes at the same place hold 8 triples of five
// bits: 9 c0 + 3 c1 + c2, which are 24 quad rows, triple t those from 3 t on. Triples 0 to 4 are
// the lower bits of the lines; the upper bits of line 0, 1, ... are, lowest first,
//   5 [2..4]; 5 [0..1], 7 [1]; 6 [2..4]; 7 [0], 6 [0..1]; 7 [2..4].
inline constexpr int kPanelRows = 16, kQuadBytes = 64, kForms = 2;
inline constexpr int kBlockCols[kForms] = {16, 96}, kBlockBytes[kForms] = {64, 320};
// Unpacked quad rows are padded with zeros to a multiple of this, the depth of an AMX tile.
inline constexpr int kQuadGroup = 16;

// How a vector product reads its weights. Memory answers several streams faster than
// one on some CPUs, and slower on others.
struct Reading {
  int streams = 4;            // panels that are read side by side: 1, 2 or 4
  size_t ahead_bytes = 2048;  // of each are asked for ahead
};

struct GemvArgs {
  static constexpr bool kGrouped = false;
  const uint8_t* packed;  // first panel
  size_t blocks;          // a panel
  size_t panels;
  const int8_t* y;
  int32_t y_sum;
  const int32_t* weight_sums;  // sum of w, a row each
  int32_t* out;                // panels * 16
  Reading reading = {};
};

// A vector times weights of two bits whose scales differ within a row: a group is `group_blocks`
// blocks of a panel, the last one perhaps fewer.
struct GroupedGemvArgs {
  static constexpr bool kGrouped = true;
  const uint8_t* packed;  // first panel
  size_t blocks;          // a panel
  size_t group_blocks, groups;
  size_t panels;
  const int8_t* y;
  const int32_t* y_sums;  // a group each
  const float* scales;    // [panels][groups][16]
  float* out;             // panels * 16, as add_terms() has it
  Reading reading = {};
};

namespace {
// Calls of.operator()<streams>(first panel) for all panels, as many at once as are read side by
// side.
template <class Of>
void by_streams(const Reading& reading, size_t panels, const Of& of) {
  size_t panel = 0;
  if (reading.streams >= 4)
    for (; panel + 4 <= panels; panel += 4) of.template operator()<4>(panel);
  if (reading.streams >= 2)
    for (; panel + 2 <= panels; panel += 2) of.template operator()<2>(panel);
  for (; panel < panels; ++panel) of.template operator()<1>(panel);
}

// Scales of codes that lie `ahead_bytes` ahead are this far ahead of a group's.
inline size_t scales_ahead(size_t ahead_bytes, size_t group_blocks) {
  return ahead_bytes / (group_blocks * kQuadBytes) * kPanelRows;
}
}  // namespace

struct GemmArgs {
  const uint8_t* quads[2];  // unpacked quad rows of one or two panels
  int panels;
  size_t quad_count;  // even; for AMX a multiple of kQuadGroup
  const int8_t* y;
  size_t y_stride;           // bytes; `padded_rows` rows may be read
  size_t rows, padded_rows;  // the latter a multiple of 32
  int32_t* sums;             // [padded_rows][32]: sum of code * y, added to unless `first`
  bool first;
};

// A matrix product of two bits by looked-up sums: some columns of 32 rows of activations.
inline constexpr int kLookupRows = 32;
inline constexpr size_t kLookupBlocks = 15;  // the most at once, for sums of 16 bits
struct LookupArgs {
  const uint8_t* packed;  // first panel, at the first of the blocks
  size_t panel_bytes;     // from panel to panel
  size_t panels, blocks;
  const int8_t* y;  // kLookupRows rows at the first of the columns
  size_t y_stride;
  uint16_t* entries;  // [blocks][panels][64], any content
  int16_t* partial;   // [panels * 16][kLookupRows], any content
  int32_t* sums;      // likewise: sum of w * y, added to unless `first`
  bool first;
};
struct Lookup {
  void (*multiply)(const LookupArgs&);
  void (*turn)(const int32_t* from, int32_t* to);  // to[c][r] = from[r][c], 32 by 32
};

// Adds a group's terms to values: values[m][n] += float(sums[m][n] - y_sums[m]) * scales[n], each
// operation rounded by itself. Groups are added in the order of their columns, beginning with 0:
// that is the rule which makes the bits of all tiers and devices the same.
struct TermsArgs {
  const int32_t* sums;     // [rows][32]
  const int32_t* y_sums;   // of this group, a row each
  const float* scales[2];  // 16 of each panel
  int panels;
  size_t rows;
  float* values;  // [rows][32]; set instead of added to where `first`
  bool first;
};

// Both at once, for some groups: values[m][n] += the terms of each, by the same rule.
struct GroupedGemmArgs {
  const uint8_t* quads[2];  // unpacked quad rows of one or two panels
  int panels;
  // The last group may have fewer; behind it are zeros up to a multiple of kQuadGroup.
  size_t quad_count, group_quads;
  const int8_t* y;
  size_t y_stride, rows;  // up to a multiple of 32 rows may be read
  const int32_t* y_sums;  // [groups][y_sums_stride], a row each
  size_t y_sums_stride;
  const float* scales[2];  // [groups][16] of each panel
  float* values;           // [rows][32]; set instead of added to where `first`
  bool first;
};

enum OutputType { kInt32, kFloat32, kBfloat16, kFloat16 };

// Finishes and scales to kFloat16, and what is added to a product, go by way of kFloat32 and
// StoreArgs.
struct FinishArgs {
  const int32_t* sums;  // [rows][stride]
  size_t stride, rows, cols;
  const int32_t* y_sums;  // subtracted, a row each; null when the sums are final
  const float* steps;     // a row each
  const float* scales;    // a column each
  OutputType type;
  void* out;  // [rows][out_stride]
  size_t out_stride;
};

struct ScaleArgs {
  const float* values;  // [rows][stride]
  size_t stride, rows, cols;
  const float* steps;   // a row each
  const float* scales;  // a column each
  OutputType type;      // kFloat32 or kBfloat16
  void* out;            // [rows][out_stride]
  size_t out_stride;
};

// Elements of one row from f32 products: value + bias + residual, each sum rounded by itself, then
// rounded to the type.
struct StoreArgs {
  const float* values;
  size_t count;
  const float* bias;      // null: none
  const float* residual;  // null: none
  OutputType type;        // kFloat32, kBfloat16 or kFloat16
  void* out;
};

struct Table {
  void (*gemv[kForms])(const GemvArgs&);
  void (*unpack[kForms])(const uint8_t* packed, size_t blocks, uint8_t* quads);
  void (*gemm)(const GemmArgs&);
  void (*finish)(const FinishArgs&);
  // The bits of the greatest magnitude of a row; 0x7F800000 or more where one is not finite.
  uint32_t (*greatest)(const float* x, size_t count);
  // Quantises one row; `limit` is max(1e-5, absmax). The sum of the codes is returned.
  int32_t (*quantise)(const float* x, size_t count, float limit, int8_t* out);
  // Weights with scales by group: a vector; a group's terms of a matrix; values times steps and
  // scales of rows.
  void (*grouped_gemv)(const GroupedGemvArgs&);
  void (*add_terms)(const TermsArgs&);
  void (*scale)(const ScaleArgs&);
  int32_t (*sum)(const int8_t* y, size_t count);
  void (*store)(const StoreArgs&);
  const Lookup* lookup;                                   // null where gemm is quicker
  void (*gemm_groups)(const GroupedGemmArgs&) = nullptr;  // null where gemm and add_terms do it
};

extern const Table kScalar;
#if defined(__x86_64__)
extern const Table kAvx2, kAvxVnni, kAvx512;
extern const Lookup kAvx2Lookup;
// The AMX tier is the AVX-512 tier with these.
void amx_gemm(const GemmArgs& a);
void amx_gemm_groups(const GroupedGemmArgs& a);
// Of both tiers, where the CPU has VBMI, and GFNI.
void vbmi_gemv_three_trits(const GemvArgs& a);
void gfni_grouped_gemv(const GroupedGemvArgs& a);
#elif defined(__aarch64__)
extern const Table kNeon, kDotprod, kI8mm;
#endif

}  // namespace gpuready::ternary::kernels
