// Making a driver bundle from what a system, folders and archives hold.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "host/storage.h"
#include "vm/drivers/open_bundle.h"

namespace gpuready::vm {

struct CollectOptions {
  // "/" for this system, folders, archives (driver_archive.h), single files of a driver.
  std::vector<std::string> from = {};
  std::string driver_version = {};  // empty: that of libcuda, which must be one
  std::string kernel_release = {};  // modules of this alone; empty: all, of "/" the running one
  std::vector<std::string> modules =
      {};  // further ones of that kernel by name, with what they need
};

// Writes the bundle to `folder`, which must not exist, whole or not at all. Files of this machine
// are hard links where the filesystem allows them.
Result<DriverBundle> collect_bundle(const CollectOptions& options, const std::string& folder,
                                    Host& host, Storage& storage);

// The same in a folder of bundles, as `name`, or without one as the driver's version.
Result<BundleEntry> add_bundle(const CollectOptions& options, const std::string& bundles,
                               const std::string& name, Host& host, Storage& storage);

}  // namespace gpuready::vm
