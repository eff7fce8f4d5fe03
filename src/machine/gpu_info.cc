#include "gpuready/gpu_info.h"

#include <algorithm>

#include "base/result.h"
#include "base/text.h"
#include "base/vendor_codes.h"
#include "machine/live_machine.h"

namespace gpuready {
namespace {
constexpr std::string_view kNone = "No GPU backend detected.";

bool faked(const Machine& machine, std::string_view backend) {
  return std::find(machine.fakes.begin(), machine.fakes.end(), backend) != machine.fakes.end();
}

bool cuda_works(const NvidiaDriver& driver) {
  return driver.cuda_start && driver.cuda_start->ok() && driver.cuda_device_count.value_or(0) > 0;
}

bool rocm_works(const Machine& machine) {
  const bool gpu = std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& g) {
    return g.vendor == Vendor::amd && !g.suspended;
  });
  return gpu && machine.amd.start && machine.amd.start->ok();
}

const VulkanDevice* vulkan_gpu(const Machine& machine) {
  for (const auto& device : machine.vulkan.devices)
    if (!device.software()) return &device;
  return nullptr;
}

bool has_gl_library(const Machine& machine) {
  return std::any_of(machine.libraries.begin(), machine.libraries.end(), [](const auto& library) {
    return library.name.starts_with("libGL.so") || library.name.starts_with("libEGL.so");
  });
}

bool has_render_node(const Machine& machine) {
  return std::any_of(machine.nodes.begin(), machine.nodes.end(), [](const DeviceNode& node) {
    return node.exists && node.path.starts_with("/dev/dri/renderD");
  });
}

// "1.3.239" -> "1.3"
std::optional<std::string> short_version(const std::optional<std::string>& version) {
  if (!version) return std::nullopt;
  const auto first = version->find('.');
  return first == version->npos ? version : version->substr(0, version->find('.', first + 1));
}

std::string name_of(const ApiStatus& status) {
  return status.call + " gave " + std::to_string(status.code) +
         (status.name.empty() ? "" : " (" + status.name + ")");
}

// What stands between a GPU that is there and its use.
std::string obstacle(const Machine& machine) {
  if (!machine.fakes.empty()) return " GPUs are faked, and the fake is \"none\".";
  if (machine.gpus.empty()) return " No GPU was found on this machine.";
  std::string out = " Found " + machine.gpus.front().name;
  if (machine.gpus.size() > 1) out += " and " + std::to_string(machine.gpus.size() - 1) + " more";
  const auto& nvidia = machine.nvidia;
  if (nvidia.cuda_start && !nvidia.cuda_start->ok())
    out += ", but " + name_of(*nvidia.cuda_start);
  else if (nvidia.nvml_start && !nvidia.nvml_start->ok())
    out += ", but " + name_of(*nvidia.nvml_start);
  else if (machine.amd.start && !machine.amd.start->ok())
    out += ", but " + name_of(*machine.amd.start);
  else
    out += ", but no driver library that can use it";
  return out + ". `gpuready doctor` names the cause and the cure.";
}
}  // namespace

std::string GpuInfo::summary() const {
  std::vector<std::string> names;
  const auto add = [&](bool available, std::string name,
                       const std::optional<std::string>& version) {
    if (!available) return;
    if (version) name += " " + *version;
    names.push_back(std::move(name));
  };
  add(cuda, "CUDA", cuda_version);
  add(metal, "Metal", std::nullopt);
  add(rocm, "ROCm", rocm_version);
  add(vulkan, "Vulkan", vulkan_version);
  add(opengl, "OpenGL", std::nullopt);
  add(wgpu, "WebGPU", std::nullopt);
  if (names.empty()) return "No GPU backends available";
  return "Available GPU backends: " + join(names, ", ") + (faked ? " (faked)" : "");
}

