// NVIDIA's GPU architectures by compute capability.
// Sources: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities" (names, cores); CUDA Toolkit
// release notes (which toolkits have code generation for which architecture).
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace gpuready {

struct NvidiaArchitecture {
  int major, minor;              // compute capability
  std::string_view name;         // "Hopper"
  int cores_per_multiprocessor;  // FP32 lanes, as NVML counts cores
  std::string_view first_cuda;   // first toolkit that generates code for it
  std::string_view last_cuda;    // last one; empty: still supported
  bool open_module;              // the open kernel module can drive it (Turing and newer)
  bool needs_open_module;        // the proprietary one cannot (Blackwell and newer)
  bool integrated;               // of a system on a chip (Jetson and its like)
};

std::span<const NvidiaArchitecture> nvidia_architectures();  // by compute capability
// "9.0" -> Hopper. An unknown minor number of a known major one is of the same family by name, but
// is not found here.
const NvidiaArchitecture* find_nvidia_architecture(std::string_view compute_capability);
// The name, also for a minor number not in the table; nothing for an unknown major number.
std::optional<std::string_view> nvidia_architecture_name(std::string_view compute_capability);

// Of a chip by its name in the PCI ID Repository: "9.0" of "GH100 [H100 SXM5 80GB]".
std::optional<std::string_view> nvidia_chip_capability(std::string_view chip);

}  // namespace gpuready
