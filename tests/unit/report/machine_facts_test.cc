// What `detect` shows of a machine, as whole texts.
#include <gtest/gtest.h>

#include "base/units.h"
#include "report/facts.h"

namespace gpuready {
namespace {

std::string text_of(const Machine& machine) {
  std::string text;
  for (const FactGroup& group : machine_facts(machine)) {
    text += group.title + "\n";
    for (const Fact& fact : group.facts) text += "  " + fact.label + ": " + fact.value + "\n";
  }
  return text;
}

Machine everything() {
  Machine machine;
  auto& system = machine.system;
  system.host_name = "node";
  system.product_name = "XE9680";
  system.os_name = "Debian GNU/Linux 12";
  system.kernel_release = "6.1.0-40-amd64";
  system.architecture = "x86_64";
  system.cpu_model = "Xeon";
  system.cpu_count = 64;
  system.memory_total_bytes = 256 * GiB;
  system.memory_available_bytes = 128 * GiB;
  system.numa_cpus = {{0, "0-31"}, {1, "32-63"}};
  system.hypervisor = "kvm";
  system.wsl2 = true;
  system.jetson_release = "R36";
  system.secure_boot = true;
  system.iommu_active = true;
  auto& nvidia = machine.nvidia;
  nvidia.module_loaded = nvidia.uvm_loaded = true;
  nvidia.module_version = nvidia.driver_version = "580.95.05";
  nvidia.module_flavour = "open";
  nvidia.cuda_version = "13.0";
  nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  nvidia.cuda_start = ApiStatus{"cuInit(0)", 999, "CUDA_ERROR_UNKNOWN"};
  nvidia.nvml_stopped_in = "nvmlShutdown()";
  nvidia.cuda_stopped_in = "cuDeviceGet(0)";
  nvidia.fabric_manager = "running";
  nvidia.persistence_daemon = "not_running";
  nvidia.modules_from = "dkms";
  nvidia.modules_package = "nvidia-dkms-580-open";
  nvidia.peer_memory = "nvidia_peermem";
  nvidia.libraries = {
      {"libcuda.so.1", "/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.580.95.05", {}},
      {"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1", {}, {}}};
  auto& network = machine.network.emplace_back();
  network.name = "mlx5_0";
  network.driver = "mlx5_core";
  network.firmware = "28.39.3560";
  network.virtual_function = true;
  network.near_gpus = {{0, 0x17, 0, 0}, {0, 0x18, 0, 0}};
  network.near_by = "same_switch";
  network.ports = {{1, "ACTIVE", "LinkUp", "InfiniBand", 400, 4, {}},
                   {2, "DOWN", "Polling", "Ethernet", 2.5, 1, {}},
                   {3, {}, {}, {}, {}, {}, {}}};
  machine.amd.module_loaded = true;
  machine.amd.module_version = "6.12.12";
  machine.amd.rocm_version = "6.4";
  machine.amd.start = ApiStatus{"hsa_init()", 4104, ""};
  machine.amd.rocblas_targets = {"gfx90a", "gfx942"};
  machine.intel.i915_loaded = machine.intel.xe_loaded = true;
  machine.apple.chip = "Apple M3 Max";
  machine.apple.metal = true;
  machine.vulkan.loader_version = "1.3.275";
  machine.vulkan.outcome = "crashed";
  auto& llvmpipe = machine.vulkan.devices.emplace_back();
  llvmpipe.name = "llvmpipe";
  llvmpipe.type = "cpu";
  auto& arc = machine.vulkan.devices.emplace_back();
  arc.name = "Arc B580";
  arc.type = "discrete";
  arc.driver_name = "Mesa";
  arc.driver_version = "25.1";
  machine.toolkits = {{"cuda", "13.0", "/usr/local/cuda", true, {}},
                      {"rocm", "6.4", "/opt/rocm", false, {}},
                      {"cdi", "0.5.0", "/etc/cdi/nvidia.yaml", false, "580.95.05"}};
  machine.libraries = {{"libze_loader.so.1", "/usr/lib/libze_loader.so.1", {}, "1.17.6"},
                       {"libhsa.so.1", "/opt/rocm/lib/libhsa.so.1", {}, {}}};
  auto& container = machine.container;
  container.runtime = "docker";
  container.cgroup_path = "/docker/1";
  container.cgroup_version = "2";
  container.memory_limit_bytes = 8 * GiB;
  container.memory_used_bytes = GiB;
  container.cpu_limit = 1.5;
  auto& visibility = machine.visibility;
  visibility.cuda_visible_devices = "0";
  visibility.nvidia_visible_devices = "all";
  visibility.rocr_visible_devices = "";
  visibility.hip_visible_devices = "1";
  visibility.gpu_device_ordinal = "2";
  visibility.ze_affinity_mask = "3";
  visibility.hsa_override_gfx_version = "10.3.0";
  visibility.nvidia_driver_capabilities = "compute";
  visibility.cuda_device_order = "PCI_BUS_ID";
  const auto node = [&](const char* path, bool exists, std::optional<bool> openable,
                        std::optional<std::string> error, std::optional<std::uint32_t> mode) {
    auto& added = machine.nodes.emplace_back();
    added.path = path;
    added.exists = exists;
    added.openable = openable;
    added.open_error = std::move(error);
    added.mode = mode;
  };
  node("/dev/nvidia0", true, true, {}, 0666);
  machine.nodes.back().uid = 0;
  machine.nodes.back().gid = 44;
  node("/dev/nvidiactl", true, false, "EACCES", 0060);
  machine.nodes.back().uid = 0;
  node("/dev/nvidia-uvm", false, {}, {}, {});
  node("/dev/kfd", true, {}, {}, {});
  return machine;
}

TEST(MachineFacts, EachThatASourceReportedIsThereInItsGroup) {
  EXPECT_EQ(text_of(everything()),
            R"(System
  Host: node
  Product: XE9680
  System: Debian GNU/Linux 12
  Kernel: 6.1.0-40-amd64 x86_64
  CPU: Xeon, 64 CPUs online
  Memory: 256 GiB, 128 GiB available
  NUMA node 0: CPUs 0-31
  NUMA node 1: CPUs 32-63
  Hypervisor: kvm
  WSL2: yes
  Jetson: R36
  Secure Boot: on
  IOMMU: active
NVIDIA software
  Kernel module: 580.95.05, open
  nvidia_uvm: loaded
  Driver: 580.95.05
  CUDA of the driver: 13.0
  NVML: nvmlInit_v2() works
  CUDA driver: cuInit(0) answers 999 CUDA_ERROR_UNKNOWN
  NVML stopped in: nvmlShutdown()
  CUDA stopped in: cuDeviceGet(0)
  Fabric Manager: running
  Persistence daemon: not_running
  Kernel modules from: nvidia-dkms-580-open
  Peer memory: nvidia_peermem
  libcuda.so.1: /usr/lib/libcuda.so.580.95.05
  libnvidia-ml.so.1: /usr/lib/libnvidia-ml.so.1
Network adapters for training
  mlx5_0: port 1: ACTIVE, 400 Gbit/s over 4 lanes, InfiniBand; port 2: DOWN (Polling), 2.5 Gbit/s over 1 lane, Ethernet; port 3: unknown state; virtual function; firmware 28.39.3560; near GPU 0000:17:00.0, 0000:18:00.0 (same_switch)
Other software
  amdgpu: 6.12.12
  ROCm: 6.4
  ROCm start: hsa_init() answers 4104
  rocBLAS has code for: gfx90a, gfx942
  i915: loaded
  xe: loaded
  Apple: Apple M3 Max
  Metal: yes
  Vulkan loader: 1.3.275
  Vulkan: crashed
  Vulkan device: llvmpipe (software, no GPU)
  Vulkan device: Arc B580 (discrete, Mesa 25.1)
  CUDA toolkit: 13.0 in /usr/local/cuda (first in PATH)
  rocm toolkit: 6.4 in /opt/rocm
  CDI specification: 0.5.0 in /etc/cdi/nvidia.yaml, of driver 580.95.05
  libze_loader.so.1: 1.17.6 in /usr/lib/libze_loader.so.1
  libhsa.so.1: /opt/rocm/lib/libhsa.so.1
Container
  Runtime: docker
  cgroup: /docker/1
  cgroup version: 2
  Memory limit: 8 GiB, 1 GiB used
  CPU limit: 1.5 CPUs
Variables that hide or select GPUs
  CUDA_VISIBLE_DEVICES: 0
  NVIDIA_VISIBLE_DEVICES: all
  ROCR_VISIBLE_DEVICES: (set, but empty)
  HIP_VISIBLE_DEVICES: 1
  GPU_DEVICE_ORDINAL: 2
  ZE_AFFINITY_MASK: 3
  HSA_OVERRIDE_GFX_VERSION: 10.3.0
  NVIDIA_DRIVER_CAPABILITIES: compute
  CUDA_DEVICE_ORDER: PCI_BUS_ID
Device files
  /dev/nvidia0: can be opened, mode 0666, owner 0:44
  /dev/nvidiactl: cannot be opened: EACCES, mode 0060
  /dev/nvidia-uvm: missing
  /dev/kfd: exists
)");
}

TEST(MachineFacts, WhatIsNotThereIsLeftOut) {
  Machine machine;
  machine.system.kernel_release = "6.1.0";
  machine.system.cpu_count = 2;
  machine.system.secure_boot = machine.system.iommu_active = false;
  machine.container.cgroup_path = "/user.slice";
  machine.vulkan.outcome = "completed";
  constexpr std::string_view kSystem =
      "System\n  Kernel: 6.1.0\n  CPU: 2 CPUs online\n  Secure Boot: off\n  IOMMU: not active\n";
  EXPECT_EQ(text_of(machine), kSystem);
  machine.nvidia.module_loaded = machine.amd.module_loaded = true;
  machine.nvidia.modules_from = "none";
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, ""};
  machine.apple.metal = false;
  machine.container.cpu_limit = 2;
  auto& network = machine.network.emplace_back();
  network.pci = {0, 0x17, 0, 0};
  EXPECT_EQ(text_of(machine), std::string(kSystem) +
                                  "NVIDIA software\n"
                                  "  Kernel module: loaded\n"
                                  "  nvidia_uvm: not loaded\n"
                                  "  CUDA driver: cuInit(0) works\n"
                                  "  Kernel modules from: none\n"
                                  "Network adapters for training\n"
                                  "  0000:17:00.0: no driver is bound\n"
                                  "Other software\n"
                                  "  amdgpu: loaded\n"
                                  "  Metal: no\n"
                                  "Limits of this process\n"
                                  "  cgroup: /user.slice\n"
                                  "  CPU limit: 2 CPUs\n");
}

TEST(MachineFacts, AProbeThatDidNotStartSaysHowItEnded) {
  for (const auto& [outcome, words] : {std::pair("no_library", "library not found"),
                                       {"timed_out", "did not answer in time"},
                                       {"hung", "hangs in the kernel"},
                                       {"failed_to_start", "could not be asked"},
                                       {"not_asked", "not asked"},
                                       {"crashed", "crashed"}}) {
    Machine machine;
    machine.system.kernel_release = "6.1.0";
    machine.nvidia.nvml_outcome = machine.nvidia.cuda_outcome = machine.vulkan.outcome = outcome;
    EXPECT_EQ(text_of(machine), std::string("System\n  Kernel: 6.1.0\nNVIDIA software\n  NVML: ") +
                                    words + "\n  CUDA driver: " + words +
                                    "\nOther software\n  Vulkan: " + words + "\n");
  }
}

}  // namespace
}  // namespace gpuready
