// Asks the CUDA driver about its devices. No context is created, so no GPU memory is used. cuInit
// obeys CUDA_VISIBLE_DEVICES, which is wanted: this is what a program of this environment sees.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "probe/ask.h"
#include "probe/library.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

constexpr int kMaxDevices = 1024;

// Numbers of CUdevice_attribute: CUDA Driver API reference, "Data types". The names are those of
// the reference in lower case, without the prefix.
struct Attribute {
  const char* name;
  int number;
};
constexpr Attribute kAttributes[] = {
    {"max_threads_per_block", 1},
    {"max_block_dim_x", 2},
    {"max_grid_dim_x", 5},
    {"max_shared_memory_per_block", 8},
    {"warp_size", 10},
    {"clock_rate", 13},
    {"multiprocessor_count", 16},
    {"integrated", 18},
    {"compute_mode", 20},
    {"ecc_enabled", 32},
    {"tcc_driver", 35},
    {"memory_clock_rate", 36},
    {"global_memory_bus_width", 37},
    {"l2_cache_size", 38},
    {"max_threads_per_multiprocessor", 39},
    {"async_engine_count", 40},
    {"unified_addressing", 41},
    {"compute_capability_major", 75},
    {"compute_capability_minor", 76},
    {"max_shared_memory_per_multiprocessor", 81},
    {"max_registers_per_multiprocessor", 82},
    {"managed_memory", 83},
    {"cooperative_launch", 95},
    {"max_shared_memory_per_block_optin", 97},
    {"max_blocks_per_multiprocessor", 106},
    {"generic_compression_supported", 107},
    {"memory_pools_supported", 115},
    {"multicast_supported", 132},
};

class CudaProbe {
 public:
  CudaProbe(ProbeWriter& writer, const ProbeLibrary& library)
      : writer_(writer), library_(library) {}

  void run() {
    ask_int("cuDriverGetVersion");  // works without cuInit, and tells how new the library is
    auto* init = find<int(unsigned)>("cuInit", "cuInit(0)");
    if (init == nullptr || ask(writer_, "cuInit(0)", [&](Json&) { return init(0); }) != 0) return;
    const int count = std::min(ask_int("cuDeviceGetCount").value_or(0), kMaxDevices);
    for (int ordinal = 0; ordinal < count; ++ordinal) ask_device(ordinal);
  }

 private:
  template <class Function>
  Function* find(const char* symbol, const std::string& key) {
    auto* function = library_.function<Function>(symbol);
    if (function == nullptr) writer_.missing(key);
    return function;
  }

  std::optional<int> ask_int(const char* symbol) {
    const auto key = call_key(symbol);
    auto* function = find<int(int*)>(symbol, key);
    if (function == nullptr) return std::nullopt;
    int answer = 0;
    const int code = ask(writer_, key, [&](Json& value) {
      const int result = function(&answer);
      value = answer;
      return result;
    });
    return code == 0 ? std::optional(answer) : std::nullopt;
  }

  void ask_device(int ordinal) {
    const auto id = std::to_string(ordinal);
    const auto key = call_key("cuDeviceGet", id);
    auto* get = find<int(int*, int)>("cuDeviceGet", key);
    int device = 0;
    if (get == nullptr || ask(writer_, key, [&](Json&) { return get(&device, ordinal); }) != 0)
      return;
    ask_text("cuDeviceGetName", id, device);
    ask_uuid(id, device);
    ask_text("cuDeviceGetPCIBusId", id, device);
    ask_memory(id, device);
    for (const auto& attribute : kAttributes) ask_attribute(attribute, id, device);
  }

  void ask_text(const char* symbol, const std::string& id, int device) {
    const auto key = call_key(symbol, id);
    auto* function = find<int(char*, int, int)>(symbol, key);
    if (function == nullptr) return;
    ask(writer_, key, [&](Json& value) {
      char text[256] = {};
      const int code = function(text, sizeof text - 1, device);
      value = std::string(text);
      return code;
    });
  }

  // Of a MIG instance _v2 tells the instance's own UUID, the older call the whole GPU's. Both are
  // told as bytes without "GPU-" or "MIG-".
  void ask_uuid(const std::string& id, int device) {
    for (const char* symbol : {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}) {
      const auto key = call_key(symbol, id);
      auto* function = find<int(unsigned char*, int)>(symbol, key);
      if (function == nullptr) continue;
      ask(writer_, key, [&](Json& value) {
        unsigned char bytes[16] = {};
        const int code = function(bytes, device);
        std::string text;
        for (int i = 0; i < 16; ++i) {
          char two[3];
          std::snprintf(two, sizeof two, "%02x", bytes[i]);
          if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
          text += two;
        }
        value = text;
        return code;
      });
      return;
    }
  }

  // Without _v2 the size was told in 32 bits.
  void ask_memory(const std::string& id, int device) {
    constexpr const char* kSymbol = "cuDeviceTotalMem_v2";
    const auto key = call_key(kSymbol, id);
    auto* function = find<int(std::size_t*, int)>(kSymbol, key);
    if (function == nullptr) return;
    ask(writer_, key, [&](Json& value) {
      std::size_t bytes = 0;
      const int code = function(&bytes, device);
      value = bytes;
      return code;
    });
  }

  void ask_attribute(const Attribute& attribute, const std::string& id, int device) {
    constexpr const char* kSymbol = "cuDeviceGetAttribute";
    auto* function = library_.function<int(int*, int, int)>(kSymbol);
    if (function == nullptr) return;
    ask(writer_, call_key(kSymbol, id, attribute.name), [&](Json& value) {
      int answer = 0;
      const int code = function(&answer, attribute.number, device);
      value = answer;
      return code;
    });
  }

  ProbeWriter& writer_;
  const ProbeLibrary& library_;
};

}  // namespace

void probe_cuda(ProbeWriter& writer, std::span<const std::string>) {
  const auto library = ProbeLibrary::load(writer, "libcuda.so.1", "GPUREADY_LIBCUDA",
                                          {"/usr/lib/wsl/lib/libcuda.so.1"});
  if (library) CudaProbe(writer, *library).run();
}

}  // namespace gpuready
