// Driver libraries that a container's root brings itself: where an injected driver meets them, the
// loader may take the wrong one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

struct ImageLibrary {
  std::string path;     // within the root, after all links
  std::string version;  // "550.54.15"; empty: its name does not tell
  bool compat = false;  // of CUDA's forward compatibility package
};

// Driver libraries in the folders of `root` where loaders look, by its own ld.so.conf and
// ld.so.cache, too, and in CUDA's compat folders. Links are followed within the root alone.
Result<std::vector<ImageLibrary>> find_image_libraries(const std::string& root);

}  // namespace gpuready::vm
