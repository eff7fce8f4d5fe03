#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "report/facts.h"

namespace gpuready {
namespace {

void put(FactGroup& group, const char* label, const std::optional<std::string>& value) {
  if (value && !value->empty()) group.facts.push_back({label, *value});
}
void put_group(std::vector<FactGroup>& groups, FactGroup group) {
  if (!group.facts.empty()) groups.push_back(std::move(group));
}

std::string api_text(const ApiStatus& status) {
  if (status.ok()) return status.call + " works";
  return fmt::format("{} answers {}{}{}", status.call, status.code, status.name.empty() ? "" : " ",
                     status.name);
}

FactGroup system_facts(const Machine& machine) {
  const SystemState& system = machine.system;
  FactGroup group{"System", {}};
  put(group, "Host", system.host_name);
  put(group, "Product", system.product_name);
  put(group, "System", system.os_name);
  put(group, "Kernel",
      fmt::format("{}{}{}", system.kernel_release, system.architecture.empty() ? "" : " ",
                  system.architecture));
  std::string cpu = system.cpu_model.value_or("");
  if (system.cpu_count)
    cpu += fmt::format("{}{} CPUs online", cpu.empty() ? "" : ", ", *system.cpu_count);
  put(group, "CPU", cpu);
  std::vector<std::string> memory;
  if (system.memory_total_bytes) memory.push_back(format_bytes(*system.memory_total_bytes));
  if (system.memory_available_bytes)
    memory.push_back(format_bytes(*system.memory_available_bytes) + " available");
  put(group, "Memory", join(memory, ", "));
  for (const auto& [node, cpus] : system.numa_cpus)
    group.facts.push_back({fmt::format("NUMA node {}", node), "CPUs " + cpus});
  put(group, "Hypervisor", system.hypervisor);
  if (system.wsl2) put(group, "WSL2", "yes");
  put(group, "Jetson", system.jetson_release);
  if (system.secure_boot) put(group, "Secure Boot", *system.secure_boot ? "on" : "off");
  if (system.iommu_active) put(group, "IOMMU", *system.iommu_active ? "active" : "not active");
  return group;
}

// A probe's end, in words: "library not found", "did not answer in time".
std::optional<std::string> outcome_text(const std::optional<std::string>& outcome) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"no_library", "library not found"}, {"timed_out", "did not answer in time"},
      {"hung", "hangs in the kernel"},     {"failed_to_start", "could not be asked"},
      {"not_asked", "not asked"},
  };
  for (const auto& [name, words] : kWords)
    if (outcome == name) return std::string(words);
  return outcome;
}

FactGroup nvidia_facts(const NvidiaDriver& nvidia) {
  FactGroup group{"NVIDIA software", {}};
  if (nvidia.module_loaded)
    put(group, "Kernel module",
        fmt::format("{}{}", nvidia.module_version.value_or("loaded"),
                    nvidia.module_flavour ? ", " + *nvidia.module_flavour : ""));
  if (nvidia.module_loaded) put(group, "nvidia_uvm", nvidia.uvm_loaded ? "loaded" : "not loaded");
  put(group, "Driver", nvidia.driver_version);
  put(group, "CUDA of the driver", nvidia.cuda_version);
  if (nvidia.nvml_start)
    put(group, "NVML", api_text(*nvidia.nvml_start));
  else
    put(group, "NVML", outcome_text(nvidia.nvml_outcome));
  if (nvidia.cuda_start)
    put(group, "CUDA driver", api_text(*nvidia.cuda_start));
  else
    put(group, "CUDA driver", outcome_text(nvidia.cuda_outcome));
  put(group, "NVML stopped in", nvidia.nvml_stopped_in);
  put(group, "CUDA stopped in", nvidia.cuda_stopped_in);
  put(group, "Fabric Manager", nvidia.fabric_manager);
  put(group, "Persistence daemon", nvidia.persistence_daemon);
  put(group, "Kernel modules from",
      nvidia.modules_package ? nvidia.modules_package : nvidia.modules_from);
  put(group, "Peer memory", nvidia.peer_memory);
  for (const LibraryFile& library : nvidia.libraries)
    group.facts.push_back({library.name, library.real_path.value_or(library.path)});
  return group;
}

FactGroup other_software(const Machine& machine) {
  FactGroup group{"Other software", {}};
  if (machine.amd.module_loaded)
    put(group, "amdgpu", machine.amd.module_version.value_or("loaded"));
  put(group, "ROCm", machine.amd.rocm_version);
  if (machine.amd.start) put(group, "ROCm start", api_text(*machine.amd.start));
  put(group, "rocBLAS has code for", join(machine.amd.rocblas_targets, ", "));
  if (machine.intel.i915_loaded) put(group, "i915", "loaded");
  if (machine.intel.xe_loaded) put(group, "xe", "loaded");
  put(group, "Apple", machine.apple.chip);
  if (machine.apple.metal) put(group, "Metal", *machine.apple.metal ? "yes" : "no");
  put(group, "Vulkan loader", machine.vulkan.loader_version);
  if (machine.vulkan.outcome && *machine.vulkan.outcome != "completed")
    put(group, "Vulkan", outcome_text(machine.vulkan.outcome));
  for (const VulkanDevice& device : machine.vulkan.devices)
    group.facts.push_back(
        {"Vulkan device", fmt::format("{} ({}{}{})", device.name,
                                      device.software() ? "software, no GPU" : device.type,
                                      device.driver_name ? ", " + *device.driver_name : "",
                                      device.driver_version ? " " + *device.driver_version : "")});
  for (const Toolkit& toolkit : machine.toolkits)
    group.facts.push_back(
        {toolkit.kind == "cuda"  ? "CUDA toolkit"
         : toolkit.kind == "cdi" ? "CDI specification"
                                 : toolkit.kind + " toolkit",
         fmt::format("{} in {}{}{}", toolkit.version, toolkit.path,
                     toolkit.on_path ? " (first in PATH)" : "",
                     toolkit.driver_version ? ", of driver " + *toolkit.driver_version : "")});
  for (const LibraryFile& library : machine.libraries)
    group.facts.push_back(
        {library.name, fmt::format("{}{}", library.version.value_or(""),
                                   library.version ? " in " + library.path : library.path)});
  return group;
}

