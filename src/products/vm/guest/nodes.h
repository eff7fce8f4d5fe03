// The device nodes of NVIDIA's driver, worked out from what the kernel says. Pure.
// Sources: nvidia-modprobe (modprobe-utils), the driver's README, "/proc/driver/nvidia/params".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready::vm {

struct NodePlan {
  std::string path;  // "/dev/nvidia0"
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint32_t mode = 0666, uid = 0, gid = 0;
  bool operator==(const NodePlan&) const = default;
};

struct NodeFacts {
  std::string devices;                    // /proc/devices
  std::string params;                     // /proc/driver/nvidia/params; may be empty
  std::vector<std::string> gpus;          // /proc/driver/nvidia/gpus/*/information, each
  std::vector<std::string> capabilities;  // files below /proc/driver/nvidia/capabilities, each
};

// Majors of character devices by name.
std::map<std::string, std::uint32_t, std::less<>> character_devices(std::string_view proc_devices);

// Every GPU, nvidiactl, nvidia-modeset, nvidia-uvm and -uvm-tools, nvidia-caps, as far as their
// drivers are there. Empty when the driver asks that no one makes nodes (ModifyDeviceFiles: 0).
std::vector<NodePlan> plan_nodes(const NodeFacts& facts);

}  // namespace gpuready::vm
