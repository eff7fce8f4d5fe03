// Kernel modules made from the open source that NVIDIA publishes with its driver, for a kernel
// whose headers are given.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace gpuready::vm {

// The headers of a kernel, as /lib/modules/RELEASE/build leads to them, or as distributions'
// packages hold them, installed or unpacked into a folder.
struct KernelHeaders {
  std::string folder;          // has the kernel's configuration
  std::string source;          // has the kernel's Makefile: the same folder, or the common one
  std::string kernel_release;  // "6.1.0-56-amd64"
  std::string compiler;        // that built the kernel, in its own words; empty: not said
  std::string
      signature_hash;  // by which modules are signed; empty: this kernel knows no signatures
  bool signed_modules_only = false;
};
Result<KernelHeaders> find_kernel_headers(Host& host, const std::string& folder);

struct SigningKey {
  std::string key, certificate;  // PEM; X.509 as PEM or DER
};

struct BuildRequest {
  std::string folder;          // the source, which is written to
  std::string source;          // what messages call it
  std::string driver_version;  // that it must be of
  KernelHeaders headers;
  unsigned jobs = 1;  // compilers at once
  std::optional<SigningKey> signing;
  const std::atomic<bool>* cancel = nullptr;  // once set, what runs is ended: ErrorKind::cancelled
};

// Runs the source's own Makefile with the caller's rights, strips what debuggers alone read, and
// signs. Each module that it gives is of the driver's version and for this kernel's release.
// Error: what make said first, or what is missing here.
Result<std::vector<std::string>> build_modules(Host& host, const BuildRequest& request);

}  // namespace gpuready::vm
