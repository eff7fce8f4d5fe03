// Instructions whose operands all have one type, lane by lane.
#pragma once

#include "lanes.h"

namespace ptx {

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

template <class T, auto kOp>
After unary(Warp& w, const Instruction& i) {
  T* d = w.at<T>(i.operands[0]);
  const T* a = w.at<T>(i.operands[1]);
  each_lane(w.mask, [&](u32 l) { d[l] = static_cast<T>(kOp(a[l])); });
  return After::next;
}
template <class T, auto kOp, class Second = T>
After binary(Warp& w, const Instruction& i) {
  T* d = w.at<T>(i.operands[0]);
  const T* a = w.at<T>(i.operands[1]);
  const Second* b = w.at<Second>(i.operands[2]);
  each_lane(w.mask, [&](u32 l) { d[l] = static_cast<T>(kOp(a[l], b[l])); });
  return After::next;
}
template <class T, auto kOp, class Source = T>
After ternary(Warp& w, const Instruction& i) {
  T* d = w.at<T>(i.operands[0]);
  const Source* a = w.at<Source>(i.operands[1]);
  const Source* b = w.at<Source>(i.operands[2]);
  const T* c = w.at<T>(i.operands[3]);
  each_lane(w.mask, [&](u32 l) { d[l] = static_cast<T>(kOp(a[l], b[l], c[l])); });
  return After::next;
}

// False when there is no handler, or not this many operands.
inline bool all_of_one_size(Builder& b, const Statement& s, Instruction& i, Handler handler,
                            std::size_t count) {
  if (!handler || s.operands.size() != count) return false;
  const u32 bytes = bytes_of(s.opcode.back());
  for (const Operand& operand : s.operands) i.operands.push_back(b.place(operand, bytes));
  i.run = handler;
  return true;
}

}  // namespace ptx
