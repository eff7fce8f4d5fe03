// Driver libraries that a container's root brings itself: where an injected driver meets them, the
// loader may take the wrong one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

struct ImageLibrary {
  std::string path;     // within the root
  std::string version;  // "550.54.15"
  bool compat = false;  // of CUDA's forward compatibility package
};

// Driver libraries in the folders of `root` where loaders look, and in CUDA's compat folders.
Result<std::vector<ImageLibrary>> find_image_libraries(Host& host, const std::string& root);

}  // namespace gpuready::vm
