// Making a driver bundle from what a system, folders and archives hold.
#pragma once

#include <atomic>
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
  // Headers of a kernel (build_modules.h), for which the modules are built from the source that is
  // found in `from`; empty: modules are taken as they are.
  std::string headers = {};
  std::string sign_key = {}, sign_certificate = {};  // both or none: for modules that are built
  const std::atomic<bool>* cancel = nullptr;         // once set, a build is ended
  unsigned jobs = 0;                                 // compilers at once; 0: one a processor
};

// Writes the bundle to `folder`, which must not exist, whole or not at all. Files of this machine
// are hard links where the filesystem allows them.
Result<DriverBundle> collect_bundle(const CollectOptions& options, const std::string& folder,
                                    Host& host, Storage& storage);

// The same in a folder of bundles, as `name`, or without one as the driver's version.
Result<BundleEntry> add_bundle(const CollectOptions& options, const std::string& bundles,
                               const std::string& name, Host& host, Storage& storage);

}  // namespace gpuready::vm
