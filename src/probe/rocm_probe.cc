// Asks AMD's user space: HSA, then HIP, by calls whose C signatures have stayed the same since
// ROCm 4 (AMD's HIP and ROCr reference manuals). Not verified on hardware.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/rocm_libraries.h"
#include "probe/ask.h"
#include "probe/library.h"
#include "probe/probes.h"

namespace gpuready {
namespace {
constexpr int kMostDevices = 256;
constexpr const char* kHsaNames[] = {"libhsa-runtime64.so.1",
                                     "/opt/rocm/lib/libhsa-runtime64.so.1"};

void ask_hsa(ProbeWriter& writer) {
  void* handle = nullptr;
  for (const char* name : kHsaNames) {
    writer.begin(std::string("dlopen(") + name + ")");
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
  }
  if (handle == nullptr) return writer.missing("hsa_init()");
  const auto init = reinterpret_cast<int (*)()>(dlsym(handle, "hsa_init"));
  const auto words =
      reinterpret_cast<int (*)(int, const char**)>(dlsym(handle, "hsa_status_string"));
  if (init == nullptr) return writer.missing("hsa_init()");
  const int code = ask(writer, "hsa_init()", [&](Json&) { return init(); });
  if (code == 0 || words == nullptr) return;
  ask(writer, call_key("hsa_status_string", std::to_string(code)), [&](Json& value) {
    const char* text = nullptr;
    const int answer = words(code, &text);
    if (answer == 0 && text != nullptr) value = std::string(text);
    return answer;
  });
}

class Hip {
 public:
  Hip(ProbeWriter& writer, const ProbeLibrary& library) : writer_(writer), library_(library) {}

  // Makes a call when the library has it; names the error right after one that failed.
  template <class Signature, class Call>
  bool call(const char* symbol, const std::string& argument, Call&& make) {
    const auto key = call_key(symbol, argument);
    auto* function = library_.function<Signature>(symbol);
    if (function == nullptr) {
      writer_.missing(key);
      return false;
    }
    const int code = ask(writer_, key, [&](Json& value) { return make(*function, value); });
    if (code != 0) name_error(code);
    return code == 0;
  }

 private:
  void name_error(int code) {
    auto* name = library_.function<const char*(int)>("hipGetErrorName");
    if (name == nullptr) return;
    ask(writer_, call_key("hipGetErrorName", std::to_string(code)), [&](Json& value) {
      if (const char* text = name(code)) value = std::string(text);
      return 0;
    });
  }

  ProbeWriter& writer_;
  const ProbeLibrary& library_;
};

void ask_device(Hip& hip, int ordinal) {
  const std::string index = std::to_string(ordinal);
  std::array<char, 256> text{};
  const auto into_text = [&](auto& function, Json& value) {
    text.fill(0);
    const int code = function(text.data(), static_cast<int>(text.size() - 1), ordinal);
    value = std::string(text.data());
    return code;
  };
  hip.call<int(char*, int, int)>("hipDeviceGetPCIBusId", index, into_text);
  hip.call<int(char*, int, int)>("hipDeviceGetName", index, into_text);
  hip.call<int(std::size_t*, int)>("hipDeviceTotalMem", index, [&](auto& function, Json& value) {
    std::size_t bytes = 0;
    const int code = function(&bytes, ordinal);
    value = bytes;
    return code;
  });
}
}  // namespace

void probe_rocm(ProbeWriter& writer, std::span<const std::string>) {
  const auto library =
      ProbeLibrary::load(writer, kHipLibrary, kHipLibraryVariable, kOtherHipLibraries);
  ask_hsa(writer);
  if (!library) return;
  Hip hip(writer, *library);
  const auto version = [](auto& function, Json& value) {
    int packed = 0;
    const int code = function(&packed);
    value = packed;
    return code;
  };
  hip.call<int(int*)>("hipRuntimeGetVersion", "", version);
  if (!hip.call<int(unsigned)>("hipInit", "0", [](auto& function, Json&) { return function(0); }))
    return;
  hip.call<int(int*)>("hipDriverGetVersion", "", version);
  int count = 0;
  hip.call<int(int*)>("hipGetDeviceCount", "", [&](auto& function, Json& value) {
    const int code = function(&count);
    value = count;
    return code;
  });
  for (int i = 0; i < std::min(count, kMostDevices); ++i) ask_device(hip, i);
}

}  // namespace gpuready
