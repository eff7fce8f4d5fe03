// Bringing the source of NVIDIA's kernel modules to where it can be built.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "vm/drivers/staging_folder.h"

namespace gpuready::vm {

// Where a source of modules lies among these files, relative to what they are relative to ("" for
// just there): the folder with nvidia/nvidia.Kbuild, or, where NVIDIA's whole source is there, the
// one above it. Of an installer's two, the open one. Nothing: there is none.
std::optional<std::string> find_module_source(const std::vector<std::string>& paths);

// The driver's version that a source says it is of, in its Kbuild; empty where it says none.
std::string version_of_source(Host& host, const std::string& folder);

struct ModuleSource {
  std::string staged;  // the copy, relative to the staging folder
  std::string source;  // what messages call it
};
// Looks for the source of `driver_version` in folders (themselves, kernel-open/, usr/src/) and in
// archives, in those of Debian's packages too, and copies it to `into` in the staging folder. Links
// are not followed and results of earlier builds stay behind. Error: there is none.
Result<ModuleSource> bring_module_source(Host& host, StagingFolder& staging,
                                         const std::vector<std::string>& from,
                                         const std::string& driver_version,
                                         const std::string& into);

}  // namespace gpuready::vm
