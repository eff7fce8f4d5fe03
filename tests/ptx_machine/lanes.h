// What the makers of instructions have in common: types by their PTX names, loops over lanes.
#pragma once

#include <type_traits>

#include "machine.h"

namespace ptx {

template <class F>
inline void each_lane(u32 mask, F f) {
  if (mask == kAllLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) f(lane);
  } else {
    for (u32 lane = 0; lane < kLanes; ++lane)
      if (mask >> lane & 1) f(lane);
  }
}

// f(T{}) for the type that is meant: bits are unsigned. None: no handler.
template <class F>
Handler by_type(std::string_view type, F f) {
  if (type == "u32" || type == "b32") return f(u32{});
  if (type == "s32") return f(i32{});
  if (type == "u64" || type == "b64") return f(u64{});
  if (type == "s64") return f(i64{});
  if (type == "u16" || type == "b16") return f(u16{});
  if (type == "s16") return f(i16{});
  if (type == "f32") return f(float{});
  if (type == "f64") return f(double{});
  return nullptr;
}

template <class T>
struct BitsOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct BitsOf<float> {
  using type = u32;
};
template <>
struct BitsOf<double> {
  using type = u64;
};
template <class T>
using Bits = typename BitsOf<T>::type;  // unsigned, of the same size

// "u32": 4.
inline u32 bytes_of(std::string_view type) {
  if (type.ends_with("x2")) return 4;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  throw Fault("unknown type " + std::string(type));
}

}  // namespace ptx
