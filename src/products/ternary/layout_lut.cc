// A matrix is cut into tiles of bm rows by bk columns, a tile into strips of bmm rows, a strip into
// steps of columns; a step's bytes hold, for each of its rows, two indices in the two halves (the
// first in the upper). TL1 and TL2's tail have a pair of weights in an index, TL2's body three and
// a sign bit apart. The orders below are those of microsoft/BitNet
// utils/convert-hf-to-gguf-bitnet.py, process_tl1 and preprocess_{three,two}_weights_tl2.
#include "ternary/layout_lut.h"

#include <algorithm>

#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

using Index = std::size_t;

struct Tiles {
  Index rows, cols, bm, bk, bmm;
};

// Each strip of each tile: visit(first row, first column), in the order of the bytes. `first_col`
// is where the tiled columns begin.
template <class Visit>
void for_each_strip(const Tiles& t, Index first_col, Visit visit) {
  for (Index row = 0; row < t.rows; row += t.bm) {
    for (Index col = 0; col < t.cols; col += t.bk) {
      for (Index strip = 0; strip < t.bm; strip += t.bmm) visit(row + strip, first_col + col);
    }
  }
}

// TL1: visit(byte, row, column of the upper half's pair); the lower half's pair follows it.
template <class Visit>
Index visit_tl1(const Tiles& t, Index byte, Visit visit) {
  const Index step = 256 / t.bmm;  // columns
  for_each_strip(t, 0, [&](Index row, Index col) {
    for (Index k = 0; k < t.bk; k += step) {
      for (Index r = 0; r < t.bmm; r += 16) {
        for (Index quad = 0; quad < step; quad += 4) {
          for (Index lane = 0; lane < 16; ++lane) visit(byte++, row + r + lane, col + k + quad);
        }
      }
    }
  });
  return byte;
}

// In TL2 a strip has 32 rows, whose second and third groups of eight change places.
Index tl2_row(Index place) {
  constexpr Index kGroup[4] = {0, 2, 1, 3};
  return kGroup[place / 8] * 8 + place % 8;
}

// TL2's indices: visit(byte, row, first column of the upper half's weights); `weights` an index.
template <class Visit>
Index visit_tl2(const Tiles& t, Index first_col, Index weights, Index byte, Visit visit) {
  for_each_strip(t, first_col, [&](Index row, Index col) {
    for (Index k = 0; k < t.bk; k += 2 * weights) {
      for (Index place = 0; place < 32; ++place) visit(byte++, row + tl2_row(place), col + k);
    }
  });
  return byte;
}

// TL2's signs: visit(byte, bit, row, first column of the three weights). 24 columns of a strip are
// 16 words of 16 bits.
template <class Visit>
Index visit_signs(const Tiles& t, Index byte, Visit visit) {
  for_each_strip(t, 0, [&](Index row, Index col) {
    for (Index k = 0; k < t.bk; k += 24, byte += 32) {
      for (Index group = 0; group < 8; ++group) {
        for (Index r = 0; r < 32; ++r) {
          const Index bit = 15 - (2 * group + r / 16), word = r % 16;
          visit(byte + 2 * word + bit / 8, static_cast<int>(bit % 8), row + r, col + k + 3 * group);
        }
      }
    }
  });
  return byte;
}

struct Tl2 {
  Tiles three, two;
};
Tl2 tl2_tiles(Shape shape, Tiling tiling) {
  const Index rows = static_cast<Index>(shape.rows), cols = static_cast<Index>(shape.cols);
  const Index bm = static_cast<Index>(tiling.bm), bk = static_cast<Index>(tiling.bk);
  const Index tail = cols % bk;
  return {{rows, cols - tail, bm, bk, 32}, {rows, tail, bm, 32, 32}};
}
Tiles tl1_tiles(Shape shape, Tiling tiling) {
  return {static_cast<Index>(shape.rows), static_cast<Index>(shape.cols),
          static_cast<Index>(tiling.bm), static_cast<Index>(tiling.bk),
          static_cast<Index>(tiling.bmm)};
}

int pair_index(const std::int8_t* w) { return 3 * w[0] + w[1] + 4; }
int triple_value(const std::int8_t* w) { return 9 * w[0] + 3 * w[1] + w[2]; }

void put_pair(int index, std::int8_t* w) {
  w[0] = static_cast<std::int8_t>(index / 3 - 1);
  w[1] = static_cast<std::int8_t>(index % 3 - 1);
}
void put_triple(int value, std::int8_t* w) {
  const int v = value + 13;
  w[0] = static_cast<std::int8_t>(v / 9 - 1);
  w[1] = static_cast<std::int8_t>(v / 3 % 3 - 1);
  w[2] = static_cast<std::int8_t>(v % 3 - 1);
}

bool is_tl1(FormatId id) { return format(id).family == "TL1"; }

const char* misfit(FormatId id, Shape shape, Tiling t) {
  if (t.bm < 1 || t.bk < 1 || t.bmm < 1) return "its tiling is missing";
  if (shape.rows % t.bm != 0 || t.bm % t.bmm != 0) return "the rows must fill its tiles";
  if (is_tl1(id)) {
    if (t.bmm != 16 && t.bmm != 32 && t.bmm != 64) return "its strips have 16, 32 or 64 rows";
    if (t.bk % (256 / t.bmm) != 0 || shape.cols % t.bk != 0) {
      return "the columns must fill its tiles";
    }
    return nullptr;
  }
  if (t.bmm != 32) return "its strips have 32 rows";
  if (t.bk % 24 != 0 || shape.cols % t.bk % 32 != 0) {
    return "the columns must be tiles of threes and a rest of 32s";
  }
  return nullptr;
}

}  // namespace

