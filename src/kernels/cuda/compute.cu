// The compute test's kernel: one block an SM, every block the same work.
//
// Operations follow each other; of each, the threads share the indices, make the inputs, compute,
// and fold the results into one sum, which thread 0 writes down. No input is read from memory and
// no result is written to it, unless the host asks one unit to store the results of one operation.
#include "kernel_abi/compute_params.h"
#include "kernels/cuda/compute_target.cuh"

namespace {

using namespace gpuready;
using namespace gpuready::device;
using Kind = ComputeInputKind;

extern GPUREADY_SHARED u32 dynamic_words[];  // p.shared_words of them
// A warp has at least 32 threads.
GPUREADY_SHARED u64 warp_sums[kThreads / 32];
GPUREADY_SHARED u64 warp_results[kThreads / 32];
GPUREADY_SHARED u32 shared_cells[kComputeAtomics * kComputeCells];

// What one thread does of one operation.
struct Task {
  const ComputeParams& p;
  u32 op, key;
  bool faulty, stores;
  u64 sum = 0, results = 0;

  GPUREADY_DEVICE void take(u32 index, u64 result) {
    if (faulty && index == p.fault_index)
      result = p.fault_kind == ComputeFaultKind::nan ? p.fault_bits : result ^ p.fault_bits;
    if (stores) reinterpret_cast<u64*>(p.store_address)[index - p.first_index] = result;
    sum += compute_fold(result, index);
    ++results;
  }
};

GPUREADY_DEVICE float as_float(u64 bits) {
  return __builtin_bit_cast(float, static_cast<u32>(bits));
}
GPUREADY_DEVICE double as_double(u64 bits) { return __builtin_bit_cast(double, bits); }
GPUREADY_DEVICE u64 bits_of(float value) {
  return compute_canonical32(__builtin_bit_cast(u32, value));
}
GPUREADY_DEVICE u64 bits_of(double value) {
  return compute_canonical64(__builtin_bit_cast(u64, value));
}
[[maybe_unused]] GPUREADY_DEVICE u64 bits_of_half2(u32 pair) {
  return compute_canonical16(pair & 0xFFFF) | compute_canonical16(pair >> 16) << 16;
}
template <class Real>
GPUREADY_DEVICE u64 compare(Real a, Real b) {
  return u64{a < b} | u64{a == b} << 1 | u64{a > b} << 2;
}

GPUREADY_DEVICE u64 apply_i32(u32 op, const ComputeInputs& in) {
  const u32 a = static_cast<u32>(in.a), b = static_cast<u32>(in.b), c = static_cast<u32>(in.c);
  const int sa = static_cast<int>(a), sb = static_cast<int>(b);
  switch (op) {
    case kOpAddI32:
      return a + b;
    case kOpSubI32:
      return a - b;
    case kOpMulLoI32:
      return a * b;
    case kOpMulHiU32:
      return static_cast<u32>(u64{a} * b >> 32);
    case kOpMulHiS32:
      return static_cast<u32>(static_cast<u64>(static_cast<long long>(sa) * sb) >> 32);
    case kOpMadI32:
      return a * b + c;
    case kOpLogicI32:
      return ((a & b) ^ (b | c)) + (~a & c);
    case kOpShlI32:
      return a << (b & 31);
    case kOpShrU32:
      return a >> (b & 31);
    case kOpShrS32:
      return static_cast<u32>(sa >> (b & 31));
    case kOpFunnelI32:
      return funnel_shift_left(a, b, c);
    case kOpPopcI32:
      return static_cast<u32>(__builtin_popcount(a));
    case kOpClzI32:
      return a == 0 ? 32 : static_cast<u32>(__builtin_clz(a));
    case kOpBrevI32:
      return __builtin_bitreverse32(a);
    case kOpPermI32:
      return byte_permute(a, b, c & 0xFFFF);
    case kOpDp4aI32:
      return dot_product_4(a, b, c);
    case kOpDivU32:
      return a / static_cast<u32>(compute_divisor(b));
    case kOpRemU32:
      return a % static_cast<u32>(compute_divisor(b));
    case kOpDivS32:
      return static_cast<u32>(sa / compute_signed_divisor(b));
    case kOpMinS32:
      return static_cast<u32>(sa < sb ? sa : sb);
    case kOpMaxU32:
      return a > b ? a : b;
    default:  // kOpFromIntF32
      return bits_of(static_cast<float>(sa));
  }
}

GPUREADY_DEVICE u64 apply_i64(u32 op, const ComputeInputs& in) {
  const u64 a = in.a, b = in.b, c = in.c;
  switch (op) {
    case kOpAddI64:
      return a + b;
    case kOpMulLoI64:
      return a * b;
    case kOpMulHiU64:
      return multiply_high(a, b);
    case kOpMadWideI64:
      return u64{static_cast<u32>(a)} * static_cast<u32>(b) + c;
    case kOpMadI64:
      return a * b + c;
    case kOpShlI64:
      return a << (b & 63);
    case kOpShrU64:
      return a >> (b & 63);
    case kOpShrS64:
      return static_cast<u64>(static_cast<long long>(a) >> (b & 63));
    case kOpDivU64:
      return a / compute_divisor(b);
    case kOpRemU64:
      return a % compute_divisor(b);
    default:  // kOpFromIntF64
      return bits_of(static_cast<double>(static_cast<long long>(a)));
  }
}

GPUREADY_DEVICE u64 apply_f32(u32 op, const ComputeInputs& in) {
  const float a = as_float(in.a), b = as_float(in.b), c = as_float(in.c);
  switch (op) {
    case kOpAddF32:
    case kOpAddNormalF32:
      return bits_of(a + b);
    case kOpMulF32:
    case kOpMulNormalF32:
      return bits_of(a * b);
    case kOpFmaF32:
      return bits_of(__builtin_fmaf(a, b, c));
    case kOpDivF32:
      return bits_of(a / b);
    case kOpSqrtF32:
      return bits_of(__builtin_sqrtf(a));
    case kOpCompareF32:
      return compare(a, b);
    case kOpToIntF32:
      return static_cast<u32>(
          static_cast<int>(as_float(compute_fits_int32(static_cast<u32>(in.a)))));
#if GPUREADY_HAS_ALL_OPS
    case kOpWidenF32:
      return bits_of(static_cast<double>(a));
    default:  // kOpNarrowF32
      return compute_canonical16(half_from_float(a));
#else
    default:
      return 0;
#endif
  }
}

#if GPUREADY_HAS_ALL_OPS
GPUREADY_DEVICE u64 apply_f64(u32 op, const ComputeInputs& in) {
  const double a = as_double(in.a), b = as_double(in.b), c = as_double(in.c);
  switch (op) {
    case kOpAddF64:
      return bits_of(a + b);
    case kOpMulF64:
      return bits_of(a * b);
    case kOpFmaF64:
      return bits_of(__builtin_fma(a, b, c));
    case kOpDivF64:
      return bits_of(a / b);
    case kOpSqrtF64:
      return bits_of(__builtin_sqrt(a));
    case kOpCompareF64:
      return compare(a, b);
    case kOpToIntF64:
      return static_cast<u64>(static_cast<long long>(as_double(compute_fits_int64(in.a))));
    default:  // kOpNarrowF64
      return bits_of(static_cast<float>(a));
  }
}

GPUREADY_DEVICE u64 apply_f16(u32 op, const ComputeInputs& in) {
  [[maybe_unused]] const u32 a = static_cast<u32>(in.a), b = static_cast<u32>(in.b),
                             c = static_cast<u32>(in.c);
  switch (op) {
#if GPUREADY_HAS_FP16
    case kOpAddF16:
      return bits_of_half2(add_half2(a, b));
    case kOpMulF16:
      return bits_of_half2(multiply_half2(a, b));
    case kOpFmaF16:
      return bits_of_half2(fma_half2(a, b, c));
#endif
    default:  // kOpWidenF16
      return bits_of(float_from_half(a & 0xFFFF));
  }
}

GPUREADY_DEVICE u64 apply_special(u32 op, float x) {
  switch (op) {
    case kOpSin:
      return bits_of(approximate_sin(x));
    case kOpCos:
      return bits_of(approximate_cos(x));
    case kOpEx2:
      return bits_of(approximate_ex2(x));
    case kOpLg2:
      return bits_of(approximate_lg2(x));
    case kOpRcp:
      return bits_of(approximate_rcp(x));
    case kOpRsqrt:
      return bits_of(approximate_rsqrt(x));
#if GPUREADY_HAS_TANH
    case kOpTanh:
      return bits_of(approximate_tanh(x));
#endif
    default:  // kOpSqrtApprox
      return bits_of(approximate_sqrt(x));
  }
}

#endif

// Independent results: each thread takes every kThreads-th index.
template <Kind kind, u64 (*apply)(u32, const ComputeInputs&)>
GPUREADY_DEVICE void each(Task& task) {
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count; i += kThreads) {
    const u32 index = task.p.first_index + i;
    task.take(index, apply(task.op, compute_inputs(kind, task.key, index)));
  }
}

