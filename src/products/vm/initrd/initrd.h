// An initial RAM disk with a driver bundle and the guest's init:
//   /init                                          gpuready-guest
//   /lib/modules/<release>/kernel/drivers/gpu/     kernel modules
//   /lib/firmware/nvidia/<version>/                firmware
//   /usr/lib/nvidia/                               libraries, bin/, data/ and bundle.json
// The same input gives the same bytes. It begins with an archive of its own that holds the digest
// of all that it was made from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/host.h"
#include "host/storage.h"
#include "vm/drivers/bundle.h"

namespace gpuready::vm {

struct InitrdOptions {
  std::string bundle;               // folder
  std::string guest;                // the program gpuready-guest
  std::string gpuready = {};        // a gpuready to check the GPU with in the guest; empty: none
  std::string kernel_release = {};  // empty: the bundle's, which must be one
  std::vector<Capability> capabilities = {};
  // The driver alone, to be appended to an initrd that has an init: gpuready-guest is then
  // /usr/lib/nvidia/gpuready-guest.
  bool segment = false;
  // More files, by their names in the initrd; from an empty name a folder.
  std::map<std::string, std::string> extra = {};
  bool zstd = false;
  bool verify = false;  // compare every file with its SHA-256, and again what is written
};

// The guest's program, installed beside this one.
std::string guest_beside(std::string_view program);

struct InitrdReport {
  bool unchanged = false;  // what was there already is what would be written
  std::string driver_version, kernel_release;
  std::size_t files = 0;
  std::uint64_t content_bytes = 0, written_bytes = 0;  // of the files; of the initrd
};

Result<InitrdReport> write_initrd(const InitrdOptions& options, const std::string& path, Host& host,
                                  Storage& storage);

}  // namespace gpuready::vm
