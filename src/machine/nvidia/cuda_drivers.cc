#include "machine/nvidia/cuda_drivers.h"

namespace gpuready {
namespace {

struct LeastDriver {
  int cuda;  // major version
  std::string_view driver;
};
constexpr LeastDriver kLeastDrivers[] = {{11, "450.80.02"}, {12, "525.60.13"}, {13, "580.65.06"}};

}  // namespace

std::optional<std::string_view> least_driver_of_cuda(int major) {
  for (const auto& least : kLeastDrivers)
    if (least.cuda == major) return least.driver;
  return std::nullopt;
}

}  // namespace gpuready
