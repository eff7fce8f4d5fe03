// What is installed, read and checked.
#pragma once

#include <string>
#include <vector>

#include "pack/release/manifest.h"
#include "pack/store/store.h"

namespace gpuready::pack {

// An error unless the store is there.
Result<void> check_installed(const Store& store);

// The current version of a package.
struct CurrentVersion {
  Installed installed;
  Manifest manifest;
  std::string text;  // of the manifest
  Variant variant() const { return *manifest.find(installed.variant); }
};
// An error where this name is not the one of the package that lives there.
Result<void> check_name(const Store& store, std::string_view name);

Result<CurrentVersion> read_current(const Store& store);

// Every file hashed, the links, what was added beside them, and the manifest's signature under the
// remembered key; empty: all is as it was signed. What is damaged is taken out of the store's
// objects, if it may be written to, so that an installation fetches it again; the version itself is
// left as it is.
Result<std::vector<std::string>> verify_current(Host& host, Store& store,
                                                const CurrentVersion& current);

}  // namespace gpuready::pack
