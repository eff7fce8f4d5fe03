#include "kernels/transfer_kernels.h"

GPUREADY_EMBEDDED(gpuready_ptx_transfer_sm_50)
GPUREADY_EMBEDDED(gpuready_ptx_transfer_atomics_sm_60)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_transfer_sm_50_begin, gpuready_ptx_transfer_sm_50_end, 50, false}};
const KernelImage kAtomicsImages[] = {{gpuready_ptx_transfer_atomics_sm_60_begin,
                                       gpuready_ptx_transfer_atomics_sm_60_end, 60, false}};

}  // namespace

const Kernel kTransferFill{"gpuready_transfer_fill", kImages, cpu_transfer_fill};
const Kernel kTransferCheck{"gpuready_transfer_check", kImages, cpu_transfer_check};
const Kernel kTransferCheckSum{"gpuready_transfer_check_sum", kImages, cpu_transfer_check_sum};
const Kernel kPeerAtomics{"gpuready_peer_atomics", kAtomicsImages, cpu_peer_atomics};

}  // namespace gpuready
