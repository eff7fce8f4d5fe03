#include "device/hip/hip_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "device/kernel.h"

GPUREADY_EMBEDDED(gpuready_hip)  // by kernels/hip/pack.sh

namespace gpuready {
namespace {

// hip_targets.inc is a line GPUREADY_HIP_TARGET(gfx...) for each target of kernels.cmake; an old
// clang makes none.
#define GPUREADY_HIP_TARGET(target) #target,
constexpr std::string_view kList[] = {
#include "hip_targets.inc"
    {}};
#undef GPUREADY_HIP_TARGET
constexpr std::span<const std::string_view> kTargets(kList, std::size(kList) - 1);

std::string_view without_features(std::string_view target) {
  return target.substr(0, target.find(':'));
}

}  // namespace

std::span<const std::string_view> hip_targets() { return kTargets; }

bool has_hip_image(std::string_view target) {
  return std::ranges::find(kTargets, without_features(target)) != kTargets.end();
}

Result<std::string> hip_image(std::string_view target) {
  target = without_features(target);
  const auto images = TRY(unpack_image(gpuready_hip_begin, gpuready_hip_end));
  std::string_view index(images);
  index = index.substr(0, index.find("\n\n") + 1);
  std::size_t at = index.size() + 1;
  for (const std::string_view line : split(index, "\n")) {
    const auto space = line.find(' ');
    if (space == line.npos) continue;
    const auto bytes = parse_uint(line.substr(space + 1)).value_or(0);
    if (line.substr(0, space) == target) return images.substr(at, bytes);
    at += bytes;
  }
  return fail(ErrorKind::unsupported,
              fmt::format("no code for {} is embedded, only for {}", printable(target),
                          join({kTargets.begin(), kTargets.end()}, ", ")));
}

}  // namespace gpuready
