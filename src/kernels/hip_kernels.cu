// All kernels that run through HIP, one translation unit for each target: one code object holds
// them all and is loaded once.
#include "kernels/compute.cu"
#include "kernels/memory.cu"
