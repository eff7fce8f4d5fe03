// Which build of a framework pip installs for a machine: PyTorch, JAX and ONNX Runtime publish one
// for each CUDA, and the choice is that between variants of a release.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pack/store/select.h"

namespace gpuready::pack {

// The builds of a package as a release of variants, newest CUDA first; nothing: it is not known.
std::optional<Manifest> pip_builds(std::string_view package);
std::vector<std::string> pip_packages();
std::string_view pip_version(std::string_view package, std::string_view build);
// What pip is given for a build: "torch --index-url https://download.pytorch.org/whl/cu130".
std::string pip_arguments(std::string_view package, std::string_view build);

}  // namespace gpuready::pack
