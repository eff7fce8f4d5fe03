#include "host/host.h"

#include "base/text.h"

namespace gpuready {

std::optional<std::string> Host::read_text(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return std::nullopt;
  const auto text = trim(*content);
  if (text.empty()) return std::nullopt;
  return printable(text);
}

std::optional<std::int64_t> Host::read_int(const std::string& path) {
  const auto content = read_file(path);
  return content ? parse_int(*content) : std::nullopt;
}

std::optional<std::uint64_t> Host::read_hex(const std::string& path) {
  const auto content = read_file(path);
  return content ? parse_hex(*content) : std::nullopt;
}

}  // namespace gpuready
