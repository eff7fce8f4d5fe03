#include "device/cuda/cuda_identity.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready {
namespace {

std::string format_uuid(const CudaUuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

// The 32 hexadecimal digits of a UUID, in lower case; empty when the text holds none.
std::string uuid_digits(std::string_view uuid) {
  const std::string lower = to_lower(uuid);
  std::string_view text = lower;
  for (std::string_view prefix : {"mig-", "gpu-"})
    if (auto rest = after_prefix(text, prefix)) text = *rest;
  std::string digits(text.substr(0, text.find('/')));
  std::erase(digits, '-');
  const bool valid =
      digits.size() == 32 && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  return valid ? digits : std::string();
}

}  // namespace

Result<std::vector<CudaDeviceIdentity>> list_cuda_identities(const CudaDriver& driver) {
  int count = 0;
  TRY(driver.device_count(&count));
  std::vector<CudaDeviceIdentity> identities;
  for (int index = 0; index < count; ++index) {
    CudaDeviceIdentity identity;
    CudaUuid uuid{};
    TRY(driver.device_get(&identity.number, index));
    TRY(driver.device_uuid(&uuid, identity.number));
    identity.uuid = format_uuid(uuid);
    identities.push_back(std::move(identity));
  }
  return identities;
}

bool same_cuda_uuid(std::string_view a, std::string_view b) {
  const std::string digits = uuid_digits(a);
  return !digits.empty() && digits == uuid_digits(b);
}

}  // namespace gpuready
