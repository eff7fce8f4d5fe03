// A vendor's shared library, as probes load it: symbols resolved at once, kept to itself, and never
// closed, because drivers do not survive that.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "host/probe_document.h"

namespace gpuready {

class ProbeLibrary {
 public:
  // Loads `name` by the loader's search, then from each of `fallbacks`; the environment variable
  // `override_variable`, when set, names the only file that is tried. Tells the writer which file
  // it was, or the loader's message about `name`.
  static std::optional<ProbeLibrary> load(ProbeWriter& writer, const char* name,
                                          const char* override_variable,
                                          std::initializer_list<const char*> fallbacks = {});

  void* symbol(const char* name) const;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  explicit ProbeLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace gpuready
