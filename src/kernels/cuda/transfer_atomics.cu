// Atomics that hold for the whole system came with sm_60.
#include "kernels/cuda/transfer_device.cuh"

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_KERNEL(256, 4) void gpuready_peer_atomics(PeerAtomicsParams params) {
  add_atomically(params);
}
