// The compute test's kernel in GLSL: what compute.cu does, for the operations whose results Vulkan
// defines to the last bit: integers, shared memory, registers, atomics, and fp32 add and multiply of
// normal numbers, rounded to nearest even and not contracted. Vulkan does not tell which unit runs a
// work group: a unit is a work group here, and no time is kept.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_spirv_intrinsics : require
#include "memory_vulkan.glsl"
#include "compute_op_ids.glsl"  // made from compute_ops.h

spirv_execution_mode(capabilities = [4467], 4462, 32);  // RoundingModeRTE of 32-bit floats

// compute_params.h
const uint kRegisters = 32, kRegisterRounds = 8, kCells = 32, kAtomics = 4, kComputeThreads = 1024;
const uint kFaultFlip = 1, kFaultNan = 2;
const uint kMostSharedWords = 2048;

layout(push_constant, std430) uniform Params {
  u64 records_address, seed, nonce;
  uint first_op, end_op, first_index, count, shared_words, store_unit;
  u64 store_address;
  uint fault_kind, fault_unit, fault_op, fault_index;
  u64 fault_bits;
} p;

layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer Record {
  u64 nonce;
  uint unit_at_start, unit_at_end;
  u64 ticks, results;
  u64 ops_done[2];
  u64 checksum[kComputeOps];
  u64 unused_sum;
  uint cells[kAtomics * kCells];
};

shared uint words[kMostSharedWords];
shared uint shared_cells[kAtomics * kCells];
shared u64 block_sum[kThreads], block_results[kThreads];

// compute_ops.h
uint compute_hash(uint x) {
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return x ^ x >> 16;
}
uint compute_key(uint op) {
  const uvec2 seed = halves(p.seed);
  return compute_hash(seed.x ^ compute_hash(seed.y + op * 0x9E3779B1u));
}
uint draw(uint key, uint index, uint k) {
  return compute_hash((index * 8 + k) * 0x9E3779B1u + key);
}

#define SHAPE_INT(name, Word, bits)                                        \
  Word name(Word random, uint form) {                                      \
    const uint n = form >> 4 & (bits - 1);                                 \
    switch (form & 15) {                                                   \
      case 8: return random & Word(0xFF);                                  \
      case 9: return ~(random & Word(0xFF));                               \
      case 10: return Word(1) << n;                                        \
      case 11: return (Word(1) << n) - Word(1);                            \
      case 12: return (random & Word(1)) != Word(0) ? ~Word(0) / Word(3)   \
                                                    : ~Word(0) / Word(3) * Word(2); \
      case 13: return (Word(1) << (bits - 1)) - Word(n & 1);               \
      case 14: return Word(0) - Word(n & 1);                               \
      case 15: return random >> n;                                         \
      default: return random;                                              \
    }                                                                      \
  }
SHAPE_INT(shape_u32, uint, 32)
SHAPE_INT(shape_u64, u64, 64)

// compute_shape_normal(): the bits of a normal number of a middle exponent.
uint shape_normal(uint random, uint form) {
  const uint e = form >> 4 & 63;
  uint exponent = 119 + (e & 15), fraction = random & 0x7FFFFFu;
  switch (form & 7) {
    case 5:
      exponent = 127 - 23 - 5 + (e & 7);
      fraction &= 0x7FFFFFu ^ 0x7FFFFFu >> 2;
      break;
    case 6:
      exponent = 125 + (e & 3);
      fraction &= 0x7FFFFFu ^ 0x7FFFFFu >> 3;
      break;
    case 7:
      exponent = 125 + (e & 3);
      fraction |= 0x7FFFFFu ^ 7;
      break;
  }
  return (random & 0x80000000u) | exponent << 23 | fraction;
}

