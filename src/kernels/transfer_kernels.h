// The kernels of the bandwidth and peers tests, for every executor. Their parameters are in
// transfer_params.h; what is copied by kernel is copied by kMemoryCopy (memory_kernels.h).
#pragma once

#include "device/kernel.h"
#include "kernel_abi/transfer_params.h"

namespace gpuready {

extern const Kernel kTransferFill;      // TransferFillParams
extern const Kernel kTransferCheck;     // TransferCheckParams, into TransferResults
extern const Kernel kTransferCheckSum;  // TransferSumParams, into TransferResults
extern const Kernel kPeerAtomics;       // PeerAtomicsParams, into TransferResults; sm_60 and newer

inline constexpr unsigned kTransferKernelThreads = 256;  // threads a block, as compiled

// The same on this processor, for data that arrived in the host's memory.
void cpu_transfer_fill(const void* params, CpuSlice slice);
void cpu_transfer_check(const void* params, CpuSlice slice);
void cpu_transfer_check_sum(const void* params, CpuSlice slice);
void cpu_peer_atomics(const void* params, CpuSlice slice);

}  // namespace gpuready
