// A layout is a visitor: it calls visit(weight, byte, shift) for each weight, which both directions
// share. TQ1_0 and TQ2_0 (layout_tq.h) and TL1 and TL2 (layout_lut.h) are apart.
#include "ternary/layout.h"

#include "ternary/layout_lut.h"
#include "ternary/layout_tq.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

using Index = std::size_t;

Index qk256_row_bytes(std::int64_t cols) { return (static_cast<Index>(cols) + 255) / 256 * 64; }

template <class Visit>
void visit_planar(Index count, Index group, Visit visit) {  // group: bytes of a block
  for (Index i = 0; i < count; ++i) {
    const Index within = i % (4 * group);
    visit(i, i / (4 * group) * group + within % group, static_cast<int>(6 - 2 * (within / group)));
  }
}

template <class Visit>
void visit_four_row(Shape shape, Visit visit) {
  const Index rows = static_cast<Index>(shape.rows), cols = static_cast<Index>(shape.cols);
  for (Index row = 0; row < rows; ++row) {
    for (Index col = 0; col < cols; ++col) {
      visit(row * cols + col, row / 4 * cols + col, static_cast<int>(6 - 2 * (row % 4)));
    }
  }
}

template <class Visit>
void visit_linear(Index count, Visit visit) {
  for (Index i = 0; i < count; ++i) visit(i, i / 4, static_cast<int>(2 * (i % 4)));
}

// Blocks of 32 weights in 8 bytes, an f16 scale behind each.
template <class Visit>
void visit_inline(Index count, Visit visit) {
  for (Index i = 0; i < count; ++i)
    visit(i, i / 32 * 10 + i % 32 / 4, static_cast<int>(2 * (i % 4)));
}

// Each row begins a byte, and a block of 64 bytes.
template <class Visit>
void visit_qk256(Shape shape, Visit visit) {
  const Index rows = static_cast<Index>(shape.rows), cols = static_cast<Index>(shape.cols);
  for (Index row = 0; row < rows; ++row)
    for (Index col = 0; col < cols; ++col)
      visit(row * cols + col, row * qk256_row_bytes(shape.cols) + col / 4,
            static_cast<int>(2 * (col % 4)));
}

template <class Visit>
void visit_quarters(Index count, Visit visit) {
  const Index quarter = count / 4;
  for (Index i = 0; i < count; ++i) visit(i, i % quarter, static_cast<int>(2 * (i / quarter)));
}

template <class Visit>
void visit_w2a8(Shape shape, Visit visit) {
  const Index rows = static_cast<Index>(shape.rows), cols = static_cast<Index>(shape.cols);
  Index word = 0;
  for (Index row_tile = 0; row_tile < rows; row_tile += 16) {
    for (Index col_tile = 0; col_tile < cols; col_tile += 32) {
      // A tile is 16 x 32 places, read as 32 words of 16 codes. A place holds the weight that a
      // thread of the matrix instruction loads.
      for (Index place = 0; place < 512; ++place) {
        const Index thread = place / 16;
        const Index row = thread / 16 * 8 + thread % 8;
        const Index col = place % 16 + 16 * (thread % 16 / 8);
        const Index offset = place % 16;
        const Index shift = offset % 4 * 8 + offset / 4 * 2;
        visit((row_tile + row) * cols + col_tile + col, 4 * (word + place / 16) + shift / 8,
              static_cast<int>(shift % 8));
      }
      word += 32;
    }
  }
}

template <class Visit>
void visit_two_bit(FormatId id, Shape shape, Visit visit) {
  const Index count = static_cast<Index>(shape.rows * shape.cols);
  switch (id) {
    case FormatId::i2s_x86:
      return visit_planar(count, 32, visit);
    case FormatId::i2s_arm:
      return visit_planar(count, 16, visit);
    case FormatId::i2s_four_row:
      return visit_four_row(shape, visit);
    case FormatId::w2a8_gpu:
      return visit_w2a8(shape, visit);
    case FormatId::i2s_bitnet_rs_inline:
      return visit_inline(count, visit);
    case FormatId::i2s_qk256:
      return visit_qk256(shape, visit);
    case FormatId::bitnet_hf:
      return visit_quarters(count, visit);
    default:
      return visit_linear(count, visit);
  }
}

// The two bits of w = -1, 0, +1, and back; 2 marks bits that the format does not define.
struct Bits {
  std::uint8_t of_code[3];
  std::array<std::int8_t, 4> code_of;
};
Bits bits_of(FormatId id) {
  if (id == FormatId::i2s_bitnet_rs) return {{3, 0, 1}, {0, 1, 2, -1}};
  switch (id) {
    case FormatId::w2a8_gpu:
    case FormatId::i2s_bitnet_rs_split:
    case FormatId::i2s_bitnet_rs_inline:
      return {{1, 2, 3}, {2, -1, 0, 1}};
    default:
      return {{0, 1, 2}, {-1, 0, 1, 2}};
  }
}

std::string multiple(const Format& f, Shape shape, const char* what) {
  return std::string(f.name) + " cannot hold " + to_text(shape) + ": " + what;
}

}  // namespace

