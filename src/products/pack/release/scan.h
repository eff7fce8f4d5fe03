// What the scanner finds in the files of a variant, as a manifest writes it down.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pack/code/inspect.h"
#include "pack/release/archive.h"
#include "pack/release/manifest.h"
#include "pack/rules/can_load.h"

namespace gpuready::pack {

// "sm_90a", "compute_80@8.4" (PTX and its ISA), "gfx90a:xnack-".
std::string code_text(const DeviceCode& code);
std::optional<DeviceCode> parse_code(std::string_view text);

// Of the pieces of code in a file the best: the driver takes that. Where none loads, what hinders
// the one that is nearest to loading.
struct FileLoads : LoadAnswer {
  std::optional<CudaTarget> target;  // of what is taken: the nearer to the GPU, the better the code
};
FileLoads best_answer(const CodeOfFile& file, const TargetGpu& gpu, const Driver& driver);

// What the files of a variant are, as `pack inspect` sees a folder of them.
Result<Inspection> scan_entries(const std::vector<ArchiveEntry>& entries);
// The cuDNN that a variant brings: as its maker says, else as its files are called.
std::optional<Version> cudnn_of(const Variant& variant);

// The code that drivers can load, of each file that has some.
std::vector<CodeOfFile> code_of(const Inspection& inspection);

}  // namespace gpuready::pack
