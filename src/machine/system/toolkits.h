// Parsers behind read_toolkits().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

// version.json of a CUDA toolkit (CUDA 11.1 and newer) and version.txt of older ones, each to
// "12.4.1".
std::optional<std::string> parse_cuda_version_json(std::string_view text);
std::optional<std::string> parse_cuda_version_txt(std::string_view text);

// A CDI specification (YAML or JSON) of NVIDIA's devices: what is read of it; nullopt for
// others'. "libcuda.so.535.54.03" among its mounts says for which driver it was made.
struct CdiSpec {
  std::string version, kind;  // "0.5.0", "nvidia.com/gpu"
  std::optional<std::string> driver_version = {};
};
std::optional<CdiSpec> parse_cdi(std::string_view text);

// The libraries that we tell about, among the names in one folder: for each the name that programs
// load ("libcudnn.so.9") and the fullest one ("libcudnn.so.9.1.0"), whose suffix is the version.
std::vector<LibraryFile> pick_libraries(const std::string& folder,
                                        const std::vector<std::string>& names);

}  // namespace gpuready