// Both kinds of fp32 inputs, by the same instructions.
GPUREADY_DEVICE void each_f32(Task& task) {
  const bool normal = task.op == kOpAddNormalF32 || task.op == kOpMulNormalF32;
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count; i += kThreads) {
    const u32 index = task.p.first_index + i;
    const ComputeInputs in = normal ? compute_inputs(Kind::normal, task.key, index)
                                    : compute_inputs(Kind::f32, task.key, index);
    task.take(index, apply_f32(task.op, in));
  }
}

#if GPUREADY_HAS_ALL_OPS
GPUREADY_DEVICE void each_special(Task& task) {
  const Kind kind = task.op == kOpSin || task.op == kOpCos ? Kind::angle
                    : task.op == kOpEx2                    ? Kind::exponent
                    : task.op == kOpRcp                    ? Kind::any
                    : task.op == kOpTanh                   ? Kind::tanh
                                                           : Kind::positive;
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count; i += kThreads) {
    const u32 index = task.p.first_index + i;
    const ComputeInputs in = compute_inputs(kind, task.key, index);
    task.take(index, apply_special(task.op, as_float(in.a)));
  }
}

#endif

// All of the block's shared memory is written, and read by other threads than wrote it.
GPUREADY_DEVICE void shared_memory(Task& task) {
  const u32 words = task.p.shared_words;
  const u32 results = compute_results(kOpSharedMemory, task.p.count, words);
#pragma unroll 1
  for (u32 round = 0; round < results; round += words) {
    const u32 first = task.p.first_index + round;
    block_barrier();
    for (u32 i = thread_index(); i < words; i += kThreads)
      dynamic_words[i] = compute_draw(task.key, first + i, 1);
    block_barrier();
    for (u32 i = thread_index(); i < words; i += kThreads)
      task.take(first + words - 1 - i, dynamic_words[words - 1 - i]);
  }
}

