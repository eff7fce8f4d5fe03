#include "device/driver_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace gpuready {

Result<DriverLibrary> open_driver_library(std::string_view what, const char* variable,
                                          std::vector<std::string> paths) {
  if (const char* only = secure_getenv(variable); only && *only) paths = {only};
  std::string first_error;
  for (const std::string& path : paths) {
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return DriverLibrary{handle, path};
    const char* error = ::dlerror();
    if (first_error.empty()) first_error = error ? error : "dlopen failed";
  }
  return fail(ErrorKind::not_found, fmt::format("{} is not there: {}", what, first_error));
}

void* find_symbol(const DriverLibrary& library, const char* name) {
  return ::dlsym(library.handle, name);
}

std::unexpected<Error> symbol_missing(const DriverApi& api, std::string_view name) {
  return fail(ErrorKind::unsupported,
              fmt::format("{} has no {}: it is too old or incomplete", api.library, name));
}

std::unexpected<Error> call_failed(const DriverApi& api, std::string_view name, int status) {
  return fail(ErrorKind::device, fmt::format("{}: {}", name, api.describe(status)), status);
}

}  // namespace gpuready
