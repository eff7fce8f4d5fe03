#include "machine/gpu_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/text.h"
#include "machine/nvidia/cuda_visibility.h"
#include "machine/system/gpu_nodes.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready {
namespace {

using Answer = std::optional<GpuAccess>;

constexpr int kCudaNoDevice = 100;
// NVML's codes of a GPU that is there no longer: not found, is lost, unknown error.
constexpr int kNvmlNoPermission = 4;
constexpr int kNvmlLost[] = {15, 16, 999};

Answer unusable(std::string source, std::string reason) {
  return GpuAccess{GpuUse::unusable, std::move(source), std::move(reason)};
}

const DeviceNode* node_of(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia || !gpu.minor_number) return nullptr;
  const std::string path = fmt::format("/dev/nvidia{}", *gpu.minor_number);
  for (const auto& node : machine.nodes)
    if (node.path == path) return &node;
  return nullptr;
}

const ApiStatus* nvml_error(const Gpu& gpu, int code) {
  for (const auto& status : gpu.errors)
    if (status.code == code && status.call.starts_with("nvml")) return &status;
  return nullptr;
}

// On these platforms GPUs are on no PCI bus that we see, and NVML knows little.
bool odd_platform(const Machine& machine) {
  return machine.system.wsl2 || machine.system.jetson_release.has_value();
}

Answer of_a_claim(const Machine&, const Gpu& gpu) {
  if (gpu.faked) return GpuAccess{GpuUse::faked, "--fake", "it exists nowhere"};
  if (gpu.excluded.value_or(false))
    return unusable("/proc/driver/nvidia",
                    "the driver is configured to leave it out (NVreg_ExcludedGpus)");
  return std::nullopt;
}

GpuAccess not_ours(std::string source, std::string reason) {
  return {GpuUse::not_ours, std::move(source), std::move(reason)};
}

// Containers and batch jobs see the host's whole bus, and may use the GPUs that they were given.
// Where none was given, that is a fault, and the doctor's to name.
Answer of_another(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia || gpu.nvml_index || gpu.suspended || odd_platform(machine) ||
      !nvml_started(machine))
    return std::nullopt;
  if (std::ranges::none_of(machine.gpus,
                           [](const Gpu& other) { return other.nvml_index.has_value(); }))
    return std::nullopt;
  if (const auto* refused = nvml_error(gpu, kNvmlNoPermission))
    return not_ours(refused->call, "not assigned to this container: NVML denies access to it");
  const bool container = machine.container.runtime.has_value();
  const DeviceNode* node = node_of(machine, gpu);
  if (node != nullptr && node->exists && node->open_error == "EPERM")
    return not_ours(node->path, "not given to us: the device cgroup refuses it");
  if (node != nullptr && !node->exists && container)
    return not_ours(node->path, "not given to us: it has no device node here");
  const bool job = in_slurm_job(machine);
  // One whose node can be opened was given to us, and that NVML does not list it is a fault.
  const bool reachable = node != nullptr && node->exists && node->openable.value_or(container);
  if ((container || job) && !reachable)
    return not_ours("nvmlDeviceGetCount_v2()", "not given to us: NVML does not list it here");
  return std::nullopt;
}

// amdgpu refuses a container the KFD nodes of GPUs whose render nodes it was not given.
Answer of_another_amd(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::amd || !machine.container.runtime || gpu.suspended) return std::nullopt;
  for (const auto& [source, call] : {std::pair{"rocm", "hipGetDeviceCount()"},
                                     std::pair{"kfd", "/sys/class/kfd/kfd/topology/nodes"}}) {
    const bool any = std::ranges::any_of(machine.gpus, [&](const Gpu& other) {
      return other.vendor == Vendor::amd && has_source(other, source);
    });
    if (any && !has_source(gpu, source))
      return not_ours(call, "not given to us: it is not listed here");
  }
  return std::nullopt;
}

Answer of_the_bus(const Machine& machine, const Gpu& gpu) {
  if (!gpu.pci || machine.system.wsl2) return std::nullopt;
  const auto device = std::ranges::find(machine.pci, *gpu.pci, &PciDevice::address);
  if (device == machine.pci.end() || (device->driver && !unbound(*device))) return std::nullopt;
  const std::string source = fmt::format("/sys/bus/pci/devices/{}/driver", gpu.pci->text());
  if (is_spare(machine, *device))
    return not_ours(source, "not used: the processor's own graphics, without a driver");
  if (!device->driver) return unusable(source, "no kernel driver is bound to it");
  if (is_display_only(machine, *device))
    return GpuAccess{GpuUse::display_only, source,
                     fmt::format("its driver, {}, offers no compute", printable(*device->driver))};
  if (passes_through(*device->driver))
    return not_ours(source, fmt::format("set aside for virtual machines: {} holds it",
                                        printable(*device->driver)));
  return unusable(source,
                  fmt::format("{} holds it, not its vendor's driver", printable(*device->driver)));
}