#if GPUREADY_HAS_ALL_OPS
GPUREADY_DEVICE void shuffle(Task& task) {
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count; i += kThreads) {
    const u32 index = task.p.first_index + i, distance = compute_shuffle_distance(index);
    u32 value = compute_draw(task.key, index, 1);
    switch (compute_shuffle_kind(index)) {  // the same for the whole warp
      case ComputeShuffle::up:
        value = shuffle_up(value, distance);
        break;
      case ComputeShuffle::down:
        value = shuffle_down(value, distance);
        break;
      case ComputeShuffle::butterfly:
        value = shuffle_butterfly(value, distance);
        break;
      default:
        value = shuffle_any(value, compute_shuffle_source(index));
        break;
    }
    task.take(index, value);
  }
}

GPUREADY_DEVICE void vote(Task& task) {
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count; i += kThreads) {
    const u32 index = task.p.first_index + i;
    task.take(index, vote_ballot(compute_draw(task.key, index, 1) & 1));
  }
}

#endif

GPUREADY_DEVICE void registers(Task& task) {
#pragma unroll 1
  for (u32 i = thread_index(); i < task.p.count / kComputeRegisters; i += kThreads) {
    const u32 first = task.p.first_index + i * kComputeRegisters;
    u32 values[kComputeRegisters];
#pragma unroll
    for (u32 r = 0; r < kComputeRegisters; ++r) values[r] = compute_draw(task.key, first + r, 1);
#pragma unroll 1
    for (u32 round = 0; round < kComputeRegisterRounds; ++round) compute_register_round(values);
#pragma unroll
    for (u32 r = 0; r < kComputeRegisters; ++r) task.take(first + r, values[r]);
  }
}

