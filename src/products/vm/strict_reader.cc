#include "vm/strict_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "machine/pci/pci_files.h"

namespace gpuready::vm {

bool is_device_path(const Result<std::string>& path) {
  return path && path->starts_with("/sys/devices/");
}

void StrictReader::note_unless_missing(const Error& error) {
  // A device that goes away answers ENODEV or ENXIO: its file was there.
  const bool gone = error.code == ENODEV || error.code == ENXIO;
  if (gone || error.kind != ErrorKind::not_found) note(printable(error.message));
}

void StrictReader::note_value(const std::string& path, std::string_view value,
                              std::string_view wanted) {
  constexpr std::size_t kShown = 40;
  note(fmt::format("{} says \"{}\"{} instead of {}", path, printable(value.substr(0, kShown)),
                   value.size() > kShown ? "..." : "", wanted));
}

std::optional<std::string> StrictReader::text(const std::string& path) {
  const auto read = host_.read_file(path);
  if (read) return std::string(trim(*read));
  note_unless_missing(read.error());
  return std::nullopt;
}

std::optional<std::string> StrictReader::one_of(const std::string& path,
                                                std::initializer_list<std::string_view> values) {
  auto value = text(path);
  if (!value || std::ranges::find(values, *value) != values.end()) return value;
  note_value(path, *value, fmt::format("{}", fmt::join(values, " or ")));
  return std::nullopt;
}

std::optional<int> StrictReader::count(const std::string& path) {
  const auto value = text(path);
  if (!value) return std::nullopt;
  const auto number = parse_uint(*value);
  if (number && *number <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return static_cast<int>(*number);
  note_value(path, *value, "a count");
  return std::nullopt;
}

std::optional<std::string> StrictReader::link_name(const std::string& path) {
  const auto target = host_.read_link(path);
  if (target) return std::string(last_component(*target));
  note_unless_missing(target.error());
  return std::nullopt;
}

std::vector<std::string> StrictReader::list(const std::string& folder) {
  auto names = host_.list_directory(folder);
  if (names) return *std::move(names);
  note_unless_missing(names.error());
  return {};
}

}  // namespace gpuready::vm
