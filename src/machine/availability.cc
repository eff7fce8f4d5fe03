// What files say about the availability of a backend, before any driver is started.
#include <algorithm>

#include "machine/gpu_use.h"
#include "machine/live_machine.h"
#include "machine/nvidia/cuda_visibility.h"

namespace gpuready {
namespace {

const DeviceNode* node_at(const Machine& machine, const std::string& path) {
  for (const auto& node : machine.nodes)
    if (node.path == path && node.exists) return &node;
  return nullptr;
}

// By its mode alone: opening it could start a GPU. A group's node counts as not usable here,
// because the machine does not list this process's groups; then a driver is asked.
bool may_use(const Machine& machine, const std::string& path) {
  const auto* node = node_at(machine, path);
  if (node == nullptr || !node->mode) return false;
  constexpr std::uint32_t kReadWrite = 6;
  const auto user = machine.system.effective_uid;
  if (user == 0 || (*node->mode & kReadWrite) == kReadWrite) return true;
  return node->uid == user && (*node->mode >> 6 & kReadWrite) == kReadWrite;
}

// A libcuda of another version than the kernel module does not start.
bool cuda_library_fits(const NvidiaDriver& driver) {
  const auto found =  // the one that programs load
      std::ranges::find(driver.libraries, std::string_view("libcuda.so.1"), &LibraryFile::name);
  return found != driver.libraries.end() && found->version &&
         found->version == driver.module_version && !lies_in_driver_container(*found);
}

bool cuda_is_ready(const Machine& machine) {
  if (!machine.nvidia.module_version || !cuda_library_fits(machine.nvidia)) return false;
  if (!may_use(machine, "/dev/nvidiactl") || !may_use(machine, "/dev/nvidia-uvm")) return false;
  const auto visible = cuda_visibility(machine);
  return std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    if (gpu.vendor != Vendor::nvidia || gpu.suspended || gpu.excluded.value_or(false)) return false;
    if (visible.set && std::ranges::find(visible.visible, gpu.index) == visible.visible.end())
      return false;
    return gpu.minor_number && may_use(machine, "/dev/nvidia" + std::to_string(*gpu.minor_number));
  });
}

// Without a device node no driver of user space reaches a GPU; NVIDIA's makes its own, once its
// kernel module is loaded or the GPU that it is for is there.
bool nothing_to_use(const Machine& machine) {
  const bool any_node = std::ranges::any_of(machine.nodes, &DeviceNode::exists);
  const bool nvidia_may_start =
      machine.nvidia.module_loaded ||
      (!machine.nvidia.libraries.empty() && std::ranges::any_of(machine.gpus, [](const Gpu& gpu) {
        return gpu.vendor == Vendor::nvidia;
      }));
  return !any_node && !nvidia_may_start && !machine.system.wsl2 && !machine.system.jetson_release &&
         !machine.apple.chip;
}

}  // namespace

FilesSay availability_by_files(const Machine& machine) {
  if (cuda_is_ready(machine)) return FilesSay::yes;
  return nothing_to_use(machine) ? FilesSay::no : FilesSay::nothing;
}

}  // namespace gpuready
