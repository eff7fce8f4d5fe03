// The headers of an HTTP answer that a range is checked by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;  // absent: "*"
};
std::optional<ContentRange> parse_content_range(std::string_view text);  // "bytes 0-99/1000"

struct HttpAnswer {
  int status = 0;
  std::optional<std::uint64_t> length;
  std::optional<ContentRange> range;
  bool bad_range = false;  // Content-Range is there and says nothing
  std::string etag, encoding;

  // One line as it came. A status line begins a new answer: that of a redirect, or of a proxy.
  void add(std::string_view line);
};

// Whether text begins as HTML or XML: an error page, or the login page of a portal.
bool is_web_page(std::string_view begin);

}  // namespace gpuready
