// Adding libraries to a root's ld.so.cache without running anything of that root.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready::vm {

struct CachedLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;  // within the root
};

// The cache with these libraries before others of their names; all else that it says, the variants
// for certain processors among it, is kept. Format: glibc's dl-cache.h, "1.1". `machine` is x86_64
// or aarch64.
Result<std::string> add_to_loader_cache(std::string_view cache,
                                        const std::vector<CachedLibrary>& libraries,
                                        std::string_view machine);

// The order of names in a cache, by which the loader searches: numbers in them count as numbers.
// Negative, 0 or positive as strcmp(3); a cache has the greatest first.
int compare_cached_names(std::string_view a, std::string_view b);

}  // namespace gpuready::vm