// "port 1: ACTIVE, 400 Gbit/s over 4 lanes, InfiniBand; firmware 28.39.3560; near GPU 0000:17:00.0"
std::string adapter_text(const NetworkAdapter& adapter) {
  std::vector<std::string> parts;
  if (!adapter.name)
    parts.emplace_back(adapter.driver ? "no InfiniBand device" : "no driver is bound");
  for (const NetworkPort& port : adapter.ports) {
    std::string text = fmt::format("port {}: {}", port.port, port.state.value_or("unknown state"));
    if (port.state != "ACTIVE" && port.physical_state) text += " (" + *port.physical_state + ")";
    if (port.rate_gbps) text += fmt::format(", {:g} Gbit/s", *port.rate_gbps);
    if (port.width)
      text += fmt::format(" over {} {}", *port.width, *port.width == 1 ? "lane" : "lanes");
    if (port.link_layer) text += ", " + *port.link_layer;
    parts.push_back(std::move(text));
  }
  if (adapter.virtual_function) parts.emplace_back("virtual function");
  if (adapter.firmware) parts.push_back("firmware " + *adapter.firmware);
  if (!adapter.near_gpus.empty()) {
    std::vector<std::string> gpus;
    for (const PciAddress& gpu : adapter.near_gpus) gpus.push_back(gpu.text());
    parts.push_back(fmt::format("near GPU {} ({})", join(gpus, ", "), *adapter.near_by));
  }
  return join(parts, "; ");
}

FactGroup network_facts(const std::vector<NetworkAdapter>& network) {
  FactGroup group{"Network adapters for training", {}};
  for (const NetworkAdapter& adapter : network) {
    const std::string address = adapter.pci ? adapter.pci->text() : "";
    group.facts.push_back({adapter.name.value_or(address), adapter_text(adapter)});
  }
  return group;
}

FactGroup container_facts(const Container& container) {
  FactGroup group{container.runtime ? "Container" : "Limits of this process", {}};
  // Every process of a host has a cgroup: of interest are its limits.
  if (!container.runtime && !container.memory_limit_bytes && !container.cpu_limit) return group;
  put(group, "Runtime", container.runtime);
  put(group, "cgroup", container.cgroup_path);
  put(group, "cgroup version", container.cgroup_version);
  if (container.memory_limit_bytes)
    put(group, "Memory limit",
        format_bytes(*container.memory_limit_bytes) +
            (container.memory_used_bytes
                 ? ", " + format_bytes(*container.memory_used_bytes) + " used"
                 : ""));
  if (container.cpu_limit) put(group, "CPU limit", fmt::format("{:g} CPUs", *container.cpu_limit));
  return group;
}

FactGroup visibility_facts(const Visibility& visibility) {
  const std::pair<const char*, const std::optional<std::string>*> kVariables[] = {
      {"CUDA_VISIBLE_DEVICES", &visibility.cuda_visible_devices},
      {"NVIDIA_VISIBLE_DEVICES", &visibility.nvidia_visible_devices},
      {"ROCR_VISIBLE_DEVICES", &visibility.rocr_visible_devices},
      {"HIP_VISIBLE_DEVICES", &visibility.hip_visible_devices},
      {"GPU_DEVICE_ORDINAL", &visibility.gpu_device_ordinal},
      {"ZE_AFFINITY_MASK", &visibility.ze_affinity_mask},
      {"HSA_OVERRIDE_GFX_VERSION", &visibility.hsa_override_gfx_version},
      {"NVIDIA_DRIVER_CAPABILITIES", &visibility.nvidia_driver_capabilities},
      {"CUDA_DEVICE_ORDER", &visibility.cuda_device_order},
  };
  FactGroup group{"Variables that hide or select GPUs", {}};
  for (const auto& [name, value] : kVariables)
    if (*value) group.facts.push_back({name, (*value)->empty() ? "(set, but empty)" : **value});
  return group;
}

FactGroup node_facts(const std::vector<DeviceNode>& nodes) {
  FactGroup group{"Device files", {}};
  for (const DeviceNode& node : nodes) {
    std::string text = !node.exists                    ? "missing"
                       : node.open_error               ? "cannot be opened: " + *node.open_error
                       : node.openable.value_or(false) ? "can be opened"
                                                       : "exists";
    if (node.mode) text += fmt::format(", mode {:04o}", *node.mode);
    if (node.uid && node.gid) text += fmt::format(", owner {}:{}", *node.uid, *node.gid);
    group.facts.push_back({node.path, text});
  }
  return group;
}

}  // namespace

std::vector<FactGroup> machine_facts(const Machine& machine) {
  std::vector<FactGroup> groups;
  put_group(groups, system_facts(machine));
  put_group(groups, nvidia_facts(machine.nvidia));
  put_group(groups, network_facts(machine.network));
  put_group(groups, other_software(machine));
  put_group(groups, container_facts(machine.container));
  put_group(groups, visibility_facts(machine.visibility));
  put_group(groups, node_facts(machine.nodes));
  return groups;
}

}  // namespace gpuready
