#include "probe/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

namespace gpuready {
namespace {

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr)
    return {};
  return map->l_name;
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : path;
}

std::string loader_message() {
  const char* message = dlerror();
  return message != nullptr ? message : "not found";
}

}  // namespace

std::optional<ProbeLibrary> ProbeLibrary::load(ProbeWriter& writer, const char* name,
                                               const char* override_variable,
                                               std::initializer_list<const char*> fallbacks) {
  const char* chosen = secure_getenv(override_variable);
  const bool overridden = chosen != nullptr && *chosen != 0;
  // A library's constructors run inside dlopen: one that hangs there must be reported, too.
  const char* first = overridden ? chosen : name;
  writer.begin(std::string("dlopen(") + first + ")");
  void* handle = dlopen(first, RTLD_NOW | RTLD_LOCAL);
  const std::string message = handle == nullptr ? loader_message() : std::string();
  if (handle == nullptr && !overridden) {
    for (const char* path : fallbacks) {
      writer.begin(std::string("dlopen(") + path + ")");
      handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr) break;
    }
  }
  if (handle == nullptr) {
    writer.no_library(name, message);
    return std::nullopt;
  }
  const std::string path = path_of(handle);
  writer.library(name, path, resolved(path));
  return ProbeLibrary(handle);
}

void* ProbeLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace gpuready
