// A vendor's library, opened by dlopen, and its functions as we declare them: building needs no
// toolkit, starting needs no driver, and a function that is missing is reported when it is needed.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready {

// How an API is called in what is told to people, and what the numbers of its errors mean.
struct DriverApi {
  std::string_view library;  // "the HIP runtime"
  std::string_view units;    // what it calls a GPU's units: "SMs", "compute units"
  std::string (*describe)(int status);
  bool (*is_sticky)(int status);  // the device cannot be used any more from then on
};

struct DriverLibrary {
  void* handle = nullptr;
  std::string path;  // as it was opened
};
// Opens the first of `paths` that is there, and never closes it; the path in the environment's
// `variable`, if set, is the only one tried. `what` is how people call it.
Result<DriverLibrary> open_driver_library(std::string_view what, const char* variable,
                                          std::vector<std::string> paths);

void* find_symbol(const DriverLibrary& library, const char* name);
std::unexpected<Error> symbol_missing(const DriverApi& api, std::string_view name);
std::unexpected<Error> call_failed(const DriverApi& api, std::string_view name, int status);

// A function that answers with a status, 0 for success.
template <const DriverApi& api, class... Args>
class DriverFunction {
 public:
  // Found under its newest name, or else under the older one.
  DriverFunction(const DriverLibrary& library, const char* newest, const char* older = nullptr)
      : name_(newest), function_(look_up(library, newest)) {
    if (function_ || !older) return;
    function_ = look_up(library, older);
    if (function_) name_ = older;
  }
  bool is_there() const { return function_ != nullptr; }
  // Calls it. A missing function is an error that names it; any status but 0 one with its meaning.
  Result<void> operator()(Args... args) const {
    if (!function_) return symbol_missing(api, name_);
    const int status = function_(args...);
    if (status != 0) return call_failed(api, name_, status);
    return {};
  }

 private:
  using Function = int (*)(Args...);
  static Function look_up(const DriverLibrary& library, const char* name) {
    return reinterpret_cast<Function>(find_symbol(library, name));
  }
  const char* name_;
  Function function_;
};

}  // namespace gpuready