std::string_view reason_of(NodeState state) {
  switch (state) {
    case NodeState::missing:
      return "its device node is missing";
    case NodeState::no_permission:
      return "this user may not open its device node";
    case NodeState::refused:
      return "the device cgroup refuses its device node";
    default:
      return {};
  }
}

Answer of_nodes(const Machine& machine, const Gpu& gpu) {
  if (gpu.nvml_index) return std::nullopt;
  for (const auto& access : nodes_of(machine, gpu)) {
    const auto reason = reason_of(access.state);
    if (reason.empty()) continue;
    if (given_others(machine, gpu, access.state))
      return not_ours(access.path, fmt::format("not given to us: {}", reason));
    if (gpu.vendor == Vendor::nvidia) return std::nullopt;  // its libraries tell more
    if (is_spare(machine, gpu))
      return not_ours(access.path,
                      fmt::format("not used: the processor's own graphics; {}", reason));
    return unusable(access.path, std::string(reason));
  }
  return std::nullopt;
}

// "the CUDA driver does not start: CUDA_ERROR_UNKNOWN (999)"
std::string does_not_start(std::string_view what, const ApiStatus& status) {
  return fmt::format("{} does not start: {}", what,
                     status.name.empty() ? fmt::format("code {}", status.code)
                                         : fmt::format("{} ({})", status.name, status.code));
}

// How a probe ended, where that speaks against the driver. One that could not be started does not.
std::optional<std::string> probe_failure(std::string_view what, std::string_view library,
                                         const std::optional<std::string>& outcome) {
  if (!outcome || *outcome == "completed" || *outcome == "not_asked") return std::nullopt;
  if (*outcome == "no_library") return fmt::format("{} was not found", library);
  if (*outcome == "timed_out" || *outcome == "hung")
    return fmt::format("{} did not answer in time", what);
  if (*outcome == "crashed") return fmt::format("{} crashed", what);
  return std::nullopt;
}

Answer of_cuda(const Machine& machine, const Gpu& gpu) {
  const auto& nvidia = machine.nvidia;
  if (gpu.vendor != Vendor::nvidia) return std::nullopt;
  const auto& start = nvidia.cuda_start;
  const bool hidden_ones = machine.visibility.cuda_visible_devices.has_value();
  if (start && !start->ok() && !(start->code == kCudaNoDevice && hidden_ones))
    return unusable(start->call, does_not_start("the CUDA driver", *start));
  if (start && left_out_by_cuda(machine, gpu))
    return unusable(std::string(kCudaCount), "the CUDA driver does not list it");
  if (start || gpu.suspended) return std::nullopt;
  if (const auto why = probe_failure("the CUDA driver", "libcuda.so.1", nvidia.cuda_outcome))
    return unusable("the CUDA driver's probe", *why);
  return std::nullopt;
}

Answer of_nvml(const Machine& machine, const Gpu& gpu) {
  const auto& nvidia = machine.nvidia;
  if (gpu.vendor != Vendor::nvidia || odd_platform(machine) || gpu.suspended) return std::nullopt;
  if (!nvidia.nvml_start) {
    const bool cuda_works = nvidia.cuda_start && nvidia.cuda_start->ok();
    const auto why = probe_failure("NVML", "libnvidia-ml.so.1", nvidia.nvml_outcome);
    return why && !cuda_works ? unusable("NVML's probe", *why) : std::nullopt;
  }
  if (!nvidia.nvml_start->ok())
    return unusable(nvidia.nvml_start->call, does_not_start("NVML", *nvidia.nvml_start));
  for (const int code : kNvmlLost)
    if (const auto* status = nvml_error(gpu, code))
      return unusable(status->call, fmt::format("NVML has lost it: {} ({})",
                                                printable(status->name), status->code));
  if (gpu.nvml_index) return std::nullopt;
  return unusable("nvmlDeviceGetCount_v2()", "NVML does not list it");
}

Answer of_vgpu_host(const Machine& machine, const Gpu& gpu) {
  const auto& cuda = machine.nvidia.cuda_start;
  if (!is_shared_out(gpu) || (cuda && cuda->ok())) return std::nullopt;
  return not_ours("nvmlDeviceGetVirtualizationMode",
                  "not used here: it is shared out to virtual machines as virtual GPUs");
}

Answer of_rocm(const Machine& machine, const Gpu& gpu) {
  if (!left_out_by_rocm(machine, gpu)) return std::nullopt;
  return unusable(std::string(kRocmCount), "ROCm does not list it");
}

// As the driver told it; where it was not asked, as it would read the variable.
bool visible(const Machine& machine, const Gpu& gpu) {
  if (gpu.visible_to_cuda) return *gpu.visible_to_cuda;
  const auto read = cuda_visibility(machine);
  return !read.order_known || std::ranges::find(read.visible, gpu.index) != read.visible.end();
}