GpuInfo v0::gpu_info_of(const Machine& machine) {
  GpuInfo info;
  if (!machine.fakes.empty()) {
    info.cuda = faked(machine, "cuda");
    info.metal = faked(machine, "metal");
    info.rocm = faked(machine, "rocm");
    info.vulkan = faked(machine, "vulkan");
    info.opengl = faked(machine, "opengl");
    info.wgpu = faked(machine, "wgpu") || info.any_available();
    info.faked = true;
    return info;
  }
  if (cuda_works(machine.nvidia)) {
    info.cuda = true;
    info.cuda_version = machine.nvidia.cuda_version;
  }
  info.metal = machine.apple.metal.value_or(false);
  if (rocm_works(machine)) {
    info.rocm = true;
    info.rocm_version = short_version(machine.amd.rocm_version);
  }
  if (const auto* device = vulkan_gpu(machine)) {
    info.vulkan = true;
    info.vulkan_version = short_version(device->api_version);
  }
  info.opengl = has_gl_library(machine) && has_render_node(machine) && !machine.gpus.empty();
  info.wgpu = info.vulkan || info.metal;
  return info;
}

Result<GpuInfo> v0::try_get_gpu_info() { return gpu_info_of(*TRY(inspect_machine())); }

GpuInfo v0::get_gpu_info() { return try_get_gpu_info().value_or(GpuInfo{}); }

bool v0::gpu_available() { return live_gpu_available().value_or(false); }

Result<void> v0::preflight_check(const Machine& machine) {
  if (gpu_info_of(machine).any_available()) return {};
  return fail(ErrorKind::no_device, std::string(kNone) + obstacle(machine));
}

Result<void> v0::preflight_check() {
  const auto machine = inspect_machine();
  if (machine) return preflight_check(**machine);
  return fail(machine.error().kind, std::string(kNone) + " " + machine.error().message);
}

Result<std::vector<CudaDeviceInfo>> v0::list_cuda_devices() {
  return cuda_devices_of(*TRY(inspect_machine()));
}

Result<std::vector<CudaDeviceInfo>> v0::cuda_devices_of(const Machine& machine) {
  const auto& driver = machine.nvidia;
  // That there is no device is an answer, not a failure.
  if (driver.cuda_start && !driver.cuda_start->ok() &&
      driver.cuda_start->code != cuda_code::kNoDevice)
    return fail(ErrorKind::device, "the CUDA driver did not start: " + name_of(*driver.cuda_start),
                driver.cuda_start->code);
  if (driver.cuda_stopped_in)
    return fail(ErrorKind::device, "the CUDA driver " + driver.cuda_outcome.value_or("stopped") +
                                       " in " + *driver.cuda_stopped_in);
  std::vector<CudaDeviceInfo> devices;
  for (const auto& gpu : machine.gpus) {
    if (!gpu.cuda || gpu.faked) continue;
    const auto& limits = *gpu.cuda;
    CudaDeviceInfo info;
    info.device_id = limits.ordinal;
    info.name = gpu.name;
    info.uuid = gpu.uuid;
    if (gpu.compute_capability)
      if (const auto version = parse_version(*gpu.compute_capability);
          version && version->parts.size() == 2)
        info.compute_capability = {version->parts[0], version->parts[1]};
    info.total_memory_bytes =
        limits.total_memory_bytes.value_or(gpu.memory.total_bytes.value_or(0));
    info.multiprocessor_count = limits.multiprocessors.value_or(0);
    info.max_threads_per_block = limits.max_threads_per_block.value_or(0);
    info.max_shared_memory_per_block_bytes = limits.shared_memory_per_block_bytes.value_or(0);
    info.supports_fp16 = info.compute_capability >= std::pair(5, 3);
    info.supports_bf16 = info.compute_capability >= std::pair(8, 0);
    info.supports_fp8 = info.compute_capability >= std::pair(8, 9);
    info.warp_size = limits.warp_size.value_or(0);
    info.max_threads_per_multiprocessor = limits.max_threads_per_multiprocessor.value_or(0);
    info.max_blocks_per_multiprocessor = limits.max_blocks_per_multiprocessor.value_or(0);
    info.max_grid_x = limits.max_grid_x.value_or(0);
    info.shared_memory_per_multiprocessor_bytes =
        limits.shared_memory_per_multiprocessor_bytes.value_or(0);
    devices.push_back(std::move(info));
  }
  std::sort(devices.begin(), devices.end(),
            [](const auto& a, const auto& b) { return a.device_id < b.device_id; });
  return devices;
}

Result<LaunchParams> v0::optimal_launch_params(std::int64_t rows, std::int64_t cols) {
  const auto devices = TRY(list_cuda_devices());
  if (devices.empty()) return fail(ErrorKind::no_device, "there is no CUDA device");
  return optimal_launch_params(rows, cols, devices.front());
}

}  // namespace gpuready
