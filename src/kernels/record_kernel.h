// The kernel that resets and seals results, for every executor. Its parameters are in
// record_params.h.
#pragma once

#include "device/kernel.h"
#include "kernel_abi/record_params.h"

namespace gpuready {

extern const Kernel kRecord;  // RecordParams; one block of kRecordThreads

inline constexpr unsigned kRecordThreads = 256;
unsigned long long record_checksum(const void* words, unsigned long long count);

}  // namespace gpuready
