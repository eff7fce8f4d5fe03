#include "base/cuda_releases.h"

namespace gpuready {
namespace {

constexpr CudaRelease kReleases[] = {
    // CUDA   PTX    driver
    {"9.0", "6.0", "384.81"},     {"9.1", "6.1", "390.46"},     {"9.2", "6.2", "396.26"},
    {"10.0", "6.3", "410.48"},    {"10.1", "6.4", "418.39"},    {"10.2", "6.5", "440.33"},
    {"11.0", "7.0", "450.36.06"}, {"11.1", "7.1", "455.23"},    {"11.2", "7.2", "460.27.03"},
    {"11.3", "7.3", "465.19.01"}, {"11.4", "7.4", "470.42.01"}, {"11.5", "7.5", "495.29.05"},
    {"11.6", "7.6", "510.39.01"}, {"11.7", "7.7", "515.43.04"}, {"11.8", "7.8", "520.61.05"},
    {"12.0", "8.0", "525.60.13"}, {"12.1", "8.1", "530.30.02"}, {"12.2", "8.2", "535.54.03"},
    {"12.3", "8.3", "545.23.06"}, {"12.4", "8.4", "550.54.14"}, {"12.5", "8.5", "555.42.02"},
    {"12.6", "8.5", "560.28.03"}, {"12.7", "8.6", "565.57.01"}, {"12.8", "8.7", "570.26"},
    {"12.9", "8.8", "575.51.03"}, {"13.0", "9.0", "580.65.06"}, {"13.1", "9.1", "590.44.01"},
    {"13.2", "9.2", "595"},       {"13.3", "9.3", ""},          {"13.4", "9.4", ""},
    {"13.5", "9.5", ""},
};

// Of a major version, the driver that runs what any of its releases built.
struct LeastDriver {
  int major;
  std::string_view driver;
};
constexpr LeastDriver kLeastDrivers[] = {{11, "450.80.02"}, {12, "525.60.13"}, {13, "580.65.06"}};

Version version_of(std::string_view text) { return parse_version(text).value_or(Version{}); }

}  // namespace

std::span<const CudaRelease> cuda_releases() { return kReleases; }

std::optional<Version> ptx_isa_of_cuda(const Version& cuda) {
  std::optional<Version> isa;
  for (const auto& release : kReleases)
    if (version_of(release.cuda) <= cuda) isa = version_of(release.ptx_isa);
  return isa;
}

const CudaRelease* release_of_ptx(const Version& isa) {
  for (const auto& release : kReleases)
    if (version_of(release.ptx_isa) >= isa) return &release;
  return nullptr;
}

std::optional<std::string_view> least_driver_of_cuda(const Version& cuda) {
  for (const auto& least : kLeastDrivers)
    if (least.major == cuda.major()) return least.driver;
  for (const auto& release : kReleases)
    if (version_of(release.cuda).major() == cuda.major() && version_of(release.cuda) >= cuda)
      return release.driver;
  return std::nullopt;
}

}  // namespace gpuready
