#include "health/choose_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gpuready {
namespace {

constexpr std::array<std::string_view, 2> kExecutors = {"cuda", "cpu"};  // by priority

}  // namespace

bool is_executor_name(std::string_view name) {
  return std::find(kExecutors.begin(), kExecutors.end(), name) != kExecutors.end();
}

std::optional<std::string> forced_executor(const std::vector<std::string>& devices) {
  for (const std::string& name : devices)
    if (is_executor_name(name) && name != "cpu") return name;
  return std::nullopt;
}

Result<DeviceChoice> choose_executor(const Machine&, const Gpu& gpu,
                                     const std::optional<std::string>& forced) {
  if (gpu.vendor == Vendor::nvidia && forced.value_or("cuda") == "cuda") {
    if (!gpu.uuid)
      return fail(ErrorKind::not_found,
                  "no UUID is known for it, so no child can be given it alone");
    return DeviceChoice{"cuda", *gpu.uuid};
  }
  return fail(ErrorKind::unsupported,
              fmt::format("{} GPUs are not tested by {}", to_string(gpu.vendor),
                          forced ? *forced : "any executor here"));
}

}  // namespace gpuready