Answer of_visibility(const Machine& machine, const Gpu& gpu) {
  const auto& variable = machine.visibility.cuda_visible_devices;
  if (gpu.vendor != Vendor::nvidia || !variable || !gpu.nvml_index || visible(machine, gpu))
    return std::nullopt;
  // A variable that leaves none is a mistake rather than a choice.
  const bool any = std::ranges::any_of(machine.gpus, [&](const Gpu& other) {
    return other.vendor == Vendor::nvidia && other.nvml_index && visible(machine, other);
  });
  return GpuAccess{any ? GpuUse::hidden : GpuUse::unusable,
                   "CUDA_VISIBLE_DEVICES=" + printable(*variable), "CUDA_VISIBLE_DEVICES hides it"};
}

// The first that has an answer decides: what lies below a driver comes before the driver.
Answer of_driver_container(const Machine& machine, const Gpu& gpu) {
  const auto* library = in_driver_container(machine);
  if (gpu.vendor != Vendor::nvidia || !library) return std::nullopt;
  return not_ours(library->path, "used by pods: the driver's libraries are in its container");
}

constexpr Answer (*kQuestions[])(const Machine&, const Gpu&) = {
    of_a_claim, of_another,   of_another_amd, of_the_bus, of_driver_container, of_nodes,
    of_nvml,    of_vgpu_host, of_cuda,        of_rocm,    of_visibility};

}  // namespace

bool in_slurm_job(const Machine& machine) {
  const std::string path = machine.container.cgroup_path.value_or("");
  const auto last = std::string_view(path).substr(path.rfind('/') + 1);
  return contains(path, "slurm") && !last.starts_with("slurmd.") && !last.starts_with("slurmd@");
}

bool nvml_started(const Machine& machine) {
  return machine.nvidia.nvml_start && machine.nvidia.nvml_start->ok();
}

bool lies_in_driver_container(const LibraryFile& library) {
  return library.path.starts_with("/run/nvidia/");
}

const LibraryFile* in_driver_container(const Machine& machine) {
  if (machine.nvidia.nvml_outcome != "no_library") return nullptr;
  const auto found = std::ranges::find_if(machine.nvidia.libraries, [](const LibraryFile& library) {
    return library.name == "libnvidia-ml.so.1" && lies_in_driver_container(library);
  });
  return found == machine.nvidia.libraries.end() ? nullptr : &*found;
}

std::string_view to_string(GpuUse use) {
  constexpr std::string_view kNames[] = {"usable",   "unusable",     "hidden",
                                         "not_ours", "display_only", "faked"};
  return kNames[static_cast<std::size_t>(use)];
}

GpuAccess access_to(const Machine& machine, const Gpu& gpu) {
  for (const auto question : kQuestions)
    if (auto answer = question(machine, gpu)) return *answer;
  return {};
}

bool left_out_by_cuda(const Machine& machine, const Gpu& gpu) {
  const auto& nvidia = machine.nvidia;
  // Of GPUs beside one with MIG, CUDA shows some only.
  const bool mig =
      std::ranges::any_of(machine.gpus, [](const Gpu& any) { return any.mig_enabled == true; });
  return gpu.visible_to_cuda == false && gpu.nvml_index && !gpu.suspended && !mig &&
         !odd_platform(machine) && !machine.visibility.cuda_visible_devices &&
         nvidia.cuda_device_count &&
         *nvidia.cuda_device_count < nvidia.nvml_device_count.value_or(0);
}

bool left_out_by_rocm(const Machine& machine, const Gpu& gpu) {
  const auto& see = machine.visibility;
  if (see.rocr_visible_devices || see.hip_visible_devices || see.cuda_visible_devices ||
      see.gpu_device_ordinal)
    return false;
  // An integrated GPU may be left out on purpose.
  if (gpu.vendor != Vendor::amd || gpu.integrated || gpu.suspended || gpu.faked) return false;
  return has_source(gpu, "kfd") && !has_source(gpu, "rocm") &&
         std::ranges::any_of(machine.gpus, [](const Gpu& other) {
           return other.vendor == Vendor::amd && has_source(other, "rocm");
         });
}

bool link_is_virtual(const Machine& machine, const Gpu& gpu) {
  const auto& mode = gpu.virtualization;
  return machine.system.hypervisor || (mode && (*mode == "passthrough" || *mode == "vgpu"));
}

bool has_source(const Gpu& gpu, std::string_view source) {
  return std::ranges::find(gpu.sources, source) != gpu.sources.end();
}

bool is_shared_out(const Gpu& gpu) { return gpu.virtualization == "host_vgpu"; }

bool is_given(GpuUse use) { return use == GpuUse::usable || use == GpuUse::unusable; }

std::optional<std::string> why_bus_unread(const Machine& machine) {
  const auto bus = std::ranges::find(machine.unseen, "/sys/bus/pci/devices", &Unseen::what);
  if (bus == machine.unseen.end()) return std::nullopt;
  return fmt::format("the PCI bus cannot be read ({})", bus->why);
}

}  // namespace gpuready
