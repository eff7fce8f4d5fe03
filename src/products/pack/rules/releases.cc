#include "pack/rules/releases.h"

#include <fmt/format.h>

#include <algorithm>

#include "machine/nvidia/architectures.h"

namespace gpuready::pack {
namespace {

// The last branches: NVIDIA, "Support plan for Kepler" and "for Maxwell, Pascal and Volta".
struct LastBranch {
  int major, minor;  // architectures up to this one
  std::string_view branch;
};
constexpr LastBranch kLastBranches[] = {{3, 9, "470"}, {7, 4, "580"}};

// NVIDIA, "CUDA Compatibility", forward compatibility: capabilities of which all GPUs, and of which
// no GPUs, are for data centres.
constexpr std::pair<int, int> kDataCentre[] = {{6, 0}, {7, 0}, {8, 0}, {9, 0}, {10, 0}, {10, 3}};
constexpr std::pair<int, int> kNoDataCentre[] = {{5, 0}, {12, 1}};

// NVIDIA, "cuDNN Support Matrix". Oldest first.
struct CudnnFloor {
  std::string_view cudnn;
  CudaTarget least;
  std::string_view before;  // the last version before it
};
constexpr CudnnFloor kCudnnFloors[] = {
    {"8.0", {3, 0, 0}, ""}, {"8.9", {5, 0, 0}, "8.8"}, {"9.11", {7, 5, 0}, "9.10"}};

Version version_of(std::string_view text) { return parse_version(text).value_or(Version{}); }

// Of a GPU that came later than this table: the one before it in its family, which no driver of its
// own can be older than.
const NvidiaArchitecture* known_up_to(const CudaTarget& gpu) {
  const NvidiaArchitecture* known = nullptr;
  for (const NvidiaArchitecture& each : nvidia_architectures())
    if (each.major == gpu.major && each.minor <= gpu.minor) known = &each;
  return known;
}

}  // namespace

std::optional<Version> cuda_of_driver(const Version& driver) {
  std::optional<Version> cuda;
  for (const auto& release : cuda_releases()) {
    if (release.driver.empty()) continue;
    // A branch is of one release from its first driver on, betas included.
    if (version_of(release.driver).major() > driver.major()) break;
    cuda = version_of(release.cuda);
  }
  return cuda;
}

DriverSpan drivers_of(const CudaTarget& gpu) {
  DriverSpan span;
  if (const auto* known = known_up_to(gpu))
    for (const auto& release : cuda_releases())
      if (!release.driver.empty() && version_of(release.cuda) >= version_of(known->first_cuda)) {
        span.first = version_of(release.driver);
        break;
      }
  for (const auto& last : kLastBranches)
    if (std::pair(gpu.major, gpu.minor) <= std::pair(last.major, last.minor)) {
      // Systems on a chip have drivers of their own, which no branch reports.
      if (!is_tegra(gpu)) span.last_branch = version_of(last.branch);
      break;
    }
  if (is_tegra(gpu)) span.first.reset();
  return span;
}

std::optional<bool> starts_with_cuda_compat(const CudaTarget& gpu) {
  const auto is_in = [&](std::span<const std::pair<int, int>> list) {
    return std::ranges::find(list, std::pair(gpu.major, gpu.minor)) != list.end();
  };
  if (is_in(kDataCentre)) return true;
  if (is_in(kNoDataCentre)) return false;
  return std::nullopt;
}

std::optional<CudaTarget> least_of_cudnn(const Version& cudnn) {
  std::optional<CudaTarget> least;
  for (const auto& floor : kCudnnFloors)
    if (cudnn >= version_of(floor.cudnn)) least = floor.least;
  return least;
}

std::string_view last_cudnn_of(const CudaTarget& gpu) {
  for (const auto& floor : kCudnnFloors)
    if (std::pair(gpu.major, gpu.minor) < std::pair(floor.least.major, floor.least.minor))
      return floor.before;
  return {};
}

std::optional<Version> cudnn_of_path(std::string_view path) {
  const auto at = path.find("cudnn");
  if (at == path.npos) return std::nullopt;
  const auto digits_after = [&](std::string_view mark, std::size_t from) -> std::optional<Version> {
    const auto found = path.find(mark, from);
    if (found == path.npos) return std::nullopt;
    const auto begin = found + mark.size();
    const auto end = std::min(path.find_first_not_of("0123456789.", begin), path.size());
    auto version = parse_version(path.substr(begin, end - begin));
    return version && version->parts.size() >= 2 ? version : std::nullopt;
  };
  if (auto version = digits_after(".so.", path.rfind("cudnn"))) return version;
  return digits_after("-", at);
}

std::string cudnn_obstacle(const Version& cudnn, const CudaTarget& gpu) {
  const auto least = least_of_cudnn(cudnn);
  if (!least || std::pair(gpu.major, gpu.minor) >= std::pair(least->major, least->minor)) return {};
  return fmt::format("cuDNN {} runs on GPUs of {} and newer", version_text(cudnn),
                     least->capability());
}

std::string version_text(const Version& version) {
  std::string text;
  for (const int part : version.parts) text += fmt::format("{}{}", text.empty() ? "" : ".", part);
  return text;
}

std::string driver_text(const Version& version) {
  if (version.parts.size() != 3 || version.parts[2] == 0) return version_text(version);
  return fmt::format("{}.{}.{:02}", version.parts[0], version.parts[1], version.parts[2]);
}

bool is_tegra(const CudaTarget& gpu) {
  const auto* known = find_nvidia_architecture(gpu.capability());
  return known != nullptr && known->integrated && gpu.major != 12;
}

}  // namespace gpuready::pack
