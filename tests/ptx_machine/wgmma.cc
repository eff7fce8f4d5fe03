// Asynchronous matrix products of four warps (Hopper). Each warp multiplies its own 16 of the 64
// rows of A; nothing happens before the wait for it.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "machine.h"
#include "matrix_values.h"

namespace ptx::matrix {
namespace {

constexpr u32 kWarpRows = 16, kWarps = 4;
constexpr u32 kRowBytes = 32;    // the depth of every form
constexpr u32 kARegisters = 4;   // or one descriptor
constexpr u32 kPieceBytes = 16;  // what the swizzle moves
constexpr u32 kSwizzleBytes = 128, kGroupRows = 8, kGroupBytes = kSwizzleBytes * kGroupRows;

// ---- operands in shared memory ----

// The fields of a descriptor, which is of 128-byte swizzle and K-major; or Fault.
struct Descriptor {
  u32 start, stride;  // from one group of 8 rows to the next

  explicit Descriptor(u64 bits) {
    const auto field = [&](u32 first, u32 count) {
      return static_cast<u32>(bits >> first & ((u64{1} << count) - 1));
    };
    start = field(0, 14) << 4;
    stride = field(32, 14) << 4;
    const auto want = [&](bool right, const char* what) {
      if (!right) throw Fault(std::string("a descriptor of wgmma with a ") + what);
    };
    want(field(62, 2) == 1, "swizzle mode that is not that of 128 bytes");
    want(field(49, 3) == 0, "base offset");
    want((bits & 0x3ff1'c000'c000'c000) == 0, "bit that has no meaning");
    want(stride % kGroupBytes == 0, "stride byte offset that is not of groups of 8 rows");
    want(start % kGroupBytes + kRowBytes <= kSwizzleBytes,
         "start address that is not in the first of 8 rows");
  }

  // Copies rows from `first` on.
  void gather(Block& block, u32 first, u32 rows, u8 (*to)[kMaxRowBytes]) const {
    for (u32 r = 0; r < rows; ++r) {
      const u32 row = first + r;
      for (u32 byte = 0; byte < kRowBytes; byte += kPieceBytes) {
        const u32 plain =
            start + row % kGroupRows * kSwizzleBytes + row / kGroupRows * stride + byte;
        const u32 swizzled = plain ^ plain / kSwizzleBytes % kGroupRows * kPieceBytes;
        std::memcpy(&to[r][byte], block.in_shared(swizzled, kPieceBytes), kPieceBytes);
      }
    }
  }
};

// ---- the product ----

struct Form {
  std::string_view opcode;
  u32 columns;
  u32 choices;  // immediates after the predicate
  void (*multiply)(Warp&, const PendingProduct&);

  u32 results() const { return columns / 2; }
};
const Form& form_of(const Instruction& instruction);
// A in registers, or in shared memory.
bool has_registers(const Instruction& instruction) {
  return instruction.operands.size() == form_of(instruction).results() + kARegisters + 2;
}

template <class Type>
void multiply(Warp& warp, const PendingProduct& pending) {
  const Instruction& instruction = *pending.instruction;
  const u32 columns = form_of(instruction).columns, results = form_of(instruction).results();
  Product<Type, Type> product;
  if (has_registers(instruction))
    gather<Quads>(warp, &instruction.operands[results], kWarpRows, kRowBytes, product.a);
  else
    Descriptor(pending.a).gather(*warp.block, warp.index % kWarps * kWarpRows, kWarpRows,
                                 product.a);
  Descriptor(pending.b).gather(*warp.block, 0, columns, product.b);
  product.multiply(kWarpRows, columns, kRowBytes);
  for (u32 i = 0; i < results; ++i) {
    u32* const d = warp.at<u32>(instruction.operands[i]);
    for (u32 lane = 0; lane < kLanes; ++lane)
      d[lane] = plus(pending.add ? d[lane] : 0, product.sum(Quads::result(lane, i)));
  }
}

constexpr Form kForms[] = {
    {"wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8", 32, 0, multiply<S8>},
    {"wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", 64, 0, multiply<S8>},
    {"wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8", 96, 0, multiply<S8>},
    {"wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8", 128, 0, multiply<S8>},
    {"wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", 256, 0, multiply<S8>},
    {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", 256, 4, multiply<Bf16>},
    {"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", 256, 4, multiply<F16>},
    {"wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", 256, 2, multiply<Tf32>},
    {"wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", 256, 2, multiply<E4m3>},
    {"wgmma.mma_async.sync.aligned.m64n256k32.f32.e5m2.e5m2", 256, 2, multiply<E5m2>},
};
const Form& form_of(const Instruction& instruction) { return kForms[instruction.immediate]; }

// ---- instructions ----

// What all lanes have; looked at now, so that the fault is this instruction's.
u64 descriptor_of(Warp& warp, u32 place) {
  const u64* const values = warp.at<u64>(place);
  if (!std::all_of(values, values + kLanes, [&](u64 value) { return value == values[0]; }))
    throw Fault("lanes with different descriptors of wgmma");
  static_cast<void>(Descriptor(values[0]));
  return values[0];
}

// The operands are accumulators, A, B, and whether to add.
After issue(Warp& warp, const Instruction& instruction) {
  check_whole(warp);
  const auto& operands = instruction.operands;
  const u32 add = warp.predicate(operands.back());
  if (add != 0 && add != kAllLanes) throw Fault("lanes of wgmma that add and some that do not");
  PendingProduct pending;
  pending.instruction = &instruction;
  pending.add = add != 0;
  pending.group = warp.product_group;
  const std::size_t b = operands.size() - 2;
  pending.b = descriptor_of(warp, operands[b]);
  if (!has_registers(instruction)) pending.a = descriptor_of(warp, operands[b - 1]);
  warp.products.push_back(pending);
  return After::next;
}

After commit(Warp& warp, const Instruction&) {
  check_whole(warp);
  ++warp.product_group;
  return After::next;
}

// The immediate: how many of the groups committed last may stay pending.
After wait(Warp& warp, const Instruction& instruction) {
  check_whole(warp);
  auto& products = warp.products;
  const auto left = std::find_if(products.begin(), products.end(), [&](const PendingProduct& p) {
    return u64{p.group} + instruction.immediate >= warp.product_group;
  });
  for (auto product = products.begin(); product != left; ++product)
    form_of(*product->instruction).multiply(warp, *product);
  products.erase(products.begin(), left);
  return After::next;
}

// What is done at the wait has nothing to be kept apart from.
After fence(Warp& warp, const Instruction&) {
  check_whole(warp);
  return After::next;
}

void make_product(Builder& builder, const Statement& statement, Instruction& instruction) {
  const std::string name = name_of(statement);
  const auto* const form =
      std::find_if(std::begin(kForms), std::end(kForms),
                   [&](const Form& candidate) { return candidate.opcode == name; });
  if (form == std::end(kForms)) throw Fault(name + " is not among the products known");
  const auto& operands = statement.operands;
  const std::size_t results = form->results();
  const bool registers =
      operands.size() > results && builder.register_bytes(operands[results]) == 4;
  const std::size_t b = results + (registers ? kARegisters : 1), add = b + 1;
  if (operands.size() != add + 1 + form->choices)
    throw Fault(name + ": the number of operands is another");

  for (std::size_t i = 0; i < add; ++i)
    instruction.operands.push_back(
        builder.place(operands[i], i < results || (registers && i < b) ? 4 : 8));
  instruction.operands.push_back(builder.predicate(operands[add]));
  // Factors of A and B, then whether they are transposed.
  constexpr std::string_view kChoices[] = {"1", "1", "0", "0"};
  for (std::size_t i = 0; i < form->choices; ++i)
    if (operands[add + 1 + i].text != kChoices[i])
      throw Fault(name + " that negates or transposes an operand");
  instruction.immediate = static_cast<u32>(form - std::begin(kForms));
  instruction.run = issue;
}

void make_wait(Builder&, const Statement& statement, Instruction& instruction) {
  const auto text = statement.operands.size() == 1 ? statement.operands[0].text : "";
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, instruction.immediate);
  if (error != std::errc() || last != end) throw Fault(name_of(statement) + " wants a number");
  instruction.run = wait;
}

struct Kind {
  std::string_view name;  // the second part of the opcode
  void (*make)(Builder&, const Statement&, Instruction&);
};
constexpr Kind kKinds[] = {
    {"mma_async", make_product},
    {"wait_group", make_wait},
    {"commit_group",
     [](Builder&, const Statement&, Instruction& instruction) { instruction.run = commit; }},
    {"fence",
     [](Builder&, const Statement&, Instruction& instruction) { instruction.run = fence; }},
};

}  // namespace

bool make_wgmma(Builder& builder, const Statement& statement, Instruction& instruction) {
  if (statement.opcode.front() != "wgmma") return false;
  for (const Kind& kind : kKinds)
    if (statement.opcode.size() > 1 && statement.opcode[1] == kind.name) {
      kind.make(builder, statement, instruction);
      return true;
    }
  throw Fault(name_of(statement) + " is not among the wgmma known");
}

}  // namespace ptx::matrix
