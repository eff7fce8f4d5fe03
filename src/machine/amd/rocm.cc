// What the ROCm probe's document says. Not verified on hardware.
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
constexpr std::int64_t kMostDevices = 256;

// The library's own words for a code, asked for in the probe right after the failing call.
std::string code_name(const ProbeDocument& document, const char* translator, int code) {
  const std::string call = std::string(translator) + "(" + std::to_string(code) + ")";
  return document.text(call).value_or(std::to_string(code));
}

std::optional<ApiStatus> status_of(const ProbeDocument& document, const char* call,
                                   const char* translator) {
  const auto* answer = document.find(call);
  if (!answer || answer->missing) return std::nullopt;
  ApiStatus status{call, answer->code, ""};
  if (!status.ok()) status.name = code_name(document, translator, answer->code);
  return status;
}

// HIP packs a version as major * 10'000'000 + minor * 100'000 + patch.
std::string hip_version(std::int64_t packed) {
  return std::to_string(packed / 10'000'000) + "." + std::to_string(packed / 100'000 % 100);
}

void apply_device(const ProbeDocument& document, Machine& machine, std::int64_t ordinal) {
  const std::string index = "(" + std::to_string(ordinal) + ")";
  const auto bus_id = document.text("hipDeviceGetPCIBusId" + index);
  const auto address = bus_id ? parse_pci_address(*bus_id) : std::nullopt;
  if (!address) return;
  auto& gpu = gpu_at(machine, *address, Vendor::amd);
  add_source(gpu, "rocm");
  if (const auto name = document.text("hipDeviceGetName" + index);
      name && !name->empty() && gpu.name.empty()) {
    gpu.name = *name;
    gpu.name_source = "rocm";
  }
  if (!gpu.memory.total_bytes)
    gpu.memory.total_bytes = document.unsigned_integer("hipDeviceTotalMem" + index);
}
}  // namespace

void apply_rocm(const ProbeDocument& document, Machine& machine) {
  auto& amd = machine.amd;
  amd.outcome = to_string(document.outcome);
  if (!document.stopped_in.empty()) amd.stopped_in = document.stopped_in;
  amd.start = status_of(document, "hsa_init()", "hsa_status_string");
  // HIP adds nothing to a start that already failed below it.
  if (!amd.start || amd.start->ok())
    if (auto hip = status_of(document, "hipInit(0)", "hipGetErrorName")) amd.start = std::move(hip);
  if (!amd.rocm_version)
    if (const auto packed = document.integer("hipRuntimeGetVersion()");
        packed && *packed > 10'000'000)
      amd.rocm_version = hip_version(*packed);
  const auto count = document.integer("hipGetDeviceCount()").value_or(0);
  for (std::int64_t i = 0; i < std::min(count, kMostDevices); ++i)
    apply_device(document, machine, i);
}

}  // namespace gpuready
