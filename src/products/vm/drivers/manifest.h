// The `.manifest` of NVIDIA's installers: what the archive holds and where it goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

struct InstallerManifest {
  std::string version;
  std::vector<std::string> files;  // of the native word size, as named in the archive
};

// Line 1 is a description, 2 the version, 4 the kernel modules; lines of files (`name mode TYPE
// ...`) follow from the ninth to the first empty one.
Result<InstallerManifest> parse_installer_manifest(std::string_view text, std::string_view name);

}  // namespace gpuready::vm
