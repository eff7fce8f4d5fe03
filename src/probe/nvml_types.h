// The part of NVML's binary interface that the probe uses, declared by ourselves from NVIDIA's NVML
// API reference, so that no NVIDIA header is needed. A wrong layout would corrupt memory on real
// machines, so every size is asserted; tests/unit/probe compares offsets that padding decides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/vendor_codes.h"

namespace gpuready::nvml {

using Device = struct DeviceOpaque*;

// nvmlReturn_t. All names and meanings are in machine/nvidia/nvml_errors.cc.
enum Return : int {
  kSuccess = 0,
  kInvalidArgument = nvml_code::kInvalidArgument,
  kNotSupported = nvml_code::kNotSupported,
  kNoPermission = nvml_code::kNoPermission,
  kNotFound = 6,
  kInsufficientSize = 7,
  kFunctionNotFound = nvml_code::kFunctionNotFound,
  kArgumentVersionMismatch = 25,
};

// Structures with a version carry their size and version in the first word.
template <class T>
constexpr std::uint32_t struct_version(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(T)) | version << 24;
}
inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFF;    // GPU or compute instance id
inline constexpr std::uint64_t kValueNotAvailable = ~0ULL;  // a process's used memory

struct PciInfo {  // nvmlPciInfo_t as of nvmlDeviceGetPciInfo_v3; older versions are its first 52
                  // bytes
  char bus_id_legacy[16];
  std::uint32_t domain, bus, device;
  std::uint32_t device_id;  // device id << 16 | vendor id
  std::uint32_t subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct ExcludedDevice {
  PciInfo pci;
  char uuid[80];
};
static_assert(sizeof(ExcludedDevice) == 148);

struct Memory {
  std::uint64_t total, free, used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);

struct Bar1Memory {
  std::uint64_t total, free, used;
};
static_assert(sizeof(Bar1Memory) == 24);

struct Utilization {
  std::uint32_t gpu, memory;  // percent of the last sample period
};
static_assert(sizeof(Utilization) == 8);

struct TemperatureV1 {
  std::uint32_t version;
  std::int32_t sensor;  // 0: the GPU's die
  std::int32_t celsius;
};
static_assert(sizeof(TemperatureV1) == 12);

struct RowRemapperHistogram {  // banks, by how many spare rows are left
  std::uint32_t max, high, partial, low, none;
};
static_assert(sizeof(RowRemapperHistogram) == 20);

struct SramErrorsV1 {
  std::uint32_t version;
  std::uint64_t aggregate_uncorrected_parity, aggregate_uncorrected_secded, aggregate_corrected;
  std::uint64_t volatile_uncorrected_parity, volatile_uncorrected_secded, volatile_corrected;
  std::uint64_t bucket_l2, bucket_sm, bucket_pcie, bucket_mcu, bucket_other;
  std::uint32_t threshold_exceeded;
};
static_assert(sizeof(SramErrorsV1) == 104 && offsetof(SramErrorsV1, threshold_exceeded) == 96);

struct FabricInfoV2 {
  std::uint32_t version;
  std::uint8_t cluster_uuid[16];
  std::int32_t status;
  std::uint32_t clique_id;
  std::uint8_t state;
  std::uint32_t health_mask;
};
static_assert(sizeof(FabricInfoV2) == 36 && offsetof(FabricInfoV2, health_mask) == 32);

struct FabricInfoV3 {
  std::uint32_t version;
  std::uint8_t cluster_uuid[16];
  std::int32_t status;
  std::uint32_t clique_id;
  std::uint8_t state;
  std::uint32_t health_mask;
  std::uint8_t health_summary;
};
static_assert(sizeof(FabricInfoV3) == 40 && offsetof(FabricInfoV3, health_summary) == 36);

struct FabricInfoV1 {  // of nvmlDeviceGetGpuFabricInfo, without a version
  std::uint8_t cluster_uuid[16];
  std::int32_t status;
  std::uint32_t clique_id;
  std::uint8_t state;
};
static_assert(sizeof(FabricInfoV1) == 28 && offsetof(FabricInfoV1, state) == 24);

struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t used_bytes;
};
static_assert(sizeof(ProcessV1) == 16);

struct ProcessV2 {  // also of the _v3 calls
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessV2) == 24);

// Drivers 535.43 to 535.86 answered the _v3 calls with one more word; buffers are sized by this
// one.
struct ProcessV3Of535 {
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;
  std::uint64_t protected_bytes;
};
static_assert(sizeof(ProcessV3Of535) == 32);

union Value {
  double f64;
  std::int32_t s32;
  std::uint32_t u32;
  unsigned long ul;
  std::uint64_t u64;
  std::int64_t s64;
  std::uint16_t u16;
};
static_assert(sizeof(Value) == 8);
enum ValueType : std::int32_t { kF64, kU32, kUl, kU64, kS64, kS32, kU16 };

struct FieldValue {
  std::uint32_t field, scope;
  std::int64_t timestamp_us, latency_us;
  std::int32_t type;  // ValueType
  std::int32_t code;  // nvmlReturn_t of this field
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

struct DeviceAttributes {  // of a MIG device
  std::uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, optical_flow;
  std::uint32_t gpu_slices, compute_slices;
  std::uint64_t memory_mib;
};
static_assert(sizeof(DeviceAttributes) == 40);

struct LicenseExpiry {
  std::uint32_t year;
  std::uint16_t month, day, hour, minute, second;
  std::uint8_t status;
};
static_assert(sizeof(LicenseExpiry) == 16);

struct LicensableFeature {
  std::int32_t code;    // 1 vGPU, 2 RTX workstation, 3 gaming, 4 compute
  std::uint32_t state;  // 1: licensed
  char license[128], product[128];
  std::uint32_t enabled;
  LicenseExpiry expiry;
};
static_assert(sizeof(LicensableFeature) == 284);

struct LicensableFeatures {
  std::int32_t supported;
  std::uint32_t count;
  LicensableFeature features[3];
};
static_assert(sizeof(LicensableFeatures) == 860);

struct ConfComputeState {
  std::uint32_t environment, feature, dev_tools;
};
static_assert(sizeof(ConfComputeState) == 12);

}  // namespace gpuready::nvml
