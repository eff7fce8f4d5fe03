// A machine in software that executes PTX text on the host, so that the images that ship are tested
// where there is no GPU, for every architecture that they name. Follows NVIDIA's PTX ISA; what it
// does not know it refuses by name. Slow, exact and strict:
//   - a warp is 32 lanes; lanes that part ways go on by the lowest program counter first
//   - every access is checked: global memory against allocations, shared memory against its size
//   - what may happen late happens as late as it may: asynchronous copies and wgmma take effect
//     when they are waited for
//   - blocks run one after the other, or together where a launch is cooperative
//   - a launch that may overlap the one before it begins as early as that allows
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptx {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr u32 kLanes = 32;
inline constexpr u32 kAllLanes = ~u32{0};

// What a program did wrong, or what this machine cannot do; says the PTX line.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- a program ----

struct Warp;
struct Instruction;

enum class After : u8 {
  next,    // the following instruction
  yield,   // the same, but other warps first
  retry,   // this instruction again, when other lanes or warps have gone on
  branch,  // to the instruction's target
  leave,   // these lanes end
  wait,    // at the barrier that Warp names
};
// Executes for the lanes of Warp::mask.
using Handler = After (*)(Warp&, const Instruction&);

inline constexpr u32 kNone = ~u32{0};

enum class Flow : u8 { on, branch, leave };

struct Instruction {
  Handler run = nullptr;
  std::vector<u32> operands;       // places in the register file, vectors flattened
  std::vector<i64> displacements;  // of the address operands, in their order
  u32 guard = kNone;               // a predicate, if it has one
  bool guard_not = false;
  Flow flow = Flow::on;         // where it may lead, besides the next
  bool of_whole_warps = false;  // ".aligned": waits for all lanes
  u32 target = 0;               // of a branch
  u32 line = 0;                 // of the text
  u32 immediate = 0;            // what its maker put there
};

// Registers of a lane are side by side: the register file of a warp has for a 32-bit register 32
// words of 4 bytes, for one of 64 bits 32 of 8, of 16 bits 32 of 2; a predicate is one u32, a bit a
// lane. Constants have places of their own.
struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  u32 register_bytes = 0;
  std::vector<u8> initial;  // the register file at the start: constants
  u32 shared_bytes = 0, local_bytes = 0, parameter_bytes = 0;
  struct Special {     // registers set when a warp starts
    std::string name;  // "%tid.x", or "local" for the address of the lane's depot
    u32 place, bytes;
  };
  std::vector<Special> specials;
};

struct Module {
  std::map<std::string, Kernel, std::less<>> kernels;
};
Module parse(std::string_view text);  // or Fault

// ---- making instructions ----

struct Operand {
  std::string_view text;  // a register, number or symbol; of an address, its base
  bool is_address = false;
  i64 displacement = 0;  // of an address
};
struct Statement {
  std::vector<std::string_view> opcode;  // "mma", "sync", "aligned", "m16n8k32", ...
  std::vector<Operand> operands;         // vectors flattened
  bool has(std::string_view part) const {
    for (auto p : opcode)
      if (p == part) return true;
    return false;
  }
};