uint byte_permute(uint a, uint b, uint selector) {
  uint result = 0;
  for (uint i = 0; i < 4; ++i) {
    const uint choice = selector >> 4 * i & 15;
    uint byte = ((choice & 4) != 0 ? b : a) >> (choice & 3) * 8 & 0xFF;
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}
uint dot_product_4(uint a, uint b, uint c) {
  for (int at = 0; at < 32; at += 8)
    c += uint(bitfieldExtract(int(a), at, 8) * bitfieldExtract(int(b), at, 8));
  return c;
}

uint apply_u32(uint op, uint a, uint b, uint c) {
  switch (op) {
    case kOpAddI32: return a + b;
    case kOpSubI32: return a - b;
    case kOpMulLoI32: return a * b;
    case kOpMulHiU32: return uint(u64(a) * u64(b) >> 32);
    case kOpMulHiS32: return uint(u64(int64_t(int(a)) * int64_t(int(b))) >> 32);
    case kOpMadI32: return a * b + c;
    case kOpLogicI32: return ((a & b) ^ (b | c)) + (~a & c);
    case kOpShlI32: return a << (b & 31);
    case kOpShrU32: return a >> (b & 31);
    case kOpShrS32: return uint(int(a) >> (b & 31));
    case kOpFunnelI32: return uint((u64(b) << 32 | u64(a)) << (c & 31) >> 32);
    case kOpPopcI32: return uint(bitCount(a));
    case kOpClzI32: return uint(31 - findMSB(a));
    case kOpBrevI32: return bitfieldReverse(a);
    case kOpPermI32: return byte_permute(a, b, c & 0xFFFF);
    case kOpDp4aI32: return dot_product_4(a, b, c);
    case kOpDivU32: return a / (b == 0 ? 7 : b);
    case kOpRemU32: return a % (b == 0 ? 7 : b);
    case kOpDivS32: return uint(int(a) / (b + 1 < 2 ? 7 : int(b)));
    case kOpMinS32: return uint(min(int(a), int(b)));
    default: return max(a, b);  // kOpMaxU32
  }
}
u64 apply_u64(uint op, u64 a, u64 b, u64 c) {
  switch (op) {
    case kOpAddI64: return a + b;
    case kOpMulLoI64: return a * b;
    case kOpMulHiU64: return multiply_high(a, b);
    case kOpMadWideI64: return u64(uint(a)) * u64(uint(b)) + c;
    case kOpMadI64: return a * b + c;
    case kOpShlI64: return a << (uint(b) & 63);
    case kOpShrU64: return a >> (uint(b) & 63);
    case kOpShrS64: return u64(int64_t(a) >> (uint(b) & 63));
    case kOpDivU64: return a / (b == 0 ? u64(7) : b);
    default: return a % (b == 0 ? u64(7) : b);  // kOpRemU64
  }
}

// What this thread does of one operation.
u64 task_sum, task_results;
bool task_faulty, task_stores;

void take(uint index, u64 result) {
  if (task_faulty && index == p.fault_index)
    result = p.fault_kind == kFaultNan ? p.fault_bits : result ^ p.fault_bits;
  if (task_stores)
    Word(p.store_address + u64(index - p.first_index) * 8).value = halves(result);
  const u64 place = u64(index * 0x9E3779B1u) << 32 | u64(index * 0x85EBCA6Bu + 1);
  task_sum += whole(mix_word(result + place, 0));
  ++task_results;
}

void each_u32(uint op, uint key) {
  for (uint i = gl_LocalInvocationID.x; i < p.count; i += kThreads) {
    const uint index = p.first_index + i, forms = draw(key, index, 0);
    take(index, u64(apply_u32(op, shape_u32(draw(key, index, 1), forms),
                              shape_u32(draw(key, index, 2), forms >> 9),
                              shape_u32(draw(key, index, 3), forms >> 18))));
  }
}
void each_u64(uint op, uint key) {
  for (uint i = gl_LocalInvocationID.x; i < p.count; i += kThreads) {
    const uint index = p.first_index + i, forms = draw(key, index, 0);
    const u64 a = whole(uvec2(draw(key, index, 1), draw(key, index, 2)));
    const u64 b = whole(uvec2(draw(key, index, 3), draw(key, index, 4)));
    const u64 c = whole(uvec2(draw(key, index, 5), draw(key, index, 6)));
    take(index, apply_u64(op, shape_u64(a, forms), shape_u64(b, forms >> 10),
                          shape_u64(c, forms >> 20)));
  }
}
void each_normal(uint op, uint key) {
  for (uint i = gl_LocalInvocationID.x; i < p.count; i += kThreads) {
    const uint index = p.first_index + i, forms = draw(key, index, 0);
    const float a = uintBitsToFloat(shape_normal(draw(key, index, 1), forms));
    const float b = uintBitsToFloat(shape_normal(draw(key, index, 2), forms >> 10));
    precise float result;
    if (op == kOpAddNormalF32)
      result = a + b;
    else
      result = a * b;
    take(index, u64(floatBitsToUint(result)));
  }
}

void shared_memory(uint key) {
  const uint rounds = max(p.count / p.shared_words, 1);
  for (uint round = 0; round < rounds; ++round) {
    const uint first = p.first_index + round * p.shared_words;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < p.shared_words; i += kThreads)
      words[i] = draw(key, first + i, 1);
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < p.shared_words; i += kThreads) {
      const uint other = p.shared_words - 1 - i;
      take(first + other, u64(words[other]));
    }
  }
}

