#include "device/cuda/cuda_aliased.h"

#include <algorithm>

namespace gpuready {
namespace {

// As far as it gets is reported in `aliased`.
Result<void> map(const CudaDriver& driver, CudaDeviceNumber device, CudaAliased& aliased) {
  CudaAllocationProperties properties;
  properties.location.id = device;
  const std::size_t half = aliased.half_bytes;
  TRY(driver.address_reserve(&aliased.address, 2 * half, 0, 0, 0));
  TRY(driver.allocation_create(&aliased.allocation, half, &properties, 0));
  for (; aliased.halves_mapped < 2; ++aliased.halves_mapped) {
    TRY(driver.address_map(aliased.address + aliased.halves_mapped * half, half, 0,
                           aliased.allocation, 0));
  }
  CudaAccess access;
  access.location.id = device;
  return driver.address_set_access(aliased.address, 2 * half, &access, 1);
}

}  // namespace

Result<void> map_aliased(const CudaDriver& driver, CudaDeviceNumber device, std::uint64_t bytes,
                         CudaAliased& aliased) {
  CudaAllocationProperties properties;
  properties.location.id = device;
  std::size_t granularity = 0;
  constexpr int kMinimum = 0;
  auto done = driver.allocation_granularity(&granularity, &properties, kMinimum);
  if (!done) return done;
  if (granularity == 0)
    return fail(ErrorKind::device, "the driver reported a granularity of 0 bytes");
  const std::size_t granules = (bytes + granularity - 1) / granularity;
  aliased.half_bytes = std::max<std::size_t>(granules, 1) * granularity;
  done = map(driver, device, aliased);
  if (!done) (void)release_aliased(driver, aliased);
  return done;
}

Result<void> release_aliased(const CudaDriver& driver, const CudaAliased& aliased) {
  Result<void> result;
  const auto keep_first = [&](Result<void> done) {
    if (result && !done) result = done;
  };
  const std::size_t half = aliased.half_bytes;
  for (unsigned i = 0; i < aliased.halves_mapped; ++i)
    keep_first(driver.address_unmap(aliased.address + i * half, half));
  if (aliased.allocation != 0) keep_first(driver.allocation_release(aliased.allocation));
  if (aliased.address != 0) keep_first(driver.address_free(aliased.address, 2 * half));
  return result;
}

}  // namespace gpuready
