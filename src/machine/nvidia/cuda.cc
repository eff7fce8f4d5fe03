// The CUDA driver's document, applied: GPUs joined by PCI address, else by UUID.
#include <algorithm>

#include "base/cuda_errors.h"
#include "base/text.h"
#include "base/vendor_codes.h"
#include "machine/nvidia/architectures.h"
#include "machine/probe_answers.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

constexpr int kMaxDevices = 1024;
using cuda_code::kNoDevice;

template <class T>
struct LimitField {
  const char* attribute;  // as probe/cuda_probe.cc names it
  std::optional<T> CudaLimits::* field;
};
constexpr LimitField<int> kIntLimits[] = {
    {"multiprocessor_count", &CudaLimits::multiprocessors},
    {"max_threads_per_block", &CudaLimits::max_threads_per_block},
    {"max_threads_per_multiprocessor", &CudaLimits::max_threads_per_multiprocessor},
    {"max_blocks_per_multiprocessor", &CudaLimits::max_blocks_per_multiprocessor},
    {"warp_size", &CudaLimits::warp_size},
    {"max_registers_per_multiprocessor", &CudaLimits::registers_per_multiprocessor},
    {"max_grid_dim_x", &CudaLimits::max_grid_x},
    {"max_block_dim_x", &CudaLimits::max_block_x},
    {"clock_rate", &CudaLimits::clock_khz},
    {"memory_clock_rate", &CudaLimits::memory_clock_khz},
    {"global_memory_bus_width", &CudaLimits::memory_bus_width_bits},
    {"async_engine_count", &CudaLimits::copy_engines},
    {"compute_mode", &CudaLimits::compute_mode},
};
constexpr LimitField<std::uint64_t> kByteLimits[] = {
    {"max_shared_memory_per_block", &CudaLimits::shared_memory_per_block_bytes},
    {"max_shared_memory_per_block_optin", &CudaLimits::shared_memory_per_block_optin_bytes},
    {"max_shared_memory_per_multiprocessor", &CudaLimits::shared_memory_per_multiprocessor_bytes},
    {"l2_cache_size", &CudaLimits::l2_cache_bytes},
};
constexpr LimitField<bool> kFlagLimits[] = {
    {"integrated", &CudaLimits::integrated},
    {"cooperative_launch", &CudaLimits::cooperative_launch},
    {"managed_memory", &CudaLimits::managed_memory},
    {"unified_addressing", &CudaLimits::unified_addressing},
    {"ecc_enabled", &CudaLimits::ecc_enabled},
    {"tcc_driver", &CudaLimits::tcc_driver},
    {"memory_pools_supported", &CudaLimits::memory_pools},
    {"generic_compression_supported", &CudaLimits::compression},
    {"multicast_supported", &CudaLimits::multicast},
};

void apply_system(const ProbeDocument& document, NvidiaDriver& nvidia) {
  nvidia.cuda_outcome = to_string(document.outcome);
  if (!document.stopped_in.empty()) nvidia.cuda_stopped_in = printable(document.stopped_in);
  if (!document.library_real_path.empty())
    nvidia.cuda_library = printable(document.library_real_path);
  else if (!document.library_path.empty())
    nvidia.cuda_library = printable(document.library_path);
  if (const auto* init = document.find("cuInit(0)"); init != nullptr && !init->missing)
    nvidia.cuda_start = {"cuInit(0)", init->code, cuda_error_name(init->code)};
  // The library that programs load decides, so its own word goes before NVML's.
  if (const auto version = as_int(document.value("cuDriverGetVersion()"));
      version && *version >= 1000)
    nvidia.cuda_version =
        std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
  take(nvidia.cuda_device_count, as_int(document.value("cuDeviceGetCount()")));
}

CudaLimits limits_of(const DeviceAnswers& answers, int ordinal) {
  CudaLimits limits;
  limits.ordinal = ordinal;
  const auto attribute = [&](const char* name) -> const Json& {
    return answers.value("cuDeviceGetAttribute", name);
  };
  for (const auto& entry : kIntLimits) limits.*entry.field = as_int(attribute(entry.attribute));
  for (const auto& entry : kByteLimits) limits.*entry.field = as_u64(attribute(entry.attribute));
  for (const auto& entry : kFlagLimits) limits.*entry.field = as_flag(attribute(entry.attribute));
  limits.total_memory_bytes = as_u64(answers.value("cuDeviceTotalMem_v2"));
  return limits;
}

// Integrated GPUs that are on no bus (Jetson) tell 0000:00:00.0 or nothing.
std::optional<PciAddress> address_of(const DeviceAnswers& answers) {
  const auto text = as_text(answers.value("cuDeviceGetPCIBusId"));
  const auto address = text ? parse_pci_address(*text) : std::nullopt;
  return address == PciAddress{} ? std::nullopt : address;
}

