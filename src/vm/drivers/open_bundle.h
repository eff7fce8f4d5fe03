// Bundles on disk.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {

Result<DriverBundle> open_bundle(Host& host, const std::string& folder);

// Compares every file with its size and SHA-256; each difference is a sentence.
std::vector<std::string> verify_bundle(Host& host, const std::string& folder,
                                       const DriverBundle& bundle);

struct BundleEntry {
  std::string folder;
  DriverBundle bundle;
};
// The bundles among the folders in `folder`, by name; folders of other kinds are passed over.
Result<std::vector<BundleEntry>> list_bundles(Host& host, const std::string& folder);

}  // namespace gpuready::vm
