// Matrix instructions of a warp: mma.sync, ldmatrix, stmatrix. Layouts are those of the PTX ISA,
// "Matrix fragments for mma".
#include <algorithm>
#include <iterator>
#include <span>

#include "machine.h"
#include "matrix_values.h"

namespace ptx {
namespace {

using namespace matrix;

// ---- mma.sync ----

struct Form {
  std::string_view opcode;
  u32 rows, columns, row_bytes;  // of all products of one instruction; row_bytes: its depth
  u32 products;
  Handler run;

  u32 a_registers() const { return rows * row_bytes / 4 / kLanes; }
  u32 b_registers() const { return columns * row_bytes / 4 / kLanes; }
  u32 results() const { return rows * columns / products / kLanes; }
};
const Form& form_of(const Instruction& instruction);

template <class A, class B, class Layout>
After run_mma(Warp& warp, const Instruction& instruction) {
  check_whole(warp);
  const Form& form = form_of(instruction);
  const u32 results = form.results();
  const u32* const d = instruction.operands.data();
  const u32 *const a = d + results, *const b = a + form.a_registers(),
                   *const c = b + form.b_registers();
  Product<A, B> product;
  gather<Layout>(warp, a, form.rows, form.row_bytes, product.a);
  gather<Layout>(warp, b, form.columns, form.row_bytes, product.b);
  product.multiply(form.rows, form.columns, form.row_bytes);
  // All are read before any is written: registers may be among both.
  constexpr u32 kMaxResults = 8;
  u32 values[kMaxResults][kLanes];
  for (u32 i = 0; i < results; ++i)
    for (u32 lane = 0; lane < kLanes; ++lane)
      values[i][lane] = plus(warp.at<u32>(c[i])[lane], product.sum(Layout::result(lane, i)));
  for (u32 i = 0; i < results; ++i) std::memcpy(warp.at<u32>(d[i]), values[i], sizeof values[i]);
  return After::next;
}

template <class A, class B = A, class Layout = Quads>
constexpr Form form(std::string_view opcode, u32 rows, u32 columns, u32 row_bytes) {
  return {opcode,    Layout::kProducts * rows, Layout::kProducts * columns,
          row_bytes, Layout::kProducts,        run_mma<A, B, Layout>};
}
constexpr Form kForms[] = {
    form<S8>("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32),
    form<U8, S8>("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 16, 8, 32),
    form<S8>("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16),
    form<Bf16>("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 32),
    form<F16>("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 32),
    form<F16>("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16),
    form<Tf32>("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32),
    form<E4m3>("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32),
    form<E5m2>("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 8, 32),
    form<F16, F16, QuadPairs>("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 8, 8, 8),
};
const Form& form_of(const Instruction& instruction) { return kForms[instruction.immediate]; }

void make_mma(Builder& builder, const Statement& statement, Instruction& instruction) {
  const std::string name = name_of(statement);
  for (u32 i = 0; i < std::size(kForms); ++i) {
    const Form& form = kForms[i];
    if (form.opcode != name) continue;
    if (statement.operands.size() != 2 * form.results() + form.a_registers() + form.b_registers())
      throw Fault(name + ": the number of operands is another");
    for (const Operand& operand : statement.operands)
      instruction.operands.push_back(builder.place(operand, 4));
    instruction.immediate = i;
    instruction.run = form.run;
    return;
  }
  throw Fault(name + " is not among the matrix products known");
}

// ---- ldmatrix, stmatrix ----

constexpr u32 kMatrixRowBytes = 16;

// Where an element of a matrix of 8 by 8 is: each lane has two of a row, or of a column.
template <bool kTransposed>
Spot half_spot(u32 lane, u32 half) {
  const u32 own = lane / 4, of_two = lane % 4 * 2 + half;
  return kTransposed ? Spot{of_two, own} : Spot{own, of_two};
}

// The operands are the registers, one for each matrix, and then the address, whose bytes the
// immediate tells. Lane 8 i + r has the address of row r of matrix i.
template <bool kStore, bool kTransposed>
After move_matrices(Warp& warp, const Instruction& instruction) {
  check_whole(warp);
  const u32 matrices = static_cast<u32>(instruction.operands.size()) - 1;
  const u32 place = instruction.operands.back();
  u8* rows[kLanes];
  for (u32 i = 0; i < 8 * matrices; ++i) {
    const u64 base = instruction.immediate == 8 ? warp.at<u64>(place)[i] : warp.at<u32>(place)[i];
    const u64 address = base + static_cast<u64>(instruction.displacements[0]);
    // Beyond 32 bits it is a wrong one, as the last of 32 bits is, which is not aligned.
    rows[i] =
        warp.block->in_shared(static_cast<u32>(std::min(address, u64{~u32{0}})), kMatrixRowBytes);
  }
  for (u32 m = 0; m < matrices; ++m) {
    u32* const words = warp.at<u32>(instruction.operands[m]);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      u16 halves[2];
      if (kStore) std::memcpy(halves, &words[lane], sizeof halves);
      for (u32 half = 0; half < 2; ++half) {
        const Spot spot = half_spot<kTransposed>(lane, half);
        u8* const element = rows[8 * m + spot.row] + spot.column * sizeof(u16);
        if (kStore)
          std::memcpy(element, &halves[half], sizeof(u16));
        else
          std::memcpy(&halves[half], element, sizeof(u16));
      }
      if (!kStore) std::memcpy(&words[lane], halves, sizeof halves);
    }
  }
  return After::next;
}

struct Move {
  std::string_view opcode;
  u32 matrices;
  Handler run;
};
constexpr Move kMoves[] = {
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1, move_matrices<false, false>},
    {"ldmatrix.sync.aligned.m8n8.x2.shared.b16", 2, move_matrices<false, false>},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4, move_matrices<false, false>},
    {"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, move_matrices<false, true>},
    {"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, move_matrices<false, true>},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, move_matrices<false, true>},
    {"stmatrix.sync.aligned.m8n8.x1.shared.b16", 1, move_matrices<true, false>},
    {"stmatrix.sync.aligned.m8n8.x2.shared.b16", 2, move_matrices<true, false>},
    {"stmatrix.sync.aligned.m8n8.x4.shared.b16", 4, move_matrices<true, false>},
    {"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, move_matrices<true, true>},
    {"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, move_matrices<true, true>},
    {"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, move_matrices<true, true>},
};

void make_move(Builder& builder, const Statement& statement, Instruction& instruction) {
  const std::string name = name_of(statement);
  for (const Move& move : kMoves) {
    if (move.opcode != name) continue;
    const std::span<const Operand> operands = statement.operands;
    if (operands.size() != move.matrices + 1)
      throw Fault(name + ": the number of operands is another");
    // The address comes first where memory is written.
    const bool store = name.starts_with("st");
    const Operand& address = store ? operands.front() : operands.back();
    for (const Operand& operand : operands.subspan(store ? 1 : 0, move.matrices))
      instruction.operands.push_back(builder.place(operand, 4));
    instruction.operands.push_back(builder.address(address, instruction));
    instruction.immediate = builder.address_bytes(address);
    instruction.run = move.run;
    return;
  }
  throw Fault(name + " is not among the moves of matrices known");
}

}  // namespace

bool make_matrix(Builder& builder, const Statement& statement, Instruction& instruction) {
  const std::string_view kind = statement.opcode.front();
  if (kind == "mma")
    make_mma(builder, statement, instruction);
  else if (kind == "ldmatrix" || kind == "stmatrix")
    make_move(builder, statement, instruction);
  else
    return make_wgmma(builder, statement, instruction);
  return true;
}

}  // namespace ptx
