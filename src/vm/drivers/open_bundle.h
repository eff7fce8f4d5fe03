// Bundles on disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {

Result<DriverBundle> open_bundle(Host& host, const std::string& folder);

// Compares every file with its size and SHA-256; each difference is a sentence.
std::vector<std::string> verify_bundle(Host& host, const std::string& folder,
                                       const DriverBundle& bundle);

// The link in a folder of bundles that leads to the one in use.
inline constexpr std::string_view kCurrent = "current";

struct BundleEntry {
  std::string folder;
  DriverBundle bundle;
  bool current = false;  // the link `current` leads to it
};
// The bundles among the folders in `folder`, by name; folders of other kinds are passed over.
Result<std::vector<BundleEntry>> list_bundles(Host& host, const std::string& folder);

// The name to which FOLDER/current leads; nothing where there is none, an error where it is no link
// to a bundle of the folder.
Result<std::optional<std::string>> current_bundle(Host& host, const std::string& folder);

}  // namespace gpuready::vm
