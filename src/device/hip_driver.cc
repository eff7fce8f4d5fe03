#include "device/hip_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "base/rocm_libraries.h"
#include "device/hip_errors.h"

namespace gpuready {
namespace {

template <class... Args>
void look_up(void* library, HipSymbol<HipStatus(Args...)>& symbol) {
  symbol.function = reinterpret_cast<HipStatus (*)(Args...)>(::dlsym(library, symbol.name));
}

void look_up_all(void* library, HipDriver& d) {
  look_up(library, d.init);
  look_up(library, d.runtime_version);
  look_up(library, d.device_count);
  look_up(library, d.set_device);
  look_up(library, d.device_pci_address);
  look_up(library, d.device_name);
  look_up(library, d.device_total_memory);
  look_up(library, d.device_attribute);
  look_up(library, d.memory_info);
  look_up(library, d.memory_allocate);
  look_up(library, d.memory_free);
  look_up(library, d.host_allocate);
  look_up(library, d.host_free);
  look_up(library, d.copy_to_device);
  look_up(library, d.copy_to_host);
  look_up(library, d.copy_on_device);
  look_up(library, d.stream_create);
  look_up(library, d.stream_destroy);
  look_up(library, d.stream_synchronize);
  look_up(library, d.event_create);
  look_up(library, d.event_destroy);
  look_up(library, d.event_record);
  look_up(library, d.event_elapsed_ms);
  look_up(library, d.module_load);
  look_up(library, d.module_unload);
  look_up(library, d.module_function);
  look_up(library, d.launch);
  look_up(library, d.launch_cooperative);
  look_up(library, d.resident_blocks);
}

Result<HipDriver> open_library() {
  std::vector<std::string> paths = {kHipLibrary};
  paths.insert(paths.end(), kOtherHipLibraries.begin(), kOtherHipLibraries.end());
  if (const char* only = std::getenv(kHipLibraryVariable); only && *only) paths = {only};
  std::string first_error;
  for (const std::string& path : paths) {
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      HipDriver driver;
      driver.path = path;
      look_up_all(library, driver);
      return driver;
    }
    const char* error = ::dlerror();
    if (first_error.empty()) first_error = error ? error : "dlopen failed";
  }
  return fail(ErrorKind::not_found, fmt::format("the HIP runtime is not there: {}", first_error));
}

Result<HipDriver> open_and_start() {
  auto opened = open_library();
  if (!opened) return opened;
  if (auto started = opened->init(0); !started) return std::unexpected(started.error());
  if (auto told = opened->runtime_version(&opened->version); !told)
    return std::unexpected(told.error());
  if (opened->version < kLeastHipVersion)
    return fail(
        ErrorKind::unsupported,
        fmt::format("{} is HIP {}.{}, whose attributes have other numbers: 5.0 is the "
                    "oldest that serves",
                    opened->path, opened->version / 10'000'000, opened->version / 100'000 % 100));
  return opened;
}

}  // namespace

std::unexpected<Error> hip_failure(std::string_view call, HipStatus status) {
  return fail(ErrorKind::device, fmt::format("{}: {}", call, describe_hip_error(status)), status);
}

std::unexpected<Error> hip_symbol_missing(std::string_view name) {
  return fail(ErrorKind::unsupported,
              fmt::format("the HIP runtime has no {}: it is too old or incomplete", name));
}

Result<const HipDriver*> HipDriver::start() {
  // Both outcomes are kept: a runtime that failed to start does not start better the second time.
  static const Result<HipDriver> driver = open_and_start();
  if (!driver) return std::unexpected(driver.error());
  return &*driver;
}

}  // namespace gpuready
