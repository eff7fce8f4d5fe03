// Bits, comparisons, predicates, and moves that take values apart.
#include <algorithm>

#include "operations.h"

namespace ptx {
namespace {

template <class T>
T shift_left(T a, u32 by) {
  return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<Bits<T>>(a) << by);
}
template <class T>
T shift_right(T a, u32 by) {
  const u32 most = sizeof(T) * 8;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, most - 1));
  return by >= most ? T{0} : static_cast<T>(a >> by);
}

template <class T>
After bit_field(Warp& w, const Instruction& i) {
  T* d = w.at<T>(i.operands[0]);
  const T* a = w.at<T>(i.operands[1]);
  const u32* at = w.at<u32>(i.operands[2]);
  const u32* count = w.at<u32>(i.operands[3]);
  constexpr u32 kBits = sizeof(T) * 8;
  each_lane(w.mask, [&](u32 l) {
    const u32 first = at[l] & 255, length = count[l] & 255;
    T value = shift_right(a[l], first);
    if (length == 0) {
      value = 0;
    } else if (first + length <= kBits) {
      value = shift_left(value, kBits - length);
      value = shift_right(value, kBits - length);
    }
    d[l] = value;
  });
  return After::next;
}

After select_bytes(Warp& w, const Instruction& i) {  // prmt
  u32* d = w.at<u32>(i.operands[0]);
  const u32 *a = w.at<u32>(i.operands[1]), *b = w.at<u32>(i.operands[2]),
            *c = w.at<u32>(i.operands[3]);
  each_lane(w.mask, [&](u32 l) {
    const u64 bytes = u64{b[l]} << 32 | a[l];
    u32 value = 0;
    for (u32 k = 0; k < 4; ++k) {
      const u32 choice = c[l] >> 4 * k;
      u32 byte = static_cast<u32>(bytes >> (choice & 7) * 8) & 255;
      if (choice & 8) byte = byte & 128 ? 255 : 0;
      value |= byte << 8 * k;
    }
    d[l] = value;
  });
  return After::next;
}

template <class A, class B>
After dot_of_four(Warp& w, const Instruction& i) {  // dp4a
  u32* d = w.at<u32>(i.operands[0]);
  const u32 *a = w.at<u32>(i.operands[1]), *b = w.at<u32>(i.operands[2]),
            *c = w.at<u32>(i.operands[3]);
  each_lane(w.mask, [&](u32 l) {
    i32 sum = 0;
    for (u32 k = 0; k < 32; k += 8) sum += static_cast<A>(a[l] >> k) * static_cast<B>(b[l] >> k);
    d[l] = c[l] + static_cast<u32>(sum);
  });
  return After::next;
}

template <class T, auto kOp>
After compare(Warp& w, const Instruction& i) {
  const T* a = w.at<T>(i.operands[1]);
  const T* b = w.at<T>(i.operands[2]);
  u32 bits = 0;
  for (u32 l = 0; l < kLanes; ++l) bits |= static_cast<u32>(kOp(a[l], b[l])) << l;
  u32& d = w.predicate(i.operands[0]);
  d = (d & ~w.mask) | (bits & w.mask);
  return After::next;
}
template <class T>
Handler comparison(std::string_view op) {
  // An unordered comparison is true for a NaN; an ordered one is not.
  if (op == "eq") return &compare<T, [](T a, T b) { return a == b; }>;
  if (op == "ne") return &compare<T, [](T a, T b) { return a < b || b < a; }>;
  if (op == "lt" || op == "lo") return &compare<T, [](T a, T b) { return a < b; }>;
  if (op == "le" || op == "ls") return &compare<T, [](T a, T b) { return a <= b; }>;
  if (op == "gt" || op == "hi") return &compare<T, [](T a, T b) { return b < a; }>;
  if (op == "ge" || op == "hs") return &compare<T, [](T a, T b) { return b <= a; }>;
  if (op == "equ") return &compare<T, [](T a, T b) { return !(a < b || b < a); }>;
  if (op == "neu") return &compare<T, [](T a, T b) { return a != b; }>;
  if (op == "ltu") return &compare<T, [](T a, T b) { return !(b <= a); }>;
  if (op == "leu") return &compare<T, [](T a, T b) { return !(b < a); }>;
  if (op == "gtu") return &compare<T, [](T a, T b) { return !(a <= b); }>;
  if (op == "geu") return &compare<T, [](T a, T b) { return !(a < b); }>;
  return nullptr;
}

