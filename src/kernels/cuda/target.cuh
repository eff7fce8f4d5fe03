// What device code asks of its target, in one place: NVIDIA's (PTX) and AMD's (GCN, as HIP), both
// by clang and without the vendor's headers. Kernels built on this alone compile for either.
#pragma once

#define GPUREADY_DEVICE __attribute__((device, always_inline)) inline
#define GPUREADY_SHARED __attribute__((shared))
#define GPUREADY_GLOBAL_MEMORY __attribute__((address_space(1)))

// A kernel of at most `threads` threads a block, compiled so that an SM (a compute unit) holds at
// least `blocks_per_unit` blocks at once.
#if defined(__AMDGCN__)
#define GPUREADY_KERNEL(threads, blocks_per_unit) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, threads)))
#else
#define GPUREADY_KERNEL(threads, blocks_per_unit) \
  extern "C" __attribute__((global, launch_bounds(threads, blocks_per_unit)))
#endif

namespace gpuready::device {

using u32 = unsigned;
using u64 = unsigned long long;

#if defined(__AMDGCN__)

GPUREADY_DEVICE u32 thread_index() { return __builtin_amdgcn_workitem_id_x(); }
GPUREADY_DEVICE u32 block_index() { return __builtin_amdgcn_workgroup_id_x(); }
GPUREADY_DEVICE u32 block_threads() { return __builtin_amdgcn_workgroup_size_x(); }
GPUREADY_DEVICE u32 block_count() { return __builtin_amdgcn_grid_size_x() / block_threads(); }

// Threads that run in step: 64, or 32 from gfx10.
#if __has_builtin(__builtin_amdgcn_wavefrontsize)
GPUREADY_DEVICE u32 warp_threads() { return __builtin_amdgcn_wavefrontsize(); }
#else  // clang before 19
GPUREADY_DEVICE u32 warp_threads() { return __AMDGCN_WAVEFRONT_SIZE__; }
#endif
// The value of the lane `distance` above this one; any value where there is none.
GPUREADY_DEVICE u32 shuffle_down(u32 value, u32 distance) {
  const u32 lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  return static_cast<u32>(__builtin_amdgcn_ds_bpermute(static_cast<int>((lane + distance) * 4),
                                                       static_cast<int>(value)));
}

// All threads of the block wait here, and see what the others stored before.
GPUREADY_DEVICE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// What this thread stored is seen by the whole device before what it stores next.
GPUREADY_DEVICE void device_fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

GPUREADY_DEVICE u64 atomic_add(u64* target, u64 value) {
  return __hip_atomic_fetch_add(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPUREADY_DEVICE u64 atomic_min(u64* target, u64 value) {
  return __hip_atomic_fetch_min(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

GPUREADY_DEVICE u64 atomic_xor(u64* target, u64 value) {
  return __hip_atomic_fetch_xor(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// A counter that goes up steadily while the kernel runs, for intervals within one thread; the
// second form is read once `value` is there.
GPUREADY_DEVICE u64 clock_ticks() { return __builtin_readcyclecounter(); }
GPUREADY_DEVICE u64 clock_ticks_after(u64 value) {
  asm volatile("" ::"v"(value));
  return __builtin_readcyclecounter();
}

#else

GPUREADY_DEVICE u32 thread_index() { return __nvvm_read_ptx_sreg_tid_x(); }
GPUREADY_DEVICE u32 block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
GPUREADY_DEVICE u32 block_threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
GPUREADY_DEVICE u32 block_count() { return __nvvm_read_ptx_sreg_nctaid_x(); }

GPUREADY_DEVICE u32 warp_threads() { return 32; }
GPUREADY_DEVICE u32 shuffle_down(u32 value, u32 distance) {
  return static_cast<u32>(
      __nvvm_shfl_sync_down_i32(-1, static_cast<int>(value), static_cast<int>(distance), 31));
}

GPUREADY_DEVICE void block_barrier() { __syncthreads(); }
GPUREADY_DEVICE void device_fence() { __nvvm_membar_gl(); }

GPUREADY_DEVICE u64 atomic_add(u64* target, u64 value) {
  return static_cast<u64>(
      __nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(target), static_cast<long long>(value)));
}
GPUREADY_DEVICE u64 atomic_min(u64* target, u64 value) {
  return __nvvm_atom_min_gen_ull(target, value);
}

GPUREADY_DEVICE u64 atomic_xor(u64* target, u64 value) {
  u64 old;
  asm volatile("atom.xor.b64 %0, [%1], %2;" : "=l"(old) : "l"(target), "l"(value) : "memory");
  return old;
}

GPUREADY_DEVICE u64 clock_ticks() { return static_cast<u64>(__nvvm_read_ptx_sreg_clock64()); }
GPUREADY_DEVICE u64 clock_ticks_after(u64 value) {
  u64 ticks;
  asm volatile(
      "{ .reg .u64 t; .reg .pred q; setp.eq.u64 q, %1, 0; mov.u64 t, %%clock64;\n"
      "@q mov.u64 t, %%clock64; mov.u64 %0, t; }"
      : "=l"(ticks)
      : "l"(value));
  return ticks;
}

// Where it is in the block's shared memory, for instructions that want that.
GPUREADY_DEVICE u32 shared_address(const void* generic) {
  u64 address;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(generic));
  return static_cast<u32>(address);
}

#endif

// Sums over the warp, right in its lane 0. All lanes must take part.
GPUREADY_DEVICE u32 warp_sum_32(u32 value) {
  for (u32 distance = warp_threads() / 2; distance > 0; distance /= 2)
    value += shuffle_down(value, distance);
  return value;
}
GPUREADY_DEVICE u64 warp_sum(u64 value) {
  for (u32 distance = warp_threads() / 2; distance > 0; distance /= 2) {
    const u32 lo = shuffle_down(static_cast<u32>(value), distance);
    const u32 hi = shuffle_down(static_cast<u32>(value >> 32), distance);
    value += static_cast<u64>(hi) << 32 | lo;
  }
  return value;
}

}  // namespace gpuready::device
