#include "ternary/device/host_memory.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace gpuready::ternary {
namespace {

std::optional<std::uint64_t> kib_of(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos || (at > 0 && text[at - 1] != '\n')) return std::nullopt;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > (std::uint64_t{1} << 50)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<HostMemory> parse_meminfo(std::string_view text) {
  const auto total = kib_of(text, "MemTotal:"), available = kib_of(text, "MemAvailable:");
  if (!total || !available || *available > *total) return std::nullopt;
  return HostMemory{(*total - *available) * 1024, *total * 1024};
}

std::optional<HostMemory> host_memory() {
  std::ifstream file("/proc/meminfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parse_meminfo(text);
}

}  // namespace gpuready::ternary