Result<std::size_t> lut_bytes(FormatId id, Shape shape, Tiling tiling) {
  if (const char* what = misfit(id, shape, tiling)) {
    return fail(ErrorKind::wrong_size,
                std::string(format(id).name) + " cannot hold " + to_text(shape) + ": " + what);
  }
  const Index rows = static_cast<Index>(shape.rows), cols = static_cast<Index>(shape.cols);
  if (is_tl1(id)) return rows * cols / 4;
  // The converter pads to the size of a tail of 256 columns.
  const Tl2 t = tl2_tiles(shape, tiling);
  const Index used = rows * t.three.cols / 6 + rows * t.three.cols / 24 + rows * t.two.cols / 4;
  const Index padded = cols < 256 ? 0 : (cols - 256) * rows / 3 * 5 / 8 + 256 * rows / 2 * 4 / 8;
  if (padded < used) {
    return fail(ErrorKind::wrong_size, std::string(format(id).name) + " cannot hold " +
                                           to_text(shape) + ": a row has at least 256 columns");
  }
  return padded;
}

Tiling lut_tiling(FormatId id, Shape shape) {
  constexpr int kRows[] = {320, 256, 160, 128, 64, 32}, kCols[] = {128, 64, 32, 8};
  for (const int bm : kRows) {
    if (!is_tl1(id)) {
      if (misfit(id, shape, {bm, 96, 32}) == nullptr) return {bm, 96, 32};
      continue;
    }
    for (const int bk : kCols) {
      if (misfit(id, shape, {bm, bk, 32}) == nullptr) return {bm, bk, 32};
    }
  }
  return {32, is_tl1(id) ? 8 : 96, 32};  // lut_bytes() says why it does not fit
}

void write_lut(FormatId id, Shape shape, Tiling tiling, const std::int8_t* codes,
               std::uint8_t* bytes) {
  const Index cols = static_cast<Index>(shape.cols);
  const auto put_pairs = [&](Index byte, Index row, Index col) {
    const std::int8_t* w = codes + row * cols + col;
    bytes[byte] = static_cast<std::uint8_t>(pair_index(w) << 4 | pair_index(w + 2));
  };
  if (is_tl1(id)) {
    visit_tl1(tl1_tiles(shape, tiling), 0, put_pairs);
    return;
  }
  const Tl2 t = tl2_tiles(shape, tiling);
  Index byte = visit_tl2(t.three, 0, 3, 0, [&](Index at, Index row, Index col) {
    const std::int8_t* w = codes + row * cols + col;
    const int upper = std::abs(triple_value(w)), lower = std::abs(triple_value(w + 3));
    bytes[at] = static_cast<std::uint8_t>(upper << 4 | lower);
  });
  byte = visit_signs(t.three, byte, [&](Index at, int bit, Index row, Index col) {
    const int negative = triple_value(codes + row * cols + col) < 0 ? 1 : 0;
    bytes[at] = static_cast<std::uint8_t>(bytes[at] | negative << bit);
  });
  visit_tl2(t.two, t.three.cols, 2, byte, put_pairs);
}

Result<void> read_lut(FormatId id, Shape shape, Tiling tiling, const std::uint8_t* bytes,
                      std::int8_t* codes) {
  const Index cols = static_cast<Index>(shape.cols);
  bool bad = false;
  Index where = 0;
  const auto get_pairs = [&](Index byte, Index row, Index col) {
    const int upper = bytes[byte] >> 4, lower = bytes[byte] & 15;
    if (upper > 8 || lower > 8) {
      bad = true, where = byte;
      return;
    }
    put_pair(upper, codes + row * cols + col);
    put_pair(lower, codes + row * cols + col + 2);
  };
  if (is_tl1(id)) {
    visit_tl1(tl1_tiles(shape, tiling), 0, get_pairs);
  } else {
    const Tl2 t = tl2_tiles(shape, tiling);
    Index byte = visit_tl2(t.three, 0, 3, 0, [&](Index at, Index row, Index col) {
      const int upper = bytes[at] >> 4, lower = bytes[at] & 15;
      if (upper > 13 || lower > 13) {
        bad = true, where = at;
        return;
      }
      put_triple(upper, codes + row * cols + col);
      put_triple(lower, codes + row * cols + col + 3);
    });
    byte = visit_signs(t.three, byte, [&](Index at, int bit, Index row, Index col) {
      if ((bytes[at] >> bit & 1) == 0) return;
      std::int8_t* w = codes + row * cols + col;
      for (int i = 0; i < 3; ++i) w[i] = static_cast<std::int8_t>(-w[i]);
    });
    visit_tl2(t.two, t.three.cols, 2, byte, get_pairs);
  }
  if (bad) {
    return fail(ErrorKind::bad_code, std::string(format(id).name) +
                                         " does not define the index in byte " +
                                         std::to_string(where));
  }
  return {};
}

}  // namespace gpuready::ternary
