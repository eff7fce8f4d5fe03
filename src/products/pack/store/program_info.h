// Where a package lives, and what programs learn of it there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/storage.h"
#include "pack/release/manifest.h"
#include "pack/store/store.h"

namespace gpuready::pack {

struct Places {
  std::string store;  // ~/.local/share/NAME/gpu-libs
  std::string info;   // ~/.config/NAME/gpu-package-info.json
};
// Of a package that is named, and the folder of all of them.
Result<Places> default_places(Host& host, const std::string& name);
Result<std::string> packages_folder(Host& host);
// An error where LD_LIBRARY_PATH cannot hold the name of a folder: the loader splits it at ':',
// ';'.
Result<void> check_searchable(const std::string& folder);

// The GPU in gpu-package-info.json: the first one.
struct InfoGpu {
  std::optional<std::string> name, compute_capability;
};
std::string info_text(const Manifest& manifest, const Variant& variant, const Installed& installed,
                      const InfoGpu& gpu, const Places& places);
// Before anything is switched over: whether it can be written.
Result<void> prepare_info(const Places& places, Storage& storage);
Result<void> write_info(Host& host, const Places& places, const std::string& text,
                        Storage& storage);

// The folders below `root`, where a variant is installed, that hold libraries: for LD_LIBRARY_PATH.
std::vector<std::string> library_folders(const std::string& root, const Variant& variant);

}  // namespace gpuready::pack
