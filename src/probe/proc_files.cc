#include "probe/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace gpuready {
namespace {

constexpr std::size_t kFirstBytes = std::size_t{64} << 10, kMostBytes = std::size_t{64} << 20;

}  // namespace

Descriptor open_at(int folder, const std::string& path, int flags) {
  return Descriptor(::openat(folder, path.c_str(), flags | O_CLOEXEC));
}

std::expected<std::vector<std::uint32_t>, int> list_numbers(const Descriptor& folder) {
  if (!folder) return std::unexpected(errno);
  std::vector<std::uint32_t> numbers;
  alignas(dirent64) char part[std::size_t{32} << 10];
  for (;;) {
    const auto size = ::syscall(SYS_getdents64, folder.get(), part, sizeof part);
    if (size < 0) return std::unexpected(errno);
    if (size == 0) return numbers;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(part + at);
      const std::string_view name = entry->d_name;
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
      at += entry->d_reclen;
    }
  }
}

bool share(std::uint32_t one, std::uint32_t other, int kind) {
  return ::syscall(SYS_kcmp, one, other, kind, 0, 0) == 0;
}

std::expected<std::string_view, int> TextReader::read(int folder, const std::string& path) {
  const auto file = open_at(folder, path, O_RDONLY);
  if (!file) return std::unexpected(errno);
  for (std::size_t used = 0;;) {
    if (used == buffer_.size()) {
      if (used >= kMostBytes) return std::unexpected(EFBIG);
      buffer_.resize(std::max(2 * used, kFirstBytes));
    }
    const auto size = ::read(file.get(), buffer_.data() + used, buffer_.size() - used);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::unexpected(errno);
    if (size == 0) return std::string_view(buffer_).substr(0, used);
    used += static_cast<std::size_t>(size);
  }
}

std::expected<std::string_view, int> TextReader::read_link(int folder, const std::string& path) {
  buffer_.resize(std::max(buffer_.size(), kFirstBytes));
  const auto size = ::readlinkat(folder, path.c_str(), buffer_.data(), buffer_.size());
  if (size < 0) return std::unexpected(errno);
  return std::string_view(buffer_).substr(0, static_cast<std::size_t>(size));
}

}  // namespace gpuready
