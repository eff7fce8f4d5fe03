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

// The libraries that we tell about, among the names in one folder: for each the name that programs
// load ("libcudnn.so.9") and the fullest one ("libcudnn.so.9.1.0"), whose suffix is the version.
std::vector<LibraryFile> pick_libraries(const std::string& folder,
                                        const std::vector<std::string>& names);

}  // namespace gpuready
