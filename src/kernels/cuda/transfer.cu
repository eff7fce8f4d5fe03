// The kernels that fill and check what is transferred.
#include "kernels/cuda/transfer_device.cuh"

using namespace gpuready;
using namespace gpuready::device;

GPUREADY_KERNEL(256, 4) void gpuready_transfer_fill(TransferFillParams params) {
  fill_transfer(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_transfer_check(TransferCheckParams params) {
  check_transfer(params);
}

GPUREADY_KERNEL(256, 4) void gpuready_transfer_check_sum(TransferSumParams params) {
  check_sum(params);
}
