// Vendors' numbers that decisions depend on, by the vendors' names: once each. Error numbers that
// are only shown are in cuda_errors.h and machine/nvidia/nvml_errors.h.
#pragma once

#include <cstdint>

namespace gpuready {

namespace pci_vendor {  // PCI-SIG's vendor ids
inline constexpr std::uint16_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086, kApple = 0x106b;
}

namespace cuda_code {  // CUresult: CUDA driver API, "Data types"
inline constexpr int kInvalidValue = 1, kDeviceUnavailable = 46, kNoDevice = 100,
                     kNoBinaryForGpu = 209, kEccUncorrectable = 214, kUnsupportedPtxVersion = 222,
                     kNotSupported = 801;
}

namespace nvml_code {  // nvmlReturn_t: NVML API reference, "Device enums"
inline constexpr int kInvalidArgument = 2, kNotSupported = 3, kNoPermission = 4,
                     kInsufficientPower = 8, kFunctionNotFound = 13, kCorruptedInforom = 14,
                     kGpuIsLost = 15, kResetRequired = 16, kUnknown = 999;
}

namespace nvml_field {  // NVML_FI_DEV_*: NVML API reference, "Field value enums"
inline constexpr std::uint32_t kEccNow = 1, kEccPending = 2, kMemoryTemperature = 82,
                               kNvlinkCount = 91, kPcieReplays = 94, kPcieCorrectable = 173,
                               kPcieNonfatal = 179, kPcieFatal = 180, kPowerNow = 186,
                               kRecoveryAction = 230;
}

}  // namespace gpuready
