#include "ternary/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>

namespace gpuready::ternary {
namespace {

// The number at the beginning; "max", "-1" and everything else that is not a limit give nothing.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<unsigned> cpus_of(std::optional<std::uint64_t> quota,
                                std::optional<std::uint64_t> period) {
  if (!quota || !period || *period == 0 || *quota == 0) return std::nullopt;
  const std::uint64_t cpus = (*quota - 1) / *period + 1;
  return static_cast<unsigned>(std::min<std::uint64_t>(cpus, std::numeric_limits<unsigned>::max()));
}

std::optional<unsigned> of_version_2(const ReadText& read, const std::string& folder) {
  const auto text = read(folder + "/cpu.max");
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const auto quota = take_number(rest);
  return cpus_of(quota, take_number(rest));
}
std::optional<unsigned> of_version_1(const ReadText& read, const std::string& folder) {
  const auto number = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto text = read(folder + name);
    if (!text) return std::nullopt;
    std::string_view rest = *text;
    return take_number(rest);
  };
  return cpus_of(number("/cpu.cfs_quota_us"), number("/cpu.cfs_period_us"));
}

// A line of /proc/self/cgroup is "number:controllers:/path"; no controllers are version 2.
struct Membership {
  bool version_2 = false;
  std::string path;
};
std::optional<Membership> membership_of(std::string_view line) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == line.npos || second == line.npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  std::string path(line.substr(second + 1));
  if (controllers.empty()) return Membership{true, std::move(path)};
  const std::string listed = ',' + std::string(controllers) + ',';
  if (listed.find(",cpu,") == listed.npos) return std::nullopt;
  return Membership{false, std::move(path)};
}

}  // namespace

std::optional<unsigned> quota_of(const ReadText& read) {
  const auto groups = read("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  std::optional<unsigned> least;
  for (std::string_view text = *groups; !text.empty();) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto group = membership_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!group || group->path.empty() || group->path[0] != '/') continue;
    // In a container without a cgroup namespace the path may be the host's, which is not there; the
    // root's files are the container's own then.
    for (std::string path = group->path;;) {
      while (path.ends_with('/')) path.pop_back();
      const auto cpus = group->version_2 ? of_version_2(read, "/sys/fs/cgroup" + path)
                                         : of_version_1(read, "/sys/fs/cgroup/cpu" + path);
      if (cpus) least = std::min(least.value_or(*cpus), *cpus);
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return least;
}

unsigned cpus_of_quota() {
  const auto read = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  return quota_of(read).value_or(std::numeric_limits<unsigned>::max());
}

}  // namespace gpuready::ternary
