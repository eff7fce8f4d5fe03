// What the host and the kernels of the tensor test tell each other. Plain structs of fixed layout.
//
// A chain is the product of 16 k-slices, each as deep as one matrix instruction, added up in the
// accumulators. Chains differ by their rotation: slice s of A meets slice (s + 2 * rotation) % 16
// of B. What one thread accumulated is folded into 32 bits and held against its golden fold.
#pragma once

namespace gpuready {

inline constexpr unsigned kTensorSlices = 16;
inline constexpr unsigned kTensorRotations = 8;
inline constexpr unsigned kTensorWarpGroups = 2;  // wgmma: warp groups of 128 threads in a block
inline constexpr unsigned kTensorWarps = 12;      // mma.sync: warps in a block
inline constexpr unsigned kTensorWarpTiles = 2;   // mma.sync: tiles side by side in one warp
inline constexpr unsigned kTensorMaxAccumulators = 128;  // of one thread

// wgmma: where A (64 rows of 512 bytes a warp group) and B (256 rows) lie in the image, which is
// copied to shared memory as it is: columns of 128 bytes, each row's 16-byte pieces swizzled.
inline constexpr unsigned kTensorSliceBytes = 32;
inline constexpr unsigned kTensorARows = 64, kTensorBRows = 256;
inline constexpr unsigned kTensorABytes = kTensorARows * kTensorSlices * kTensorSliceBytes;
inline constexpr unsigned kTensorBBytes = kTensorBRows * kTensorSlices * kTensorSliceBytes;
inline constexpr unsigned kTensorOperandBytes = kTensorWarpGroups * kTensorABytes + kTensorBBytes;
inline constexpr unsigned kTensorFoldBytes =
    kTensorRotations * kTensorWarpGroups * 128 * sizeof(unsigned);
// The swizzle wants shared memory aligned to 1024 bytes, which the kernel sees to.
inline constexpr unsigned kTensorSharedBytes = kTensorOperandBytes + kTensorFoldBytes + 1024;

// The fold of `count` accumulators: four sums, side by side against latency, that are rotated
// before each addition. Factors are odd and rotations lose nothing, so that a change of one
// accumulator always changes the fold; flips of the same bit in several do not cancel, because by
// then they are at different bits. (A sum of 64 bits would be simpler, but on Hopper a
// multiplication with a 64-bit result holds up the tensor cores: the burn then reached 4/5 of its
// rate.)
inline constexpr unsigned kTensorFoldSums = 4;
constexpr unsigned tensor_fold_factor(unsigned i) { return 0x9e3779b1u * (2 * i + 1); }
constexpr unsigned tensor_fold_add(unsigned sum, unsigned value, unsigned i) {
  return (sum << 5 | sum >> 27) + value * tensor_fold_factor(i);
}
constexpr unsigned tensor_fold_end(const unsigned (&sums)[kTensorFoldSums]) {
  unsigned fold = 0;
  for (unsigned i = 0; i < kTensorFoldSums; ++i)
    fold = (fold << 13 | fold >> 19) + sums[i] * tensor_fold_factor(i);
  return fold;
}

enum TensorFaultKind : unsigned long long {
  kTensorFaultNone = 0,
  kTensorFaultFlip = 1,  // of the bits `fault_bits` in one accumulator
  kTensorFaultNan = 2,   // one accumulator becomes `fault_bits`
  kTensorFaultSlow = 3,  // each chain takes several times as long
  kTensorFaultIdle = 4,  // the same, and far longer: other warps do not make up for it
};
inline constexpr unsigned long long kTensorEveryUnit = ~0ull;

struct TensorParams {
  unsigned long long operands_address;  // the image: operands, then folds by [rotation][thread]
  unsigned long long results_address;   // of a TensorResults
  unsigned long long chains;            // for each warp group or warp; a multiple of 8
  unsigned long long rotation_mask;     // wgmma: rotation = chain & mask; mma.sync takes all 8
  // Fault injection: on the SM with this %smid, or on every one. All zero in production.
  unsigned long long fault_kind, fault_unit, fault_thread, fault_chain, fault_element, fault_bits;
};
static_assert(sizeof(TensorParams) <= 128);

inline constexpr unsigned kTensorMaxUnits = 1024;
inline constexpr unsigned kTensorMismatchCapacity = 64;

// One block's. `good` counts the folds that equalled their golden ones, over all threads.
struct TensorUnit {
  unsigned long long unit_at_start, unit_at_end, cycles, good;
};

struct TensorMismatch {
  unsigned long long unit, thread, chain, fold;
  unsigned values[kTensorMaxAccumulators];  // all that the thread had accumulated
};

// Reset by kRecord before each launch.
struct TensorResults {
  unsigned long long bad;  // folds that differed; the first ones have an entry
  unsigned long long reserved;
  TensorUnit units[kTensorMaxUnits];  // by block
  TensorMismatch mismatches[kTensorMismatchCapacity];
};

}  // namespace gpuready
