// What is installed, read and checked.
#pragma once

#include <string>
#include <vector>

#include "pack/release/manifest.h"
#include "pack/store/store.h"

namespace gpuready::pack {

// The current version of a package.
struct CurrentVersion {
  Installed installed;
  Manifest manifest;
  std::string text;  // of the manifest
  Variant variant() const { return *manifest.find(installed.variant); }
};
Result<CurrentVersion> read_current(const Store& store);

// Every file hashed, the links, and the manifest's signature under the remembered key; empty: all
// is as it was signed.
Result<std::vector<std::string>> verify_current(Host& host, const Store& store,
                                                const CurrentVersion& current);

}  // namespace gpuready::pack
