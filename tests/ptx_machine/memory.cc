// Loads, stores and atomics.
#include <algorithm>

#include "lanes.h"
#include "text.h"

namespace ptx {
namespace {

// Where `address` is on the host.
template <bool kShared>
u8* reach(Warp& w, u64 address, u32 bytes) {
  if constexpr (kShared)
    return w.block->in_shared(static_cast<u32>(address), bytes);
  else
    return w.block->in_memory(address, bytes);
}

template <class Address>
u64 address_of(Warp& w, const Instruction& i, u32 place, u32 lane) {
  return static_cast<Address>(w.at<Address>(place)[lane] +
                              static_cast<Address>(i.displacements[0]));
}

// operands: those loaded, the address. A register may be wider than what is loaded or stored.
template <bool kShared, class Address, class T, class Register>
After load(Warp& w, const Instruction& i) {
  const auto count = static_cast<u32>(i.operands.size() - 1);
  each_lane(w.mask, [&](u32 l) {
    const u8* from = reach<kShared>(w, address_of<Address>(w, i, i.operands[count], l),
                                    count * static_cast<u32>(sizeof(T)));
    T values[4];
    std::memcpy(values, from, count * sizeof(T));
    for (u32 k = 0; k < count; ++k)
      w.at<Register>(i.operands[k])[l] = static_cast<Register>(values[k]);
  });
  return After::next;
}
// operands: the address, those stored.
template <bool kShared, class Address, class T, class Register>
After store(Warp& w, const Instruction& i) {
  const auto count = static_cast<u32>(i.operands.size() - 1);
  each_lane(w.mask, [&](u32 l) {
    T values[4];
    for (u32 k = 0; k < count; ++k)
      values[k] = static_cast<T>(w.at<Register>(i.operands[1 + k])[l]);
    std::memcpy(reach<kShared>(w, address_of<Address>(w, i, i.operands[0], l),
                               count * static_cast<u32>(sizeof(T))),
                values, count * sizeof(T));
  });
  return After::next;
}

template <bool kShared, class Address, class T, class Register>
Handler accesses(bool loads) {
  if constexpr (sizeof(Register) < sizeof(T))
    return nullptr;
  else
    return loads ? Handler{&load<kShared, Address, T, Register>}
                 : &store<kShared, Address, T, Register>;
}

// operands: what was there, the address, the value.
template <bool kShared, class Address, class T, auto kOp>
After atomic(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    u8* at = reach<kShared>(w, address_of<Address>(w, i, i.operands[1], l), sizeof(T));
    T old;
    std::memcpy(&old, at, sizeof old);
    const T value = static_cast<T>(kOp(old, w.at<T>(i.operands[2])[l]));
    std::memcpy(at, &value, sizeof value);
    w.at<T>(i.operands[0])[l] = old;
  });
  return After::next;
}

template <bool kShared, class Address, class T>
Handler atomic_named(std::string_view op) {
  if (op == "add") return &atomic<kShared, Address, T, [](T a, T b) { return a + b; }>;
  if (op == "min") return &atomic<kShared, Address, T, [](T a, T b) { return std::min(a, b); }>;
  if (op == "max") return &atomic<kShared, Address, T, [](T a, T b) { return std::max(a, b); }>;
  if (op == "and") return &atomic<kShared, Address, T, [](T a, T b) { return a & b; }>;
  if (op == "or") return &atomic<kShared, Address, T, [](T a, T b) { return a | b; }>;
  if (op == "xor") return &atomic<kShared, Address, T, [](T a, T b) { return a ^ b; }>;
  if (op == "exch") return &atomic<kShared, Address, T, [](T, T b) { return b; }>;
  return nullptr;
}

// The handler of f<kShared, Address>().
template <class F>
Handler by_space(bool shared, u32 address_bytes, F f) {
  if (shared) {
    return address_bytes == 4 ? f.template operator()<true, u32>()
                              : f.template operator()<true, u64>();
  }
  return address_bytes == 8 ? f.template operator()<false, u64>() : nullptr;
}

// A shared address as a generic one, or back.
template <bool kToShared>
After change_space(Warp& w, const Instruction& i) {
  u64* d = w.at<u64>(i.operands[0]);
  const u64* a = w.at<u64>(i.operands[1]);
  const u64 base = reinterpret_cast<u64>(w.block->shared.data());
  each_lane(w.mask, [&](u32 l) { d[l] = kToShared ? a[l] - base : a[l] + base; });
  return After::next;
}

}  // namespace

void Block::bad_shared(u32 address, u32 bytes) const {
  throw Fault("shared address " + hex(address) + ", " + std::to_string(bytes) + " bytes, of " +
              std::to_string(shared.size()));
}

void Block::look_up(u64 address, u32 bytes) const {
  const auto holds = [&](const u8* from, std::size_t size) {
    begin = reinterpret_cast<u64>(from);
    end = begin + size;
    return address >= begin && address + bytes <= end;
  };
  const bool found =
      holds(launch->parameters, launch->kernel->parameter_bytes) ||
      holds(local.data(), local.size()) || holds(shared.data(), shared.size()) ||
      (memory->find(address, begin, end) && address >= begin && address + bytes <= end);
  if (!found) {
    begin = end = 0;
    throw Fault("address " + hex(address) + ", " + std::to_string(bytes) +
                " bytes, is in no allocation");
  }
  if (address % bytes != 0)
    throw Fault("address " + hex(address) + " is not aligned to " + std::to_string(bytes));
}

bool make_memory(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0], type = s.opcode.back();
  const bool shared = s.has("shared");
  if (op == "cvta" && shared) {
    i.operands = {b.place(s.operands[0], 8), b.place(s.operands[1], 8)};
    i.run = s.has("to") ? &change_space<true> : &change_space<false>;
    return true;
  }
  if (op == "ld" || op == "st") {
    const Operand& address = op == "ld" ? s.operands.back() : s.operands[0];
    const u32 wide = b.address_bytes(address);
    const u32 held = b.register_bytes(op == "ld" ? s.operands[0] : s.operands.back());
    const u32 bytes = held ? held : bytes_of(type);
    for (const Operand& operand : s.operands)
      i.operands.push_back(operand.is_address ? b.address(operand, i) : b.place(operand, bytes));
    i.run = by_type(type, [&](auto t) {
      using Number = decltype(t);
      using T = std::conditional_t<std::is_integral_v<Number>, Number, Bits<Number>>;
      return by_space(shared, wide, [&]<bool kShared, class Address>() {
        return bytes == 2   ? accesses<kShared, Address, T, u16>(op == "ld")
               : bytes == 4 ? accesses<kShared, Address, T, u32>(op == "ld")
                            : accesses<kShared, Address, T, u64>(op == "ld");
      });
    });
    return i.run != nullptr;
  }
  if (op == "atom" || op == "red") {
    const std::size_t first = op == "atom" ? 1 : 0;
    if (s.operands.size() != first + 2) return false;  // compare and swap
    const u32 bytes = bytes_of(type);
    i.operands.push_back(first ? b.place(s.operands[0], bytes) : b.sink());
    const u32 wide = b.address_bytes(s.operands[first]);
    i.operands.push_back(b.address(s.operands[first], i));
    i.operands.push_back(b.place(s.operands[first + 1], bytes));
    i.run = by_type(type, [&](auto t) -> Handler {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T>) {
        return by_space(shared, wide, [&]<bool kShared, class Address>() {
          return atomic_named<kShared, Address, T>(s.opcode[s.opcode.size() - 2]);
        });
      } else {
        return nullptr;
      }
    });
    return i.run != nullptr;
  }
  return false;
}

}  // namespace ptx
