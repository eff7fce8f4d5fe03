#include "http/http_answer.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gpuready {

std::optional<ContentRange> parse_content_range(std::string_view text) {
  text = trim(text);
  if (text.size() < 6 || !equals_ignore_case(text.substr(0, 6), "bytes ")) return std::nullopt;
  text = trim(text.substr(6));
  const auto dash = text.find('-'), slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash) return std::nullopt;
  const auto first = parse_uint(text.substr(0, dash));
  const auto last = parse_uint(text.substr(dash + 1, slash - dash - 1));
  const auto total = trim(text.substr(slash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  ContentRange range{*first, *last, std::nullopt};
  if (total == "*") return range;
  range.total = parse_uint(total);
  if (!range.total || *range.total <= *last) return std::nullopt;
  return range;
}

void HttpAnswer::add(std::string_view line) {
  line = trim(line);
  if (line.starts_with("HTTP/")) {
    *this = {};
    const auto parts = split(line, " ");
    if (parts.size() >= 2) status = static_cast<int>(parse_uint(parts[1]).value_or(0) % 1000);
    return;
  }
  const auto colon = line.find(':');
  if (colon == line.npos) return;
  const auto name = to_lower(line.substr(0, colon));
  const auto value = trim(line.substr(colon + 1));
  if (name == "content-length") length = parse_uint(value);
  if (name == "etag") etag = value;
  if (name == "content-encoding") encoding = to_lower(value);
  if (name == "content-range") {
    range = parse_content_range(value);
    bad_range = !range;
  }
}

bool is_web_page(std::string_view begin) {
  begin.remove_prefix(std::min(begin.find_first_not_of("\xef\xbb\xbf \t\r\n"), begin.size()));
  return std::ranges::any_of(
      std::to_array<std::string_view>({"<!doctype", "<html", "<head", "<?xml", "<!--"}),
      [&](std::string_view known) {
        return equals_ignore_case(begin.substr(0, known.size()), known);
      });
}

}  // namespace gpuready
