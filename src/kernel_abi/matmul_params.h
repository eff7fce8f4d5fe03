// A square FP32 product C = A * B, all row-major.
#pragma once

namespace gpuready {

struct MatmulParams {
  unsigned long long a_address, b_address, c_address;
  unsigned long long n;  // rows and columns; a multiple of 64
};

}  // namespace gpuready
