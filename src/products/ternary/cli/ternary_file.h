// What the subcommands on files share.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "host/mapped_file.h"
#include "host/storage.h"
#include "ternary/gguf/gguf.h"
#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_identify.h"

namespace gpuready::cli {

// An open GGUF or safetensors file; `file` points into `mapped`.
struct TernaryFile {
  MappedFile mapped;
  ternary::gguf::File file;
};
Result<TernaryFile> open_ternary_file(const std::string& path);

// Converts into the file `path`, which is written when every tensor that was asked for could be
// converted and there was one, and is whole then; else nothing is left. `name`: of what is read,
// for messages. An error is of the input, or of the file to be written.
Result<ternary::gguf::ConvertReport> convert_into(const std::string& path,
                                                  const ternary::gguf::File& file,
                                                  std::string_view name,
                                                  const ternary::gguf::ConvertOptions& options,
                                                  OnExisting existing,
                                                  Storage& storage = live_storage());

Option layout_option(std::vector<std::string>& names);
Result<std::vector<ternary::FormatId>> layouts_of(const std::vector<std::string>& names);

// The layouts that were named, and the likely ones of the families for which none was. Complains
// of each of these on one line, unless it is to be quiet.
struct Layouts {
  std::vector<ternary::FormatId> all;
  std::vector<ternary::gguf::LikelyLayout> assumed;
};
Layouts with_likely(const ternary::gguf::File& file, std::vector<ternary::FormatId> named,
                    std::string_view name, bool quiet);

Error as_error(const Error& error, std::string_view where);

}  // namespace gpuready::cli
