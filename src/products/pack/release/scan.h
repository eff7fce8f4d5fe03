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
#include "pack/rules/explain.h"

namespace gpuready::pack {

// "sm_90a", "compute_80@8.4" (PTX and its ISA), "sm_86 zstd" (packed by it), "gfx90a:xnack-"; "?"
// of code that does not say what it is for.
std::string code_text(const DeviceCode& code);
std::optional<DeviceCode> parse_code(std::string_view text);

// The same as a manifest writes it, and as the rules judge it.
CodeOfFile written(const FileCode& code);
FileCode judged(const CodeOfFile& code);

std::vector<FileCode> judged_files(const Variant& variant);

// What the files of a variant are, as `pack inspect` sees a folder of them.
Result<Inspection> scan_entries(const std::vector<ArchiveEntry>& entries);
// The code that drivers can load, of each file that has some.
std::vector<CodeOfFile> written(const Inspection& inspection);

}  // namespace gpuready::pack
