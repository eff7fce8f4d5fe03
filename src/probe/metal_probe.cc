// Asks Metal, by its documented API, through the Objective-C runtime: both are loaded at run time,
// so that this file is the same on every platform and finds no library anywhere but on macOS. Not
// verified on hardware.
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "probe/ask.h"
#include "probe/probes.h"

namespace gpuready {
namespace {
constexpr const char* kMetal = "/System/Library/Frameworks/Metal.framework/Metal";
constexpr const char* kObjc = "/usr/lib/libobjc.A.dylib";
constexpr unsigned long kMostDevices = 64;

using Id = void*;
using Selector = void*;

class Runtime {
 public:
  Runtime(void* send, void* select) : send_(send), select_(select) {}
  // objc_msgSend has no signature of its own: it is called through the method's.
  template <class Value, class... Arguments>
  Value message(Id object, const char* name, Arguments... arguments) const {
    const auto selector = reinterpret_cast<Selector (*)(const char*)>(select_)(name);
    return reinterpret_cast<Value (*)(Id, Selector, Arguments...)>(send_)(object, selector,
                                                                          arguments...);
  }

 private:
  void* send_;
  void* select_;
};

void ask_device(ProbeWriter& writer, const Runtime& runtime, Id device, const std::string& index) {
  ask(writer, call_key("name", index), [&](Json& value) {
    const Id name = runtime.message<Id>(device, "name");
    const char* text = name ? runtime.message<const char*>(name, "UTF8String") : nullptr;
    if (text != nullptr) value = std::string(text);
    return text != nullptr ? 0 : 1;
  });
  for (const char* flag : {"hasUnifiedMemory", "isLowPower", "isRemovable"})
    ask(writer, call_key(flag, index), [&](Json& value) {
      value = runtime.message<signed char>(device, flag) != 0 ? 1 : 0;
      return 0;
    });
  for (const char* figure : {"registryID", "recommendedMaxWorkingSetSize"})
    ask(writer, call_key(figure, index), [&](Json& value) {
      value = runtime.message<std::uint64_t>(device, figure);
      return 0;
    });
}
}  // namespace

void probe_metal(ProbeWriter& writer, std::span<const std::string>) {
  void* objc = dlopen(kObjc, RTLD_NOW | RTLD_LOCAL);
  void* metal = objc != nullptr ? dlopen(kMetal, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (metal == nullptr) {
    const char* message = dlerror();
    return writer.no_library("Metal", message != nullptr ? message : "not found");
  }
  writer.library("Metal", kMetal, kMetal);
  const Runtime runtime(dlsym(objc, "objc_msgSend"), dlsym(objc, "sel_registerName"));
  auto* copy = reinterpret_cast<Id (*)()>(dlsym(metal, "MTLCopyAllDevices"));
  if (copy == nullptr || dlsym(objc, "objc_msgSend") == nullptr ||
      dlsym(objc, "sel_registerName") == nullptr)
    return writer.missing("MTLCopyAllDevices()");
  Id devices = nullptr;
  unsigned long count = 0;
  ask(writer, "MTLCopyAllDevices()", [&](Json& value) {
    devices = copy();
    count = devices != nullptr ? runtime.message<unsigned long>(devices, "count") : 0;
    if (count > kMostDevices) count = kMostDevices;
    value = count;
    return 0;
  });
  for (unsigned long i = 0; i < count; ++i)
    ask_device(writer, runtime, runtime.message<Id>(devices, "objectAtIndex:", i),
               std::to_string(i));
}

}  // namespace gpuready
