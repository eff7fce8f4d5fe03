// Putting a bundle's libraries and programs into a container's root, where its loader finds them.
//   ROOT/usr/lib/nvidia/...                      the files, as the bundle has them
//   ROOT/<loader's folder>/libcuda.so.1 -> ...   a link for each name
//   ROOT/etc/ld.so.cache                         with these names, where the root has one
// Nothing of the root is executed, and nothing of its own is replaced unless that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vm/drivers/bundle.h"
#include "vm/guest/root_folder.h"
#include "vm/guest/steps.h"

namespace gpuready::vm {

inline constexpr const char* kInjectedFolder = "/usr/lib/nvidia";

enum class InjectMethod {
  automatic,  // reflink, else copy
  hard_link,  // shares the bytes with the bundle
  bind,       // the bundle's folder is mounted read-only
};

struct InjectOptions {
  InjectMethod method = InjectMethod::automatic;
  std::vector<Capability> capabilities;  // empty: all
  bool replace = false;                  // the image's own files are kept as NAME.gpuready-saved
};

// Where the root's loader looks without being told, and finds the C library itself.
struct LoaderPlace {
  std::string folder;  // "/usr/lib/x86_64-linux-gnu"
};
Result<LoaderPlace> find_loader_folder(const RootFolder& root, const std::string& machine);

struct InjectReport {
  std::string loader_folder;
  std::size_t files = 0, links = 0, kept = 0;  // made; already there
  std::uint64_t bytes = 0;
  std::vector<std::string> saved;  // files of the image that were moved away
  std::vector<std::string> warnings;
};

// What stands in the way is found before anything is changed; then it is an error that names all
// of it. Doing it again completes what was interrupted.
Result<InjectReport> inject(const DriverBundle& bundle, const std::string& bundle_folder,
                            const RootFolder& root, const InjectOptions& options);

}  // namespace gpuready::vm
