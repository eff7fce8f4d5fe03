// Which device an engine takes: what there is, and an explicit order among it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/ternary_device.h"
#include "ternary/device/backend.h"

namespace gpuready::ternary {

using OpenBackend = std::function<Result<std::unique_ptr<Backend>>()>;

// A GPU that a driver shows to this process.
struct GpuCandidate {
  BackendKind kind = BackendKind::cuda;
  std::string id;  // UUID
  int index = 0;   // among those of its kind
  std::string name;
  std::optional<int> compute_capability;
  bool software = false;  // a CPU that poses as a GPU
  OpenBackend open;
};

struct Discovery {
  std::vector<GpuCandidate> gpus;
  // Why a kind of device cannot be asked, one sentence each ("libcuda.so.1 is not there").
  std::vector<std::string> reasons;
  // Of these, the errors of drivers that are installed and do not work: a GPU may be here, so that
  // also an automatic choice that comes to the CPU is a fallback. A driver that is not installed,
  // or shows no GPU, is not an error.
  std::vector<Error> failures;
};
// Loads the drivers of the kinds that the target can mean, and no others; for an automatic target
// Vulkan's only where CUDA shows nothing.
Discovery discover_gpus(const Target& target);
// The variable that claims backends for tests, where one does: no driver is asked then.
std::optional<std::string> faked_by();

struct Choice {
  std::unique_ptr<Backend> gpu;  // null: the CPU
  // Why something better or demanded was not taken.
  std::vector<std::string> fallbacks;
  std::optional<Error> error;  // what a strict engine returns instead
};
// Opens candidates in the order of preference until one serves.
Choice choose_gpu(const Target& target, const Discovery& found, std::uint64_t needed_bytes);

}  // namespace gpuready::ternary
