#include "ternary/cli/ternary_file.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"
#include "cli/options.h"
#include "host/atomic_file.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/safetensors/safetensors.h"

namespace gpuready::cli {

namespace gguf = ternary::gguf;

Error as_error(const Error& error, std::string_view where) {
  return {ErrorKind::bad_input, fmt::format("{}: {} ({})", printable(where),
                                            printable(error.message), to_string(error.kind))};
}

Result<TernaryFile> open_ternary_file(const std::string& path) {
  auto mapped = TRY(MappedFile::open(path));
  auto file = ternary::safetensors::begins_like_one(mapped.bytes())
                  ? ternary::safetensors::read(mapped.bytes())
                  : ternary::gguf::read(mapped.bytes());
  if (!file) return std::unexpected(as_error(file.error(), path));
  return TernaryFile{std::move(mapped), std::move(*file)};
}

Result<gguf::ConvertReport> convert_into(const std::string& path, const gguf::File& file,
                                         std::string_view name, const gguf::ConvertOptions& options,
                                         OnExisting existing, Storage& storage) {
  const auto explain = [&](const Error& error) {
    return error.code == EEXIST ? fail(ErrorKind::bad_input, path + " exists; --force replaces it")
                                : std::unexpected(error);
  };
  auto out = AtomicFile::create(path, {.on_existing = existing}, storage);
  if (!out) return explain(out.error());
  Result<void> written;
  const auto write = [&](gguf::Bytes bytes) {
    return written = out->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  auto report = gguf::convert(file, options, write);
  if (!written) return std::unexpected(written.error());
  if (!report) return std::unexpected(as_error(report.error(), name));
  if (!report->failed.empty() || report->converted.empty()) return std::move(*report);
  if (const auto done = out->commit(); !done) return explain(done.error());
  return std::move(*report);
}

Option layout_option(std::vector<std::string>& names) {
  std::vector<std::string> layouts;
  for (const auto& stored : gguf::stored_formats())
    if (!gguf::certain_format(stored.type))
      layouts.emplace_back(ternary::format(stored.asked).name);
  return {.name = "--layout",
          .value = &names,
          .help =
              "The layout of the file's I2_S, TL1 or TL2 tensors, which their type number does not "
              "determine, instead of the likely one: " +
              join(layouts, ", "),
          .type = "NAME",
          .such_as = layouts,
          .commas = true};
}

Result<std::vector<ternary::FormatId>> layouts_of(const std::vector<std::string>& names) {
  std::vector<ternary::FormatId> layouts;
  for (const std::string& name : names) {
    const auto found = ternary::find_format(name);
    if (!found) return std::unexpected(as_error(found.error(), "--layout"));
    for (const auto other : layouts)
      if (other != *found && ternary::format(other).family == ternary::format(*found).family)
        return fail(ErrorKind::bad_input,
                    fmt::format("--layout {} and {}: the {} tensors of a file have one layout",
                                ternary::format(other).name, name, ternary::format(other).family));
    layouts.push_back(*found);
  }
  return layouts;
}

Layouts with_likely(const gguf::File& file, std::vector<ternary::FormatId> named,
                    std::string_view name, bool quiet) {
  Layouts layouts{std::move(named), {}};
  layouts.assumed = gguf::likely_layouts(file, layouts.all);
  for (const gguf::LikelyLayout& likely : layouts.assumed) {
    layouts.all.push_back(likely.layout);
    if (!quiet)
      complain(
          fmt::format("{}: {} does not declare its layout; {} is likely: {}. --layout overrides",
                      printable(name), likely.family, likely.name, likely.reason));
  }
  return layouts;
}

}  // namespace gpuready::cli
