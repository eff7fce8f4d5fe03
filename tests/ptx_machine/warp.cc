// What the lanes of a warp, or the warps of a block, do together.
#include <algorithm>

#include "lanes.h"

namespace ptx {
namespace {

// Whether the lanes that are to take part are here; those that have left are not awaited.
bool all_here(const Warp& w, u32 members) { return (members & w.alive & ~w.mask) == 0; }

// What all lanes have alike.
u32 any(Warp& w, u32 place) { return w.at<u32>(place)[static_cast<u32>(__builtin_ctz(w.mask))]; }

u32 members_of(Warp& w, const Instruction& i) { return any(w, i.operands.back()); }

enum class Shuffle { up, down, bfly, idx };

// operands: result, predicate or none, value, lane or offset, clamp, members.
template <Shuffle kWay>
After shuffle(Warp& w, const Instruction& i) {
  if (!all_here(w, members_of(w, i))) return After::retry;
  u32* d = w.at<u32>(i.operands[0]);
  const u32 *a = w.at<u32>(i.operands[2]), *b = w.at<u32>(i.operands[3]),
            *c = w.at<u32>(i.operands[4]);
  u32 results[kLanes], valid = 0;
  each_lane(w.mask, [&](u32 l) {
    const u32 segment = c[l] >> 8 & 31, clamp = c[l] & 31, by = b[l] & 31;
    const u32 most = (l & segment) | (clamp & ~segment), least = l & segment;
    i32 from = 0;
    bool in = false;
    if constexpr (kWay == Shuffle::up)
      from = static_cast<i32>(l - by), in = from >= static_cast<i32>(most);
    else if constexpr (kWay == Shuffle::down)
      from = static_cast<i32>(l + by), in = from <= static_cast<i32>(most);
    else if constexpr (kWay == Shuffle::bfly)
      from = static_cast<i32>(l ^ by), in = from <= static_cast<i32>(most);
    else
      from = static_cast<i32>(least | (by & ~segment)), in = from <= static_cast<i32>(most);
    const u32 source = in ? static_cast<u32>(from) : l;
    if (!(w.mask >> source & 1)) throw Fault("a shuffle from a lane that takes no part");
    results[l] = a[source];
    valid |= u32{in} << l;
  });
  each_lane(w.mask, [&](u32 l) { d[l] = results[l]; });
  if (i.operands[1] != kNone) {
    u32& p = w.predicate(i.operands[1]);
    p = (p & ~w.mask) | valid;
  }
  return After::next;
}

template <class T, auto kOp>
After reduce(Warp& w, const Instruction& i) {
  if (!all_here(w, members_of(w, i))) return After::retry;
  const T* a = w.at<T>(i.operands[1]);
  T* d = w.at<T>(i.operands[0]);
  T total{};
  bool first = true;
  each_lane(w.mask, [&](u32 l) {
    total = first ? a[l] : static_cast<T>(kOp(total, a[l]));
    first = false;
  });
  each_lane(w.mask, [&](u32 l) { d[l] = total; });
  return After::next;
}

Handler reduction(std::string_view op, bool is_signed) {
  if (op == "add") return &reduce<u32, [](u32 a, u32 b) { return a + b; }>;
  if (op == "and") return &reduce<u32, [](u32 a, u32 b) { return a & b; }>;
  if (op == "or") return &reduce<u32, [](u32 a, u32 b) { return a | b; }>;
  if (op == "min")
    return is_signed ? Handler{&reduce<i32, [](i32 a, i32 b) { return std::min(a, b); }>}
                     : &reduce<u32, [](u32 a, u32 b) { return std::min(a, b); }>;
  if (op == "max")
    return is_signed ? Handler{&reduce<i32, [](i32 a, i32 b) { return std::max(a, b); }>}
                     : &reduce<u32, [](u32 a, u32 b) { return std::max(a, b); }>;
  return nullptr;
}

After ballot(Warp& w, const Instruction& i) {
  if (!all_here(w, members_of(w, i))) return After::retry;
  const u32 votes = w.predicate(i.operands[1]) & w.mask;
  u32* d = w.at<u32>(i.operands[0]);
  each_lane(w.mask, [&](u32 l) { d[l] = votes; });
  return After::next;
}

After warp_barrier(Warp& w, const Instruction& i) {
  return all_here(w, members_of(w, i)) ? After::next : After::retry;
}

// operands: barrier, threads or none.
After block_barrier(Warp& w, const Instruction& i) {
  w.barrier = any(w, i.operands[0]);
  w.barrier_threads = i.operands.size() > 1 ? any(w, i.operands[1]) : 0;
  w.barrier_arrives_only = i.immediate != 0;
  return After::wait;
}

After pause(Warp&, const Instruction&) { return After::yield; }

}  // namespace

bool make_warp(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0];
  if (op == "nanosleep") {
    i.run = &pause;
  } else if (op == "bar" && s.has("warp")) {
    i.operands = {b.place(s.operands[0], 4)};
    i.run = &warp_barrier;
  } else if (op == "bar" && (s.has("sync") || s.has("arrive"))) {
    for (const Operand& operand : s.operands) i.operands.push_back(b.place(operand, 4));
    i.immediate = s.has("arrive");
    i.run = &block_barrier;
  } else if (op == "vote" && s.has("ballot")) {
    i.operands = {b.place(s.operands[0], 4), b.predicate(s.operands[1]), b.place(s.operands[2], 4)};
    i.run = &ballot;
  } else if (op == "redux") {
    i.operands = {b.place(s.operands[0], 4), b.place(s.operands[1], 4), b.place(s.operands[2], 4)};
    i.run = reduction(s.opcode[2], s.opcode.back() == "s32");
  } else if (op == "shfl" && s.has("sync")) {
    const bool tells = s.operands.size() == 6;  // with a predicate
    i.operands = {b.place(s.operands[0], 4), tells ? b.predicate(s.operands[1]) : kNone};
    for (std::size_t k = tells ? 2 : 1; k < s.operands.size(); ++k)
      i.operands.push_back(b.place(s.operands[k], 4));
    const auto way = s.opcode[2];
    i.run = way == "up"     ? Handler{&shuffle<Shuffle::up>}
            : way == "down" ? &shuffle<Shuffle::down>
            : way == "bfly" ? &shuffle<Shuffle::bfly>
            : way == "idx"  ? &shuffle<Shuffle::idx>
                            : nullptr;
  }
  return i.run != nullptr;
}

}  // namespace ptx
