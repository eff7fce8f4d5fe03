// Small machines built by hand, for tests of the doctor that need no host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "doctor/diagnose.h"

namespace gpuready::test {

inline PciAddress address(int bus) { return {0, static_cast<std::uint8_t>(bus), 0, 0}; }

inline DeviceNode node_at(std::string path) {
  DeviceNode node;
  node.path = std::move(path);
  node.exists = true;
  return node;
}

inline NvLink link_at(int number, bool up) {
  NvLink link;
  link.link = number;
  link.up = up;
  link.remote_kind = "gpu";
  return link;
}

// `count` healthy H100s on buses 0x10, 0x11, ..., everything started and listed.
inline Machine healthy(int count = 1) {
  Machine machine;
  machine.source = "scripted";
  machine.full = true;
  machine.kernel_log.readable = true;
  machine.system.kernel_release = "6.1.0-28-amd64";
  for (int i = 0; i < count; ++i) {
    PciDevice device;
    device.address = address(0x10 + i);
    device.vendor_id = 0x10de;
    device.device_id = 0x2330;
    device.class_code = 0x030200;
    device.driver = "nvidia";
    device.is_gpu = true;
    device.link_now = {4, 16};
    device.link_max = {5, 16};
    device.bar_sizes_bytes = {16u << 20, 0, std::uint64_t{128} << 30, 0, 32u << 20, 0};
    machine.pci.push_back(device);
    Gpu gpu;
    gpu.index = i;
    gpu.vendor = Vendor::nvidia;
    gpu.pci = device.address;
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.name_source = "nvml";
    gpu.uuid = "GPU-0000000" + std::to_string(i) + "-0000-0000-0000-000000000000";
    gpu.nvml_index = i;
    gpu.cuda_ordinal = i;
    gpu.minor_number = i;
    gpu.driver = "nvidia";
    gpu.visible_to_cuda = true;
    gpu.compute_mode = "default";
    gpu.recovery_action = "none";
    gpu.link_now = device.link_now;
    gpu.link_max = device.link_max;
    gpu.ecc.enabled_now = gpu.ecc.enabled_pending = true;
    gpu.ecc.since_boot = {0, 0};
    machine.gpus.push_back(gpu);
    machine.nodes.push_back(node_at("/dev/nvidia" + std::to_string(i)));
  }
  machine.nodes.push_back(node_at("/dev/nvidiactl"));
  machine.nodes.push_back(node_at("/dev/nvidia-uvm"));
  auto& nvidia = machine.nvidia;
  nvidia.module_loaded = nvidia.uvm_loaded = true;
  nvidia.module_version = nvidia.driver_version = "580.95.05";
  nvidia.module_flavour = "open";
  nvidia.cuda_version = "13.0";
  for (const auto* name : {"libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so"})
    nvidia.libraries.push_back({std::string(name) + ".1", "/usr/lib/" + std::string(name) + ".1",
                                "/usr/lib/" + std::string(name) + ".580.95.05", "580.95.05"});
  nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, "CUDA_SUCCESS"};
  nvidia.nvml_outcome = nvidia.cuda_outcome = "completed";
  nvidia.nvml_device_count = nvidia.cuda_device_count = count;
  return machine;
}

// The driver knows the GPU no longer; the bus still does.
inline void drop_from_nvml(Machine& machine, int index) {
  auto& gpu = machine.gpus[static_cast<std::size_t>(index)];
  gpu.nvml_index.reset();
  gpu.cuda_ordinal.reset();
  machine.nvidia.nvml_device_count = *machine.nvidia.nvml_device_count - 1;
}

inline void log(Machine& machine, std::string text, double seconds = 12.5) {
  machine.kernel_log.lines.push_back({std::move(text), seconds});
}

inline void xid(Machine& machine, int code, int bus, const std::string& text) {
  const std::string line = "NVRM: Xid (PCI:0000:" + address(bus).text().substr(5, 5) +
                           "): " + std::to_string(code) + ", " + text;
  log(machine, line);
  machine.kernel_log.xids.push_back({code, address(bus), line, 12.5, "kernel log"});
}

inline void fail_cuda(Machine& machine, int code, const std::string& name) {
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", code, name};
  machine.nvidia.cuda_device_count.reset();
}

inline void fail_nvml(Machine& machine, int code, const std::string& name) {
  machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", code, name};
  machine.nvidia.nvml_device_count.reset();
  for (auto& gpu : machine.gpus) gpu.nvml_index.reset();
}

inline std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const auto& finding : findings) out.push_back(finding.id);
  return out;
}

using Ids = std::vector<std::string>;

}  // namespace gpuready::test