// Of one kernel: gives operands places.
class Builder {
 public:
  virtual ~Builder() = default;
  // A register of that many bytes a lane (2, 4, 8), or a constant.
  virtual u32 place(const Operand& operand, u32 bytes) = 0;
  virtual u32 predicate(const Operand& operand) = 0;
  // Bytes of a register, 0 when the operand is none.
  virtual u32 register_bytes(const Operand& operand) const = 0;
  // Of the base of an address: those of a name are of 8 bytes.
  u32 address_bytes(const Operand& operand) const {
    const u32 bytes = register_bytes(operand);
    return bytes ? bytes : 8;
  }
  // A place that nobody reads ("_").
  virtual u32 sink() = 0;
  // The base of an address, of 8 bytes a lane for global and generic and of 4 or 8 for shared
  // memory; its displacement goes to the instruction.
  virtual u32 address(const Operand& operand, Instruction& instruction) = 0;
};
// Each knows some opcodes: false for any other.
bool make_bits(Builder&, const Statement&, Instruction&);
bool make_arithmetic(Builder&, const Statement&, Instruction&);
bool make_convert(Builder&, const Statement&, Instruction&);
bool make_memory(Builder&, const Statement&, Instruction&);
bool make_async(Builder&, const Statement&, Instruction&);   // cp.async, mbarrier
bool make_warp(Builder&, const Statement&, Instruction&);    // shfl, vote, redux, barriers
bool make_matrix(Builder&, const Statement&, Instruction&);  // mma, ldmatrix, stmatrix, wgmma

// ---- running ----

struct Memory {  // global memory, as the driver allocated it
  virtual ~Memory() = default;
  // The allocation around an address; false if there is none.
  virtual bool find(u64 address, u64& begin, u64& end) const = 0;
};

struct Launch {
  const Kernel* kernel = nullptr;
  const u8* parameters = nullptr;
  u32 blocks = 1, threads = 32, dynamic_shared_bytes = 0, multiprocessors = 1;
  bool cooperative = false;
  u32 slice = 4096;  // instructions of a warp before others have their turn
};
// In their order; each may overlap those before it as far as they let it.
void run(std::span<const Launch> launches, const Memory& memory);  // or Fault

struct PendingCopy {  // of cp.async by one lane; bytes 0: an arrival at the barrier `target`
  u64 source = 0;
  u32 target = 0, bytes = 0, zeros = 0, lane = 0, group = 0;
};
struct PendingBulk {
  u64 source = 0;
  u32 target = 0, bytes = 0, barrier = 0;
};
struct PendingProduct {  // of wgmma, whole warps; descriptors as they were when it was issued
  const Instruction* instruction = nullptr;
  u64 a = 0, b = 0;
  bool add = false;
  u32 group = 0;
};

struct Block {
  const Launch* launch = nullptr;
  const Memory* memory = nullptr;
  u32 index = 0;
  std::vector<u8> shared, local;
  std::vector<PendingBulk> bulk;
  const bool* before_is_done = nullptr;  // the launch before this
  bool lets_next_start = false;          // the launch after this
  u64 instructions = 0;                  // so far; its multiprocessor has four a cycle
  // The range of global memory that was reached last.
  mutable u64 begin = 0, end = 0;

  // Host addresses of what the program may reach, or Fault. Aligned to `bytes` of one element.
  u8* in_shared(u32 address, u32 bytes) {
    if (address % bytes != 0 || u64{address} + bytes > shared.size()) bad_shared(address, bytes);
    return shared.data() + address;
  }
  u8* in_memory(u64 address, u32 bytes) const {  // generic
    if (address % bytes != 0 || address < begin || address + bytes > end) look_up(address, bytes);
    return reinterpret_cast<u8*>(address);
  }
  [[noreturn]] void bad_shared(u32 address, u32 bytes) const;
  void look_up(u64 address, u32 bytes) const;
};

struct Warp {
  Block* block = nullptr;
  u32 index = 0;                         // in the block
  u32 mask = 0;                          // of the lanes that execute
  u32 alive = 0;                         // that have not left
  u32 barrier = 0, barrier_threads = 0;  // what After::wait waits for; 0 threads: all
  bool barrier_arrives_only = false;     // and does not wait
  std::vector<u8> registers;
  std::vector<PendingCopy> copies;
  u32 copy_group[kLanes] = {};
  std::vector<PendingProduct> products;
  u32 product_group = 0;

  template <class T>
  T* at(u32 place) {
    return reinterpret_cast<T*>(registers.data() + place);
  }
  u32& predicate(u32 place) { return *at<u32>(place); }
};

}  // namespace ptx
