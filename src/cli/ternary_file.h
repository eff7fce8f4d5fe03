// What the subcommands on GGUF files share.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "host/mapped_file.h"
#include "ternary/gguf.h"

namespace gpuready::cli {

// An open GGUF file; `file` points into `mapped`.
struct TernaryFile {
  MappedFile mapped;
  ternary::gguf::File file;
};
Result<TernaryFile> open_ternary_file(const std::string& path);

Option layout_option(std::vector<std::string>& names);
Result<std::vector<ternary::FormatId>> layouts_of(const std::vector<std::string>& names);

Error as_error(const ternary::Error& error, std::string_view where);

}  // namespace gpuready::cli
