// Unpredictable numbers from the kernel (std::random_device would need a newer glibc than we
// promise).
#pragma once

#include <cstdint>

namespace gpuready {

std::uint64_t random_u64();

}  // namespace gpuready
