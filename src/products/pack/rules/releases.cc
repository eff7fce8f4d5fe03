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
// no GPUs, are for data centres. Of 5.0 some are: Tesla M10, by its PCI id's chip (GM107).
constexpr std::pair<int, int> kDataCentre[] = {{6, 0}, {7, 0}, {8, 0}, {9, 0}, {10, 0}, {10, 3}};
constexpr std::pair<int, int> kNoDataCentre[] = {{12, 1}};

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

bool reaches(const Version& driver, const Version& least) {
  return driver.parts.size() == 1 ? driver.major() >= least.major() : driver >= least;
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

bool is_part_of_cudnn(std::string_view path) {
  return path.substr(path.find_last_of("/!") + 1).starts_with("libcudnn");
}

std::optional<Version> cudnn_of_path(std::string_view path) {
  constexpr int kOldest = 5;  // what is called cuDNN's and is older is a program for it
  const auto version_at = [&](std::string_view text) -> std::optional<Version> {
    text = text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
    while (text.ends_with('.')) text.remove_suffix(1);
    auto version = parse_version(text);
    return version && version->parts.size() >= 2 && version->major() >= kOldest ? version
                                                                                : std::nullopt;
  };
  if (const auto at = path.rfind(".so."); at != path.npos && is_part_of_cudnn(path))
    if (auto version = version_at(path.substr(at + 4))) return version;
  for (const auto folder : split(path, "/!"))
    if (const auto name = folder.find("cudnn"); name != folder.npos)
      for (auto at = folder.find_first_of("-_", name); at != folder.npos;
           at = folder.find_first_of("-_", at + 1))
        if (auto version = version_at(folder.substr(at + 1))) return version;
  return std::nullopt;
}

std::optional<Version> cudnn_of_part(std::string_view path) {
  return is_part_of_cudnn(path) ? cudnn_of_path(path) : std::nullopt;
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