Result<EncodedSize> encoded_size(FormatId id, Shape shape, Tiling tiling) {
  const auto count = TRY(elements(shape));
  const Format& f = format(id);
  if (f.id != id) return fail(ErrorKind::unknown_format, "no format has this number");
  const auto reject = [&](const char* what) {
    return fail(ErrorKind::wrong_size, multiple(f, shape, what));
  };
  EncodedSize size;
  switch (id) {
    case FormatId::i2s_x86:
      if (count % 128 != 0) return reject("the weights must fill whole blocks of 128");
      break;
    case FormatId::i2s_arm:
      if (count % 64 != 0) return reject("the weights must fill whole blocks of 64");
      break;
    case FormatId::i2s_four_row:
      if (shape.rows % 4 != 0) return reject("the rows must come in fours");
      break;
    case FormatId::tq1_0:
    case FormatId::tq2_0:
      if (shape.cols % 256 != 0) return reject("a row must be whole blocks of 256");
      size.bytes = count / kTqBlock * block_bytes(f);
      size.code_bytes = size.bytes;
      return size;
    case FormatId::i2s_bitnet_rs_inline:
      if (count % 32 != 0) return reject("the weights must fill whole blocks of 32");
      size.bytes = size.code_bytes = count / 32 * block_bytes(f);
      return size;
    case FormatId::i2s_qk256:
      size.bytes = size.code_bytes = static_cast<Index>(shape.rows) * qk256_row_bytes(shape.cols);
      return size;
    case FormatId::bitnet_hf:
      if (shape.rows % 4 != 0) return reject("the rows must come in fours");
      break;
    case FormatId::w2a8_gpu:
      if (shape.rows % 16 != 0 || shape.cols % 32 != 0) return reject("its tiles are 16 x 32");
      break;
    case FormatId::tl1_bitnet_cpp:
    case FormatId::tl1_bitnet_cpp_setup:
    case FormatId::tl2_bitnet_cpp: {
      const auto bytes = TRY(lut_bytes(id, shape, tiling));
      return EncodedSize{bytes, bytes, 1};
    }
    default:
      break;
  }
  size.code_bytes = (count + 3) / 4;
  size.bytes = size.code_bytes + (f.scales_inside ? 32 : 0);
  if (!f.scales_inside) {
    const std::size_t block = static_cast<std::size_t>(f.scale_block);
    size.scales = block == 0 ? 1 : (count + block - 1) / block;
  }
  return size;
}

Tiling fitting_tiling(FormatId id, Shape shape) {
  return format(id).needs_tiling ? lut_tiling(id, shape) : Tiling{};
}

std::size_t first_undefined(const std::int8_t* codes, std::size_t count) {
  const auto undefined = [](std::int8_t code) { return static_cast<std::uint8_t>(code + 1) > 2; };
  constexpr std::size_t kStep = 64;  // by vectors; the place is looked for once there is one
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    std::uint8_t any = 0;
    for (std::size_t j = 0; j < kStep; ++j) any |= undefined(codes[i + j]) ? 1 : 0;
    if (any != 0) break;
  }
  while (i < count && !undefined(codes[i])) ++i;
  return i;
}

std::array<std::int8_t, 4> weights_of_bits(FormatId id) { return bits_of(id).code_of; }

std::size_t plane_width(FormatId id, Shape shape) {
  switch (id) {
    case FormatId::i2s_x86:
      return 32;
    case FormatId::i2s_arm:
      return 16;
    case FormatId::i2s_four_row:
      return static_cast<std::size_t>(shape.cols);
    default:
      return 0;
  }
}

void write_codes(FormatId id, Shape shape, Tiling tiling, const std::int8_t* codes,
                 std::uint8_t* bytes) {
  const Index tq_blocks = static_cast<Index>(shape.rows * shape.cols) / kTqBlock;
  if (id == FormatId::tq1_0) return write_tq1(tq_blocks, codes, bytes);
  if (id == FormatId::tq2_0) return write_tq2(tq_blocks, codes, bytes);
  if (format(id).needs_tiling) return write_lut(id, shape, tiling, codes, bytes);
  if (format(id).four_levels) {
    return visit_two_bit(id, shape, [&](Index i, Index byte, int shift) {
      bytes[byte] = static_cast<std::uint8_t>(bytes[byte] | codes[i] << shift);
    });
  }
  const Bits bits = bits_of(id);
  visit_two_bit(id, shape, [&](Index i, Index byte, int shift) {
    bytes[byte] = static_cast<std::uint8_t>(bytes[byte] | bits.of_code[codes[i] + 1] << shift);
  });
}

Result<void> read_codes(FormatId id, Shape shape, Tiling tiling, const std::uint8_t* bytes,
                        std::int8_t* codes) {
  const Index count = static_cast<Index>(shape.rows * shape.cols);
  const auto undefined = [&](Index weight) {
    return fail(ErrorKind::bad_code, std::string(format(id).name) +
                                         " does not define the bits of weight " +
                                         std::to_string(weight));
  };
  if (id == FormatId::tq1_0) {
    read_tq1(count / kTqBlock, bytes, codes);
    return {};
  }
  if (id == FormatId::tq2_0) {
    read_tq2(count / kTqBlock, bytes, codes);
    const Index bad = first_undefined(codes, count);
    if (bad != count) return undefined(bad);
    return {};
  }
  if (format(id).needs_tiling) return read_lut(id, shape, tiling, bytes, codes);
  if (format(id).four_levels) {
    visit_two_bit(id, shape, [&](Index i, Index byte, int shift) {
      codes[i] = static_cast<std::int8_t>(bytes[byte] >> shift & 3);
    });
    return {};
  }
  const Bits bits = bits_of(id);
  bool bad = false;
  Index where = 0;
  visit_two_bit(id, shape, [&](Index i, Index byte, int shift) {
    codes[i] = bits.code_of[bytes[byte] >> shift & 3];
    if (codes[i] == 2) bad = true, where = i;
  });
  if (bad) return undefined(where);
  return {};
}

}  // namespace gpuready::ternary
