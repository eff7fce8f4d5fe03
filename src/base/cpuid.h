// What an x86 processor says about itself.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

namespace gpuready {

struct Cpuid {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
// Zeros for a leaf that the processor does not have.
inline Cpuid cpuid(unsigned leaf, unsigned subleaf = 0) {
  Cpuid registers;
  __get_cpuid_count(leaf, subleaf, &registers.a, &registers.b, &registers.c, &registers.d);
  return registers;
}

}  // namespace gpuready
#endif
