// Which GPUs CUDA_VISIBLE_DEVICES leaves visible. Rules of the CUDA C++ Programming Guide ("CUDA
// Environment Variables") and, for repeated and malformed entries, as PyTorch's device count
// (torch/cuda/__init__.py) has found the driver to behave. NVML and nvidia-smi ignore the variable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

struct CudaCandidate {  // a GPU, as the driver would enumerate it
  std::string uuid;     // "GPU-..."; may be empty when not known
  bool mig = false;     // MIG is on: the GPU itself is not a device, its instances are
  std::vector<std::string> instances = {};  // "MIG-..."; and for the older form, see instance_ids
  std::vector<std::string> instance_ids = {};  // "<gi>/<ci>", one for each of `instances`
};

struct CudaVisibility {
  bool set = false;          // false: the variable is unset, and everything is visible
  std::vector<int> visible;  // positions in the list of candidates, as CUDA numbers them
  std::vector<std::string> visible_instances;  // of MIG, when it names or implies one
  // The entry that ended the list, or that was repeated; it and all after it are hidden.
  std::optional<std::string> stopped_at;
  std::string reason;  // why nothing more is visible; empty: all that was asked for is
  // False when entries are numbers and the driver's order of the GPUs is not known.
  bool order_known = true;
};

// `order` is CUDA_DEVICE_ORDER. Unless it is PCI_BUS_ID the driver orders "fastest first", by a
// rule that is not published: numbers then mean positions only when all GPUs are `same_model`.
CudaVisibility cuda_visibility(const std::optional<std::string>& variable,
                               const std::optional<std::string>& order,
                               const std::vector<CudaCandidate>& gpus, bool same_model);
// Of a machine: its NVIDIA GPUs by PCI address. `visible` then holds Gpu::index.
CudaVisibility cuda_visibility(const Machine& machine);

}  // namespace gpuready