template <class T>
After select(Warp& w, const Instruction& i) {
  T* d = w.at<T>(i.operands[0]);
  const T* a = w.at<T>(i.operands[1]);
  const T* b = w.at<T>(i.operands[2]);
  const u32 p = w.predicate(i.operands[3]);
  each_lane(w.mask, [&](u32 l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
  return After::next;
}

template <auto kOp>
After predicates(Warp& w, const Instruction& i) {
  const u32 a = w.predicate(i.operands[1]), b = w.predicate(i.operands.back());
  u32& d = w.predicate(i.operands[0]);
  d = (d & ~w.mask) | (kOp(a, b) & w.mask);
  return After::next;
}

// A multiprocessor starts as many instructions a cycle as the real ones do.
After clock(Warp& w, const Instruction& i) {
  constexpr u64 kSchedulers = 4;
  u64* d = w.at<u64>(i.operands[0]);
  each_lane(w.mask, [&](u32 l) { d[l] = w.block->instructions / kSchedulers; });
  return After::next;
}

// mov between a register and its parts: the narrow ones first to last.
template <class Whole, class Part>
After join(Warp& w, const Instruction& i) {
  Whole* d = w.at<Whole>(i.operands[0]);
  each_lane(w.mask, [&](u32 l) {
    Whole value = 0;
    for (u32 k = 0; k < sizeof(Whole) / sizeof(Part); ++k)
      value |= static_cast<Whole>(static_cast<Whole>(w.at<Part>(i.operands[1 + k])[l])
                                  << k * sizeof(Part) * 8);
    d[l] = value;
  });
  return After::next;
}
template <class Whole, class Part>
After take_apart(Warp& w, const Instruction& i) {
  const Whole* a = w.at<Whole>(i.operands.back());
  each_lane(w.mask, [&](u32 l) {
    const Whole value = a[l];
    for (u32 k = 0; k < sizeof(Whole) / sizeof(Part); ++k)
      w.at<Part>(i.operands[k])[l] = static_cast<Part>(value >> k * sizeof(Part) * 8);
  });
  return After::next;
}

// The whole's operand, then its parts.
bool make_parts(Builder& b, const Statement& s, Instruction& i, u32 whole_bytes) {
  const std::size_t parts = s.operands.size() - 1;
  const auto part_bytes = static_cast<u32>(whole_bytes / parts);
  const bool joins = b.register_bytes(s.operands[0]) == whole_bytes;
  for (std::size_t k = 0; k <= parts; ++k)
    i.operands.push_back(
        b.place(s.operands[k], (joins ? k == 0 : k == parts) ? whole_bytes : part_bytes));
  if (whole_bytes == 8 && part_bytes == 4)
    i.run = joins ? &join<u64, u32> : &take_apart<u64, u32>;
  else if (whole_bytes == 8 && part_bytes == 2)
    i.run = joins ? &join<u64, u16> : &take_apart<u64, u16>;
  else if (whole_bytes == 4 && part_bytes == 2)
    i.run = joins ? &join<u32, u16> : &take_apart<u32, u16>;
  return i.run != nullptr;
}

bool make_shift(Builder& b, const Statement& s, Instruction& i) {
  const bool left = s.opcode[0] == "shl";
  i.run = by_type(s.opcode.back(), [&](auto t) -> Handler {
    using T = decltype(t);
    if constexpr (kIsFloat<T>)
      return nullptr;
    else
      return left ? Handler{&binary<T, shift_left<T>, u32>} : &binary<T, shift_right<T>, u32>;
  });
  const u32 bytes = bytes_of(s.opcode.back());
  i.operands = {b.place(s.operands[0], bytes), b.place(s.operands[1], bytes),
                b.place(s.operands[2], 4)};
  return i.run != nullptr;
}

bool make_predicates(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0];
  if (op == "and")
    i.run = &predicates<[](u32 x, u32 y) { return x & y; }>;
  else if (op == "or")
    i.run = &predicates<[](u32 x, u32 y) { return x | y; }>;
  else if (op == "xor")
    i.run = &predicates<[](u32 x, u32 y) { return x ^ y; }>;
  else if (op == "not")
    i.run = &predicates<[](u32 x, u32) { return ~x; }>;
  else if (op == "mov")
    i.run = &predicates<[](u32 x, u32) { return x; }>;
  else
    return false;
  for (const Operand& operand : s.operands) i.operands.push_back(b.predicate(operand));
  return true;
}

bool make_setp(Builder& b, const Statement& s, Instruction& i) {
  if (s.opcode.size() != 3) return false;
  i.run = by_type(s.opcode[2], [&](auto t) { return comparison<decltype(t)>(s.opcode[1]); });
  const u32 bytes = bytes_of(s.opcode[2]);
  i.operands = {b.predicate(s.operands[0]), b.place(s.operands[1], bytes),
                b.place(s.operands[2], bytes)};
  return i.run != nullptr;
}

bool make_selp(Builder& b, const Statement& s, Instruction& i) {
  const u32 bytes = bytes_of(s.opcode[1]);
  i.run = by_type(s.opcode[1], [](auto t) -> Handler { return &select<Bits<decltype(t)>>; });
  for (u32 k = 0; k < 3; ++k) i.operands.push_back(b.place(s.operands[k], bytes));
  i.operands.push_back(b.predicate(s.operands[3]));
  return true;
}

bool make_bfe(Builder& b, const Statement& s, Instruction& i) {
  i.run = by_type(s.opcode[1], [](auto t) -> Handler {
    if constexpr (kIsFloat<decltype(t)>)
      return nullptr;
    else
      return &bit_field<decltype(t)>;
  });
  const u32 bytes = bytes_of(s.opcode[1]);
  i.operands = {b.place(s.operands[0], bytes), b.place(s.operands[1], bytes),
                b.place(s.operands[2], 4), b.place(s.operands[3], 4)};
  return i.run != nullptr;
}

After shift_both(Warp& w, const Instruction& i) {  // shf.l.wrap
  u32* d = w.at<u32>(i.operands[0]);
  const u32 *low = w.at<u32>(i.operands[1]), *high = w.at<u32>(i.operands[2]),
            *by = w.at<u32>(i.operands[3]);
  each_lane(w.mask, [&](u32 l) {
    d[l] = static_cast<u32>((u64{high[l]} << 32 | low[l]) << (by[l] & 31) >> 32);
  });
  return After::next;
}

Handler of_four(const Statement& s) {
  const auto op = s.opcode[0];
  if (op == "prmt" && s.opcode.size() == 2) return &select_bytes;
  if (op == "shf" && s.has("l") && s.has("wrap")) return &shift_both;
  if (op != "dp4a") return nullptr;
  if (s.opcode[1] == "s32")
    return s.opcode[2] == "s32" ? &dot_of_four<i8, i8> : &dot_of_four<i8, u8>;
  return s.opcode[2] == "s32" ? &dot_of_four<u8, i8> : &dot_of_four<u8, u8>;
}

}  // namespace

bool make_bits(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0], type = s.opcode.back();
  if (type == "pred") return make_predicates(b, s, i);
  if (op == "mov" && s.operands.back().text == "%clock64") {
    i.run = &clock;
    i.operands = {b.place(s.operands[0], 8)};
    return true;
  }
  if (op == "mov" && s.operands.size() > 2) return make_parts(b, s, i, bytes_of(type));
  if (op == "shl" || op == "shr") return make_shift(b, s, i);
  if (op == "setp") return make_setp(b, s, i);
  if (op == "selp") return make_selp(b, s, i);
  if (op == "bfe") return make_bfe(b, s, i);
  return s.operands.size() == 4 && all_of_one_size(b, s, i, of_four(s), 4);
}

}  // namespace ptx