// All threads of the block at the same few cells.
GPUREADY_DEVICE void atomics(Task& task, u32* cells) {
  constexpr u32 kCells = kComputeAtomics * kComputeCells;
  const u32 thread = thread_index();
  if (thread < kCells) atomic_exchange(cells + thread, thread / kComputeCells == 2 ? ~0u : 0);
  device_fence();
  block_barrier();
#pragma unroll 1
  for (u32 i = thread; i < compute_atomic_inputs(task.p.count); i += kThreads) {
    const u32 value = compute_draw(task.key, task.p.first_index + i, 1);
    u32* cell = cells + i % kComputeCells;
    atomic_add(cell, value);
    atomic_xor(cell + kComputeCells, value);
    atomic_min(cell + 2 * kComputeCells, value);
    atomic_max(cell + 3 * kComputeCells, value);
  }
  device_fence();
  block_barrier();
  if (thread < kCells) task.take(task.p.first_index + thread, atomic_add(cells + thread, 0));
}

GPUREADY_DEVICE bool is_there(u32 op) {
#if GPUREADY_HAS_ALL_OPS
  if (op >= kOpAddF16 && op <= kOpFmaF16) return GPUREADY_HAS_FP16;
  if (op == kOpTanh) return GPUREADY_HAS_TANH;
  return true;
#else
  return compute_op_is_there_in_hip(op);
#endif
}

GPUREADY_DEVICE void run(Task& task, ComputeRecord* record) {
  const u32 op = task.op;
  if (op <= kOpMaxU32 || op == kOpFromIntF32)
    each<Kind::i32, apply_i32>(task);
  else if (op <= kOpRemU64 || op == kOpFromIntF64)
    each<Kind::i64, apply_i64>(task);
  else if (op <= kOpToIntF32 || op == kOpWidenF32 || op == kOpNarrowF32)
    each_f32(task);
#if GPUREADY_HAS_ALL_OPS
  else if (op <= kOpNarrowF64)
    each<Kind::f64, apply_f64>(task);
  else if (op <= kOpFmaF16)
    each<Kind::f16, apply_f16>(task);
#endif
  else if (op == kOpSharedMemory)
    shared_memory(task);
#if GPUREADY_HAS_ALL_OPS
  else if (op == kOpShuffle)
    shuffle(task);
  else if (op == kOpVote)
    vote(task);
#endif
  else if (op == kOpRegisters)
    registers(task);
  else if (op == kOpGlobalAtomics)
    atomics(task, record->cells);
  else if (op == kOpSharedAtomics)
    atomics(task, shared_cells);
#if GPUREADY_HAS_ALL_OPS
  else
    each_special(task);
#endif
}

}  // namespace

GPUREADY_KERNEL(kThreads, 1) void gpuready_compute(ComputeParams p) {
  ComputeRecord* record = reinterpret_cast<ComputeRecord*>(p.records_address) + block_index();
  const u32 thread = thread_index(), unit = unit_id();
  const bool faulty = p.fault_unit == unit + 1, stores = p.store_unit == unit + 1;
  const u32 passes = faulty && p.fault_kind == ComputeFaultKind::slow ? 2 : 1;
  u64 results = 0, done[2] = {0, 0}, unused_sum = 0;
  block_barrier();
  const u64 start = clock_ticks();

#pragma unroll 1
  for (u32 pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (u32 op = p.first_op; op < p.end_op; ++op) {
      if (!is_there(op)) continue;
      Task task{p, op, compute_key(p.seed, op),
                faulty && p.fault_op == op && p.fault_kind != ComputeFaultKind::slow,
                stores && op == p.first_op};
      run(task, record);
      const u64 sum = warp_sum(task.sum), count = warp_sum(task.results);
      if (thread % warp_threads() == 0)
        warp_sums[thread / warp_threads()] = sum, warp_results[thread / warp_threads()] = count;
      block_barrier();
      if (thread == 0) {
        u64 total = 0;
        for (u32 warp = 0; warp < kThreads / warp_threads(); ++warp) {
          total += warp_sums[warp];
          if (pass == 0) results += warp_results[warp];
        }
        if (pass == 0)
          record->checksum[op] = total;
        else
          unused_sum += total;
        done[op / 64] |= u64{1} << op % 64;
      }
      block_barrier();
    }
  }
  if (thread == 0) {
    record->ticks = clock_ticks() - start;
    record->unit_at_start = unit;
    record->unit_at_end = unit_id();
    record->results = results;
    record->ops_done[0] = done[0];
    record->ops_done[1] = done[1];
    record->unused_sum = unused_sum;
    device_fence();
    record->nonce = p.nonce;
  }
}
