#include "device/hip/hip_driver.h"

#include <fmt/format.h>

#include "base/rocm_libraries.h"
#include "device/hip/hip_errors.h"

namespace gpuready {
namespace {

Result<HipDriver> open_and_start() {
  std::vector<std::string> paths = {kHipLibrary};
  paths.insert(paths.end(), kOtherHipLibraries.begin(), kOtherHipLibraries.end());
  auto library = TRY(open_driver_library(kHipApi.library, kHipLibraryVariable, std::move(paths)));
  HipDriver opened(std::move(library));
  TRY(opened.init(0));
  TRY(opened.runtime_version(&opened.version));
  if (opened.version < kLeastHipVersion)
    return fail(ErrorKind::unsupported,
                fmt::format("{} is HIP {}.{}, whose attributes have other numbers: 5.0 is the "
                            "oldest that serves",
                            opened.library.path, opened.version / 10'000'000,
                            opened.version / 100'000 % 100));
  return opened;
}

}  // namespace

const DriverApi kHipApi = {"the HIP runtime", "compute units", describe_hip_error, [](int status) {
                             const HipErrorInfo* error = find_hip_error(status);
                             return error && error->sticky;
                           }};

Result<const HipDriver*> HipDriver::start() {
  // Both outcomes are kept: a runtime that failed to start does not start better the second time.
  static const Result<HipDriver> driver = open_and_start();
  if (!driver) return std::unexpected(driver.error());
  return &*driver;
}

}  // namespace gpuready
