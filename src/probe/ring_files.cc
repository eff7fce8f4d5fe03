#include "probe/ring_files.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace gpuready {
namespace {

struct Line {
  std::string_view name, value;
  bool is_entry = false;  // of the list that the latest other line begins
};

Line parse_line(std::string_view text) {
  const auto colon = std::min(text.find(": "), text.find(":\t"));
  Line line{.name = trim(text.substr(0, colon)),
            .value = colon == text.npos ? std::string_view() : trim(text.substr(colon + 1))};
  if (line.name.ends_with(':')) line.name.remove_suffix(1);
  line.is_entry = text.starts_with(' ') || parse_uint(line.name);
  return line;
}

}  // namespace

RingFiles ring_files(std::string_view fdinfo) {
  RingFiles files;
  std::string_view list;
  std::optional<std::uint64_t> submitted, completed;
  std::uint32_t waiting = 0, overflowed = 0;
  bool complete = false;
  for (const auto text : lines(fdinfo)) {
    const auto [name, value, is_entry] = parse_line(text);
    if (!is_entry) list = name;
    if (name == "CachedSqHead") submitted = parse_uint(value);
    if (name == "CachedCqTail") completed = parse_uint(value);
    if (list == "PollList") waiting += is_entry;
    if (list == "CqOverflowList") overflowed += is_entry;
    if (list != "UserFiles") continue;
    const bool is_path = is_entry && value.starts_with("/");
    if (is_path) files.registered.emplace_back(value);
    complete = is_path || value == (is_entry ? "<none>" : "0") || value.starts_with("socket:");
    if (is_entry && !complete) list = {};
  }
  const auto pending =
      submitted.value_or(0) - completed.value_or(0) - overflowed;  // counters of 32 bits
  if (!complete)
    files.unknown = "those that are registered are not shown";
  else if (waiting > 0)
    files.unknown = "a request waits for one";
  else if (!submitted || !completed)
    files.unknown = "its requests are not counted";
  else if (static_cast<std::int32_t>(pending) > 0)
    files.unknown = "requests have not ended";
  return files;
}

}  // namespace gpuready