std::optional<std::string> uuid_of(const DeviceAnswers& answers) {
  return as_text(answers.first_value({"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}));
}

Gpu* gpu_of_instance(Machine& machine, const std::string& uuid) {
  for (auto& gpu : machine.gpus)
    for (const auto& instance : gpu.mig)
      if (instance.uuid && equals_ignore_case(*instance.uuid, "MIG-" + uuid)) return &gpu;
  return nullptr;
}

// The only NVIDIA GPU without an address, when the driver reports just one device without one.
Gpu* integrated_gpu(Machine& machine) {
  Gpu* found = nullptr;
  for (auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia || gpu.pci || gpu.uuid) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

Gpu& join(const DeviceAnswers& answers, Machine& machine) {
  const auto address = address_of(answers);
  if (auto* tegra = gpu_of_tegra(machine, address)) return *tegra;
  if (address) return gpu_at(machine, *address, Vendor::nvidia);
  if (const auto uuid = uuid_of(answers)) {
    if (auto* known = gpu_with_uuid(machine, "GPU-" + *uuid)) return *known;
    if (auto* parent = gpu_of_instance(machine, *uuid)) return *parent;
  }
  if (auto* known = integrated_gpu(machine)) return *known;
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::nvidia;
  return gpu;
}

void apply_identity(const DeviceAnswers& answers, Gpu& gpu) {
  const auto name = as_text(answers.value("cuDeviceGetName"));
  if (name && (gpu.name.empty() || gpu.name_source == "pci.ids" || gpu.name_source == "pci")) {
    gpu.name = *name;
    gpu.name_source = "cuda";
  }
  const auto major = as_int(answers.value("cuDeviceGetAttribute", "compute_capability_major"));
  const auto minor = as_int(answers.value("cuDeviceGetAttribute", "compute_capability_minor"));
  if (major && minor && *major > 0 && *minor >= 0)
    take_if_absent(gpu.compute_capability,
                   std::optional(std::to_string(*major) + "." + std::to_string(*minor)));
  if (gpu.compute_capability)
    take_if_absent(gpu.architecture, nvidia_architecture_name(*gpu.compute_capability));
}

// What holds for the whole GPU; for a MIG instance the driver reports what that instance has.
void apply_whole_gpu(const DeviceAnswers& answers, Gpu& gpu) {
  const auto& limits = *gpu.cuda;
  take(gpu.multiprocessors, limits.multiprocessors);
  take_if_absent(gpu.memory.total_bytes, limits.total_memory_bytes);
  take_if_absent(gpu.memory.bus_width_bits, limits.memory_bus_width_bits);
  if (limits.integrated) gpu.integrated = *limits.integrated;
  if (const auto uuid = uuid_of(answers)) take_if_absent(gpu.uuid, std::optional("GPU-" + *uuid));
}

bool concerns_gpu(int code) {
  // kInvalidValue: an attribute that this driver does not know
  return code != 0 && code != cuda_code::kInvalidValue && code != cuda_code::kNotSupported;
}

void collect_errors(const DeviceAnswers& answers, Gpu& gpu) {
  for (const auto& [key, call] : answers.document().calls) {
    if (call.missing || !concerns_gpu(call.code)) continue;
    const auto name = parse_call(key);
    if (!name || name->arguments.empty() || name->arguments.front() != answers.id() ||
        !name->symbol.starts_with("cuDevice"))
      continue;
    const bool known = std::ranges::any_of(gpu.errors, [&](const ApiStatus& status) {
      return status.code == call.code && status.call.starts_with("cu");
    });
    if (!known) gpu.errors.push_back({printable(key), call.code, cuda_error_name(call.code)});
  }
}

void apply_device(const DeviceAnswers& answers, int ordinal, Machine& machine) {
  auto& gpu = join(answers, machine);
  add_source(gpu, "cuda");
  gpu.visible_to_cuda = true;
  collect_errors(answers, gpu);
  if (gpu.cuda_ordinal) return;  // a second MIG instance of the same GPU
  gpu.cuda_ordinal = ordinal;
  gpu.cuda = limits_of(answers, ordinal);
  apply_identity(answers, gpu);
  if (gpu.mig_enabled != true) apply_whole_gpu(answers, gpu);
}

}  // namespace

void apply_cuda(const ProbeDocument& document, Machine& machine) {
  auto& nvidia = machine.nvidia;
  apply_system(document, nvidia);
  const bool started = nvidia.cuda_start && nvidia.cuda_start->ok();
  const bool none = nvidia.cuda_start && nvidia.cuda_start->code == kNoDevice;
  if (!started && !none) return;
  for (int ordinal = 0; ordinal < kMaxDevices; ++ordinal) {
    const DeviceAnswers answers(document, std::to_string(ordinal));
    const auto* handle = answers.find("cuDeviceGet");
    if (handle == nullptr) break;
    // One that cannot be had has no address either: that it is missing shows in the counts.
    if (handle->ok()) apply_device(answers, ordinal, machine);
  }
  // A document cut short tells nothing about the GPUs that were not reached.
  if (document.outcome != ProbeOutcome::completed) return;
  for (auto& gpu : machine.gpus)
    if (gpu.vendor == Vendor::nvidia && !gpu.visible_to_cuda) gpu.visible_to_cuda = false;
}

}  // namespace gpuready
