#include "machine/system/named_libraries.h"

#include <fmt/format.h>

#include "base/rocm_libraries.h"
#include "base/text.h"
#include "machine/fake.h"

namespace gpuready {
namespace {

constexpr const char* kHelper = "GPUREADY_HELPER";
// cuBLASLt's is not among them: it is measured against, and never asked about a GPU.
constexpr const char* kVariables[] = {kHelper,
                                      "GPUREADY_LIBNVML",
                                      "GPUREADY_LIBCUDA",
                                      "GPUREADY_LIBNCCL",
                                      kHipLibraryVariable,
                                      "GPUREADY_VULKAN_LIBRARY"};

bool is_this_program(Host& host, const std::string& path) {
  const auto own = host.real_path("/proc/self/exe");
  const auto named = host.real_path(path);
  return own && named && *own == *named;
}

}  // namespace

std::map<std::string, std::string> named_libraries(Host& host, bool is_gpuready) {
  std::map<std::string, std::string> named;
  for (const char* variable : kVariables) {
    const auto path = host.environment(variable);
    if (!path || path->empty()) continue;
    if (variable == kHelper && (!is_gpuready || is_this_program(host, *path))) continue;
    named[variable] = printable(*path);
  }
  return named;
}

Result<void> check_named_libraries(Host& host) {
  if (host.kind() != HostKind::live) return {};
  for (const auto& [variable, path] : named_libraries(host, true))
    if (const auto there = host.status(path); contains(path, "/") && !there)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}={}: {}", variable, path,
                              there.error().kind == ErrorKind::not_found ? "no such file"
                                                                         : there.error().message));
  return {};
}

std::string named_libraries_text(const std::map<std::string, std::string>& named) {
  std::string text;
  for (const auto& [variable, path] : named)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", variable, path);
  return text;
}

bool trusts_named_libraries(Host& host) {
  return is_set(host.environment("GPUREADY_TRUST_NAMED_LIBRARIES"));
}

}  // namespace gpuready
