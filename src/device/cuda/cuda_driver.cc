#include "device/cuda/cuda_driver.h"

#include <fmt/format.h>

#include "base/cuda_errors.h"

namespace gpuready {

const DriverApi kCudaApi = {"the CUDA driver library", "SMs", describe_cuda_error, [](int status) {
                              const CudaErrorInfo* error = find_cuda_error(status);
                              return error && error->sticky;
                            }};

Result<const CudaDriver*> CudaDriver::start() {
  // Both outcomes are kept: a driver that failed to start does not start better the second time.
  static const Result<CudaDriver> driver = []() -> Result<CudaDriver> {
    auto library = TRY(open_driver_library(kCudaApi.library, "GPUREADY_LIBCUDA",
                                           {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}));
    CudaDriver opened(std::move(library));
    TRY(opened.init(0));
    return opened;
  }();
  if (!driver) return std::unexpected(driver.error());
  return &*driver;
}

}  // namespace gpuready
