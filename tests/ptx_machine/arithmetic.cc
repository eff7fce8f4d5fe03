// Arithmetic of integers and floats.
#include <algorithm>
#include <bit>
#include <cmath>

#include "halves.h"
#include "operations.h"

namespace ptx {
namespace {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, i32, u32>,
                                std::conditional_t<std::is_signed_v<T>, i64, u64>>;
__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;
template <class T>
using Product = std::conditional_t<sizeof(T) == 8,
                                   std::conditional_t<std::is_signed_v<T>, i128, u128>, Wide<T>>;

// Of integers modulo their size, of floats to the nearest.
template <class T>
T add(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
}
template <class T>
T sub(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
}
template <class T>
T mul_low(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a * b;
  else
    return static_cast<T>(u64{static_cast<Bits<T>>(a)} * static_cast<Bits<T>>(b));
}
template <class T>
T mul_high(T a, T b) {
  return static_cast<T>(static_cast<Product<T>>(a) * static_cast<Product<T>>(b) >> sizeof(T) * 8);
}
// PTX's: a number wins over a NaN, and +0 is above -0.
template <class T>
T least(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <class T>
T greatest(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}
// Division by zero gives all ones; the smallest by -1 itself.
template <class T>
T divide(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a / b;
  } else {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return sub(T{0}, a);
    return static_cast<T>(a / b);
  }
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
template <auto kOp>
Handler approximate() {  // computed in double: closer than what the ISA asks for
  return &unary<float, [](float a) { return static_cast<float>(kOp(static_cast<double>(a))); }>;
}

Handler float_function(std::string_view op) {
  if (op == "rcp") return approximate<[](double a) { return 1 / a; }>();
  if (op == "rsqrt") return approximate<[](double a) { return 1 / std::sqrt(a); }>();
  if (op == "sin") return approximate<[](double a) { return std::sin(a); }>();
  if (op == "cos") return approximate<[](double a) { return std::cos(a); }>();
  if (op == "lg2") return approximate<[](double a) { return std::log2(a); }>();
  if (op == "ex2") return approximate<[](double a) { return std::exp2(a); }>();
  if (op == "tanh") return approximate<[](double a) { return std::tanh(a); }>();
  return nullptr;
}

// Two halves in 32 bits.
Handler of_pairs(const Statement& s) {
  const auto op = s.opcode[0], type = s.opcode.back();
  if (type == "f16x2") {
    if (op == "add") return &binary<u32, [](u32 a, u32 b) { return pairwise(a, b, half_add); }>;
    if (op == "mul") return &binary<u32, [](u32 a, u32 b) { return pairwise(a, b, half_mul); }>;
    if (op == "fma")
      return &ternary<u32, [](u32 a, u32 b, u32 c) {
        return u32{half_fma(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c))} |
               u32{half_fma(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16),
                            static_cast<u16>(c >> 16))}
                   << 16;
      }>;
  }
  if (op == "abs") return &unary<u32, [](u32 a) { return a & 0x7fff7fff; }>;
  if (op == "max" && s.has("NaN")) {
    if (type == "f16x2")
      return &binary<u32,
                     [](u32 a, u32 b) { return pairwise(a, b, greatest_half<0x7c00, 0x7fff>); }>;
    return &binary<u32, [](u32 a, u32 b) { return pairwise(a, b, greatest_half<0x7f80, 0x7fff>); }>;
  }
  return nullptr;
}

Handler two_operands(const Statement& s) {
  const auto op = s.opcode[0], type = s.opcode.back();
  const auto bits = [&](auto f) {
    return by_type(type, [&](auto t) -> Handler { return f(Bits<decltype(t)>{}); });
  };
  const auto typed = [&](auto f) { return by_type(type, [&](auto t) -> Handler { return f(t); }); };
  const auto integer = [&](auto f) {
    return by_type(type, [&](auto t) -> Handler {
      if constexpr (kIsFloat<decltype(t)>)
        return nullptr;
      else
        return f(t);
    });
  };
  if (op == "and")
    return bits([](auto t) -> Handler {
      using T = decltype(t);
      return &binary<T, [](T a, T b) { return a & b; }>;
    });
  if (op == "or")
    return bits([](auto t) -> Handler {
      using T = decltype(t);
      return &binary<T, [](T a, T b) { return a | b; }>;
    });
  if (op == "xor")
    return bits([](auto t) -> Handler {
      using T = decltype(t);
      return &binary<T, [](T a, T b) { return a ^ b; }>;
    });
  if (op == "add")
    return typed([](auto t) -> Handler { return &binary<decltype(t), add<decltype(t)>>; });
  if (op == "sub")
    return typed([](auto t) -> Handler { return &binary<decltype(t), sub<decltype(t)>>; });
  if (op == "mul" && !s.has("hi"))
    return typed([](auto t) -> Handler { return &binary<decltype(t), mul_low<decltype(t)>>; });
  if (op == "mul")
    return integer([](auto t) -> Handler { return &binary<decltype(t), mul_high<decltype(t)>>; });
  if (op == "min")
    return typed([](auto t) -> Handler { return &binary<decltype(t), least<decltype(t)>>; });
  if (op == "max")
    return typed([](auto t) -> Handler { return &binary<decltype(t), greatest<decltype(t)>>; });
  if (op == "div" && !s.has("approx") && !s.has("full"))
    return typed([](auto t) -> Handler { return &binary<decltype(t), divide<decltype(t)>>; });
  if (op == "rem")
    return integer([](auto t) -> Handler { return &binary<decltype(t), remainder<decltype(t)>>; });
  return nullptr;
}

Handler one_operand(const Statement& s) {
  const auto op = s.opcode[0], type = s.opcode.back();
  if (op == "mov" || op == "cvta")
    return by_type(type, [](auto t) -> Handler {
      using T = Bits<decltype(t)>;
      return &unary<T, [](T a) { return a; }>;
    });
  if (op == "not")
    return by_type(type, [](auto t) -> Handler {
      using T = Bits<decltype(t)>;
      return &unary<T, [](T a) { return static_cast<T>(~a); }>;
    });
  if (op == "neg")
    return by_type(type, [](auto t) -> Handler {
      using T = decltype(t);
      if constexpr (kIsFloat<T>)
        return &unary<T, [](T a) { return -a; }>;
      else
        return &unary<T, [](T a) { return sub(T{0}, a); }>;
    });
  if (op == "abs")
    return by_type(type, [](auto t) -> Handler {
      using T = decltype(t);
      if constexpr (kIsFloat<T>)
        return &unary<T, [](T a) { return std::fabs(a); }>;
      else
        return &unary<T, [](T a) { return a < 0 ? sub(T{0}, a) : a; }>;
    });
  if (op == "brev")
    return type == "b32" ? Handler{&unary<u32,
                                          [](u32 a) {
                                            u32 value = 0;
                                            for (u32 k = 0; k < 32; ++k)
                                              value |= (a >> k & 1) << (31 - k);
                                            return value;
                                          }>}
                         : nullptr;
  if (op == "popc" && type == "b32") return &unary<u32, [](u32 a) { return std::popcount(a); }>;
  if (op == "clz" && type == "b32") return &unary<u32, [](u32 a) { return std::countl_zero(a); }>;
  if (op == "sqrt") {  // rn; what is approximate may be exact
    if (type == "f32") return &unary<float, [](float a) { return std::sqrt(a); }>;
    return &unary<double, [](double a) { return std::sqrt(a); }>;
  }
  return float_function(op);
}

// mul.wide and mad.wide: of twice the size.
bool make_wide(Builder& b, const Statement& s, Instruction& i) {
  const bool adds = s.opcode[0] == "mad";
  i.run = by_type(s.opcode.back(), [&](auto t) -> Handler {
    using T = decltype(t);
    if constexpr (kIsFloat<T> || sizeof(T) == 8) {
      return nullptr;
    } else {
      using W = Wide<T>;
      if (adds) return &ternary<W, [](T x, T y, W z) { return add<W>(mul_low<W>(x, y), z); }, T>;
      return [](Warp& w, const Instruction& in) {
        W* d = w.at<W>(in.operands[0]);
        const T *x = w.at<T>(in.operands[1]), *y = w.at<T>(in.operands[2]);
        each_lane(w.mask, [&](u32 l) { d[l] = mul_low<W>(x[l], y[l]); });
        return After::next;
      };
    }
  });
  const u32 bytes = bytes_of(s.opcode.back());
  i.operands = {b.place(s.operands[0], 2 * bytes), b.place(s.operands[1], bytes),
                b.place(s.operands[2], bytes)};
  if (adds) i.operands.push_back(b.place(s.operands[3], 2 * bytes));
  return i.run != nullptr;
}

bool make_mad(Builder& b, const Statement& s, Instruction& i) {
  return all_of_one_size(
      b, s, i,
      by_type(s.opcode.back(),
              [](auto t) -> Handler {
                using T = decltype(t);
                if constexpr (kIsFloat<T>)
                  return &ternary<T, [](T x, T y, T z) { return std::fma(x, y, z); }>;
                else
                  return &ternary<T, [](T x, T y, T z) { return add(mul_low(x, y), z); }>;
              }),
      4);
}

}  // namespace

bool make_arithmetic(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0], type = s.opcode.back();
  if (op == "cvt" || op == "ld" || op == "st" || (op == "cvta" && s.has("shared"))) return false;
  if (s.has("wide")) return make_wide(b, s, i);
  if (type.ends_with("x2")) return all_of_one_size(b, s, i, of_pairs(s), s.operands.size());
  if (op == "mad" || (op == "fma" && s.has("rn"))) return make_mad(b, s, i);
  if (s.operands.size() == 3) return all_of_one_size(b, s, i, two_operands(s), 3);
  return all_of_one_size(b, s, i, one_operand(s), 2);
}

}  // namespace ptx