void registers(uint key) {
  for (uint i = gl_LocalInvocationID.x; i < p.count / kRegisters; i += kThreads) {
    const uint first = p.first_index + i * kRegisters;
    uint values[kRegisters];
    [[unroll]] for (uint r = 0; r < kRegisters; ++r) values[r] = draw(key, first + r, 1);
    [[dont_unroll]] for (uint round = 0; round < kRegisterRounds; ++round)
      [[unroll]] for (uint r = 0; r < kRegisters; ++r)
        values[r] = (values[r] << 5 | values[r] >> 27) ^ values[(r + 1) % kRegisters];
    [[unroll]] for (uint r = 0; r < kRegisters; ++r) take(first + r, u64(values[r]));
  }
}

// All threads of the work group at the same few cells.
#define ATOMICS(name, cells)                                                                  \
  void name(uint key, Record record) {                                                        \
    const uint thread = gl_LocalInvocationID.x, all = kAtomics * kCells;                      \
    if (thread < all) atomicExchange(cells[thread], thread / kCells == 2 ? ~0u : 0u);         \
    memoryBarrier();                                                                          \
    barrier();                                                                                \
    for (uint i = thread; i < max(p.count / 16, kComputeThreads); i += kThreads) {            \
      const uint value = draw(key, p.first_index + i, 1), cell = i % kCells;                  \
      atomicAdd(cells[cell], value);                                                          \
      atomicXor(cells[cell + kCells], value);                                                 \
      atomicMin(cells[cell + 2 * kCells], value);                                             \
      atomicMax(cells[cell + 3 * kCells], value);                                             \
    }                                                                                         \
    memoryBarrier();                                                                          \
    barrier();                                                                                \
    if (thread < all) take(p.first_index + thread, u64(atomicAdd(cells[thread], 0)));         \
  }
ATOMICS(shared_atomics, shared_cells)
ATOMICS(global_atomics, record.cells)

// compute_op_is_there_in_vulkan()
bool run(uint op, Record record) {
  const uint key = compute_key(op);
  if (op <= kOpMaxU32)
    each_u32(op, key);
  else if (op <= kOpRemU64)
    each_u64(op, key);
  else if (op == kOpAddNormalF32 || op == kOpMulNormalF32)
    each_normal(op, key);
  else if (op == kOpSharedMemory)
    shared_memory(key);
  else if (op == kOpRegisters)
    registers(key);
  else if (op == kOpGlobalAtomics)
    global_atomics(key, record);
  else if (op == kOpSharedAtomics)
    shared_atomics(key, record);
  else
    return false;
  return true;
}

void main() {
  const uint thread = gl_LocalInvocationID.x, unit = gl_WorkGroupID.x;
  Record record = Record(p.records_address + u64(unit) * u64(kComputeRecordBytes));
  const bool faulty = p.fault_unit == unit + 1, stores = p.store_unit == unit + 1;
  u64 results = 0, done[2] = {0, 0};
  for (uint op = p.first_op; op < p.end_op; ++op) {
    task_sum = task_results = 0;
    task_faulty = faulty && p.fault_op == op &&
                  (p.fault_kind == kFaultFlip || p.fault_kind == kFaultNan);
    task_stores = stores && op == p.first_op;
    if (!run(op, record)) continue;
    block_sum[thread] = task_sum;
    block_results[thread] = task_results;
    for (uint step = kThreads / 2; step > 0; step /= 2) {
      barrier();
      if (thread < step) {
        block_sum[thread] += block_sum[thread + step];
        block_results[thread] += block_results[thread + step];
      }
    }
    if (thread == 0) {
      record.checksum[op] = block_sum[0];
      results += block_results[0];
      done[op / 64] |= u64(1) << (op % 64);
    }
    barrier();
  }
  if (thread != 0) return;
  record.ticks = 0;
  record.unit_at_start = unit;
  record.unit_at_end = unit;
  record.results = results;
  record.ops_done[0] = done[0];
  record.ops_done[1] = done[1];
  record.unused_sum = 0;
  memoryBarrierBuffer();
  record.nonce = p.nonce;
}
