// Where the dynamic loader would find a library, without loading it: LD_LIBRARY_PATH, then
// /etc/ld.so.cache, then the system's folders (ld.so(8)).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready {

// Views of the cache's bytes.
struct LoaderCacheEntry {
  std::string_view name;  // "libcuda.so.1"
  std::string_view path;  // "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
  std::uint32_t flags = 0;
};

// The entries of an ld.so.cache, in the loader's order. Format: glibc's dl-cache.h, "1.1", also
// behind the older "1.7.0" part. Anything out of bounds is an error, or that entry left out.
Result<std::vector<LoaderCacheEntry>> parse_loader_cache(std::string_view bytes);

// The same in the new format alone.
std::string make_loader_cache(const std::vector<LoaderCacheEntry>& entries);

class LibrarySearch {
 public:
  explicit LibrarySearch(Host& host);
  LibrarySearch(const LibrarySearch&) = delete;
  LibrarySearch& operator=(const LibrarySearch&) = delete;
  // The path that loading `name` would open; nothing when there is none.
  std::optional<std::string> find(const std::string& name);

 private:
  Host& host_;
  std::vector<std::string> first_folders_, last_folders_;
  Result<std::string> cache_bytes_;
  std::vector<LoaderCacheEntry> cache_;
};

}  // namespace gpuready
