// cvt: between integers, floats and 16-bit floats.
#include <bit>
#include <cmath>
#include <limits>

#include "halves.h"
#include "lanes.h"

namespace ptx {
namespace {

// Toward zero, at most to the ends of the type; a NaN is 0.
template <class To, class From>
To to_integer(From value) {
  if (std::isnan(value)) return 0;
  constexpr double kEnd =
      static_cast<double>(std::numeric_limits<To>::max()) + 1;  // of 64 bits: equal
  const double whole = std::trunc(static_cast<double>(value));
  if (whole >= kEnd) return std::numeric_limits<To>::max();
  if (whole < static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(whole);
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return to_integer<To>(value);
  else
    return static_cast<To>(value);
}

// From a register that may be wider than the type; to one of the type's size.
template <class To, class From, class FromRegister>
After convert(Warp& w, const Instruction& i) {
  To* d = w.at<To>(i.operands[0]);
  const FromRegister* a = w.at<FromRegister>(i.operands[1]);
  each_lane(w.mask, [&](u32 l) {
    if constexpr (std::is_integral_v<From>)
      d[l] = converted<To>(static_cast<From>(a[l]));
    else
      d[l] = converted<To>(std::bit_cast<From>(a[l]));
  });
  return After::next;
}

template <class To, class From>
Handler from_register(u32 bytes) {
  if constexpr (std::is_floating_point_v<From>) {
    return bytes == sizeof(From) ? Handler{&convert<To, From, From>} : nullptr;
  } else {
    if (bytes < sizeof(From)) return nullptr;
    if (bytes == 2) return &convert<To, From, u16>;
    if (bytes == 4) return &convert<To, From, u32>;
    return &convert<To, From, u64>;
  }
}

template <class To>
Handler from_type(std::string_view from, u32 bytes) {
  if (from == "s8") return from_register<To, i8>(bytes);
  if (from == "u8") return from_register<To, u8>(bytes);
  return by_type(from, [&](auto t) { return from_register<To, decltype(t)>(bytes); });
}

After half_to_float(Warp& w, const Instruction& i) {
  float* d = w.at<float>(i.operands[0]);
  const u16* a = w.at<u16>(i.operands[1]);
  each_lane(w.mask, [&](u32 l) { d[l] = half_value(a[l]); });
  return After::next;
}
After float_to_half(Warp& w, const Instruction& i) {
  u16* d = w.at<u16>(i.operands[0]);
  const float* a = w.at<float>(i.operands[1]);
  each_lane(w.mask, [&](u32 l) { d[l] = nearest_half(double{a[l]}); });
  return After::next;
}

u32 nearest_bf16(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if (std::isnan(value)) return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
// The first operand goes to the upper half.
After floats_to_bf16(Warp& w, const Instruction& i) {
  u32* d = w.at<u32>(i.operands[0]);
  const float *high = w.at<float>(i.operands[1]), *low = w.at<float>(i.operands[2]);
  each_lane(w.mask, [&](u32 l) { d[l] = nearest_bf16(high[l]) << 16 | nearest_bf16(low[l]); });
  return After::next;
}

}  // namespace

bool make_convert(Builder& b, const Statement& s, Instruction& i) {
  if (s.opcode[0] != "cvt" || s.opcode.size() < 3 || s.has("sat") || s.has("ftz")) return false;
  const auto from = s.opcode.back(), to = s.opcode[s.opcode.size() - 2];
  if (to == "bf16x2" && from == "f32" && s.has("rn")) {
    i.operands = {b.place(s.operands[0], 4), b.place(s.operands[1], 4), b.place(s.operands[2], 4)};
    i.run = &floats_to_bf16;
    return true;
  }
  const u32 bytes = b.register_bytes(s.operands[1]);
  if (bytes == 0) throw Fault("cvt of no register");
  i.operands = {b.place(s.operands[0], to == "f16" ? 2 : bytes_of(to)),
                b.place(s.operands[1], bytes)};
  if (to == "f32" && from == "f16") i.run = &half_to_float;
  if (to == "f16" && from == "f32") i.run = &float_to_half;
  if (i.run) return true;
  // Rounding to an integer is toward zero; to a float, nearest even.
  if (s.opcode.size() == 4 && s.opcode[1] != "rn" && s.opcode[1] != "rzi") return false;
  i.run = by_type(to, [&](auto t) { return from_type<decltype(t)>(from, bytes); });
  return i.run != nullptr;
}

}  // namespace ptx
