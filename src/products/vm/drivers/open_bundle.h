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

// Whether a link takes this file of the bundle to another place: it is not the bundle's then.
bool leads_out_of_bundle(Host& host, const std::string& folder, const std::string& path);

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
struct BundleList {
  std::vector<BundleEntry> bundles;
  std::vector<std::string> problems;  // of bundles that cannot be read, each named
};
// The bundles among the folders in `folder`, by name; folders of other kinds are passed over.
Result<BundleList> list_bundles(Host& host, const std::string& folder);

// The name to which FOLDER/current leads; nothing where there is none, an error where it is not a
// link to a bundle of the folder.
Result<std::optional<std::string>> current_bundle(Host& host, const std::string& folder);

}  // namespace gpuready::vm
