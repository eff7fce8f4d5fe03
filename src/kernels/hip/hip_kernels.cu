// All kernels that run through HIP, one translation unit for each target: one code object holds
// them all and is loaded once.
#include "kernels/cuda/compute.cu"
#include "kernels/cuda/memory.cu"
#include "kernels/cuda/record.cu"
