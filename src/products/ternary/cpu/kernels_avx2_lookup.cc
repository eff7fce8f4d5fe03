// Matrix products for CPUs without dot products: four weights of a row have 81 values, and what
// each makes of four activations is summed once, for 32 rows of activations side by side, in a
// table that stays in the first-level cache. Every row of weights then adds one entry where it
// would multiply four times: 128 products are two additions of 256 bits, and exact, as sums of 16
// bits hold 60 such.
#include "ternary/cpu/kernels_avx2_common.h"

namespace gpuready::ternary::kernels {
namespace {

constexpr int kRows = kLookupRows;         // of activations: two registers of 16-bit sums
constexpr int kColumns = 16, kTables = 4;  // of a block
constexpr int kEntries = 81;
constexpr size_t kEntryBytes = kRows * sizeof(int16_t);

struct alignas(64) Tables {
  int16_t columns[kColumns][kRows];  // activations
  int16_t sums[kTables][kEntries][kRows];
};

// 16 columns of 32 rows of activations, a column's rows side by side.
void turn_activations(const int8_t* y, size_t y_stride, int16_t (&columns)[kColumns][kRows]) {
  for (int half = 0; half < kRows; half += 16) {
    __m128i rows[16], next[16];
    for (int r = 0; r < 16; ++r) {
      rows[r] = _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(y + static_cast<size_t>(half + r) * y_stride));
    }
    for (int step = 0; step < 4; ++step) {
      for (int r = 0; r < 8; ++r) {
        next[2 * r] = _mm_unpacklo_epi8(rows[r], rows[r + 8]);
        next[2 * r + 1] = _mm_unpackhi_epi8(rows[r], rows[r + 8]);
      }
      for (int r = 0; r < 16; ++r) rows[r] = next[r];
    }
    for (int c = 0; c < kColumns; ++c) store(columns[c] + half, _mm256_cvtepi8_epi16(rows[c]));
  }
}

// Of the columns that a byte of packed weights holds: c0 + 3 c1 + 9 c2 + 27 c3 is the entry of the
// codes c0 to c3, and a weight is its code - 1.
void fill_table(const int16_t (&columns)[kColumns][kRows], int first,
                int16_t (&sums)[kEntries][kRows]) {
  for (int half = 0; half < kRows; half += 16) {
    __m256i y[4], least = _mm256_setzero_si256();
    for (int f = 0; f < 4; ++f) {
      y[f] = load(columns[first + 4 * f] + half);
      least = _mm256_sub_epi16(least, y[f]);
    }
    store(sums[0] + half, least);
    int filled = 1;
    for (int f = 0; f < 4; ++f, filled *= 3) {
      for (int entry = 0; entry < filled; ++entry) {
        const __m256i without = _mm256_add_epi16(load(sums[entry] + half), y[f]);
        store(sums[filled + entry] + half, without);
        store(sums[2 * filled + entry] + half, _mm256_add_epi16(without, y[f]));
      }
    }
  }
}

// Entries, times kEntryBytes / 8, of the 64 bytes that a block has of a panel: of four columns a
// row after row. A code of 3, which no weights have, is taken for 2, so that no byte leaves a
// table.
void find_entries(const uint8_t* packed, uint16_t* entries) {
  const __m256i low = _mm256_set1_epi8(0x0F);
  const __m256i pairs =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 6, 7, 8, 8));
  const __m256i nines = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 9, 18, 18, 27, 36, 45, 45, 54, 63, 72, 72, 54, 63, 72, 72));
  for (int half = 0; half < 64; half += 32) {
    const __m256i bytes = load(packed + half);
    const __m256i found = _mm256_add_epi8(
        _mm256_shuffle_epi8(pairs, _mm256_and_si256(bytes, low)),
        _mm256_shuffle_epi8(nines, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low)));
    const __m256i words[2] = {_mm256_cvtepu8_epi16(_mm256_castsi256_si128(found)),
                              _mm256_cvtepu8_epi16(_mm256_extracti128_si256(found, 1))};
    store(entries + half, _mm256_slli_epi16(words[0], 3));
    store(entries + half + 16, _mm256_slli_epi16(words[1], 3));
  }
}
static_assert(kEntryBytes / 8 == 1 << 3);

