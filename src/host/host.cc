#include "host/host.h"

#include "base/paths.h"
#include "base/text.h"

namespace gpuready {

namespace {
bool is_root(Host& host) {
  const auto identity = host.identity();
  return identity && identity->effective_uid == 0;
}
}  // namespace

Result<std::string> Host::read_believed(const std::string& path, std::size_t limit_bytes) {
  return is_root(*this) ? read_own_file(path, limit_bytes) : read_file(path, limit_bytes);
}

Result<void> Host::check_believed(const std::string& path) {
  return is_root(*this) ? check_own(path) : Result<void>{};
}

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

std::optional<std::string> Host::link_name(const std::string& path) {
  const auto target = read_link(path);
  return target ? std::optional(std::string(base_name(trim(*target)))) : std::nullopt;
}

}  // namespace gpuready
