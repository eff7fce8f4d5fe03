// How a command line names GPUs: the same words, and the same refusal, in every command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpuready/machine.h"

namespace gpuready {

// For help texts.
inline constexpr const char* kGpuWords =
    "index, UUID or its beginning, PCI address, cuda:0, model (H100) or capability (9.0, gfx942)";

// "H100" and "h100 80gb" name "NVIDIA H100 80GB HBM3". "A10" does not name "NVIDIA A100", nor
// "RTX 3080" the RTX 3080 Ti.
bool names_model(std::string_view name, std::string_view model);
// "9.0" and "sm_90" name capability 9.0.
bool names_capability(std::string_view capability, std::string_view word);

// The GPUs that `word` names: every one of a model or a capability. An error lists what is here.
Result<std::vector<const Gpu*>> gpus_named(const Machine& machine, std::string_view option,
                                           std::string_view word);
// The same where only one GPU may be meant.
Result<const Gpu*> gpu_named(const Machine& machine, std::string_view option,
                             std::string_view word);

// A name of the GPU that fits no other in this machine: its PCI address, else its index.
std::string unique_name(const Gpu& gpu);

// NVIDIA's products whose names in the PCI ID Repository hold these words: "H100", "RTX 4090".
struct GpuModel {
  std::uint16_t device_id;
  std::string_view name;                       // "GH100 [H100 SXM5 80GB]"
  std::optional<std::string_view> capability;  // "9.0"; nothing for a chip that is not known
};
std::vector<GpuModel> models_named(std::string_view words);
// The one capability of these models; nothing if there is no model, an error if they have several.
Result<std::optional<std::string>> capability_of_model(std::string_view option,
                                                       std::string_view word);

}  // namespace gpuready