inline void add_wide(int32_t* sums, __m256i words, bool first) {
  const __m256i wide[2] = {_mm256_cvtepi16_epi32(_mm256_castsi256_si128(words)),
                           _mm256_cvtepi16_epi32(_mm256_extracti128_si256(words, 1))};
  for (int half = 0; half < 2; ++half) {
    int32_t* at = sums + 8 * half;
    store(at, first ? wide[half] : _mm256_add_epi32(load(at), wide[half]));
  }
}

// One block of all panels. Sums are begun with the first block and widened after the last.
template <bool begins, bool ends>
void add_entries(const LookupArgs& a, size_t block, const Tables& tables) {
  const char* const table = reinterpret_cast<const char*>(tables.sums);
  const uint16_t* entries = a.entries + block * a.panels * 64;
  int16_t* partial = a.partial;
  int32_t* sums = a.sums;
  for (size_t panel = 0; panel < a.panels; ++panel, entries += 64) {
    for (int row = 0; row < kPanelRows; ++row, partial += kRows, sums += kRows) {
      __m256i sum[2] = {begins ? _mm256_setzero_si256() : load(partial),
                        begins ? _mm256_setzero_si256() : load(partial + 16)};
#pragma GCC unroll 4
      for (int t = 0; t < kTables; ++t) {
        const char* entry = table + static_cast<size_t>(t) * kEntries * kEntryBytes +
                            size_t{8} * entries[kTables * row + t];
        sum[0] = _mm256_add_epi16(sum[0], load(entry));
        sum[1] = _mm256_add_epi16(sum[1], load(entry + 32));
      }
      if constexpr (ends) {
        add_wide(sums, sum[0], a.first);
        add_wide(sums + 16, sum[1], a.first);
      } else {
        store(partial, sum[0]);
        store(partial + 16, sum[1]);
      }
    }
  }
}

void multiply(const LookupArgs& a) {
  Tables tables;
  for (size_t panel = 0; panel < a.panels; ++panel) {
    for (size_t block = 0; block < a.blocks; ++block) {
      find_entries(a.packed + panel * a.panel_bytes + block * kQuadBytes,
                   a.entries + (block * a.panels + panel) * 64);
    }
  }
  for (size_t block = 0; block < a.blocks; ++block) {
    turn_activations(a.y + block * kColumns, a.y_stride, tables.columns);
    for (int t = 0; t < kTables; ++t) fill_table(tables.columns, t, tables.sums[t]);
    const bool begins = block == 0, ends = block + 1 == a.blocks;
    (begins ? ends ? add_entries<true, true> : add_entries<true, false>
     : ends ? add_entries<false, true>
            : add_entries<false, false>)(a, block, tables);
  }
}

// to[c][r] = from[r][c], 32 by 32.
void turn_sums(const int32_t* from, int32_t* to) {
  for (int r = 0; r < 32; r += 8) {
    for (int c = 0; c < 32; c += 8) {
      __m256i rows[8], pairs[8];
      for (int i = 0; i < 8; ++i) rows[i] = load(from + (r + i) * 32 + c);
      for (int i = 0; i < 4; ++i) {
        pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
          rows[4 * i + 2 * j] = _mm256_unpacklo_epi64(pairs[4 * i + j], pairs[4 * i + 2 + j]);
          rows[4 * i + 2 * j + 1] = _mm256_unpackhi_epi64(pairs[4 * i + j], pairs[4 * i + 2 + j]);
        }
      }
      for (int i = 0; i < 4; ++i) {
        store(to + (c + i) * 32 + r, _mm256_permute2x128_si256(rows[i], rows[4 + i], 0x20));
        store(to + (c + 4 + i) * 32 + r, _mm256_permute2x128_si256(rows[i], rows[4 + i], 0x31));
      }
    }
  }
}

}  // namespace

const Lookup kAvx2Lookup{multiply, turn_sums};

}  // namespace gpuready::ternary::kernels
