#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>

#include "base/cuda_errors.h"

namespace gpuready {
namespace {

template <class... Args>
void look_up(void* library, CudaSymbol<CudaStatus(Args...)>& symbol) {
  for (const char* name : symbol.names) {
    if (!name) continue;
    if (void* found = ::dlsym(library, name)) {
      symbol.function = reinterpret_cast<CudaStatus (*)(Args...)>(found);
      symbol.found_name = name;
      return;
    }
  }
}

void look_up_virtual_memory(void* library, CudaVirtualMemory& memory) {
  look_up(library, memory.granularity);
  look_up(library, memory.create);
  look_up(library, memory.release);
  look_up(library, memory.reserve);
  look_up(library, memory.free_address);
  look_up(library, memory.map);
  look_up(library, memory.unmap);
  look_up(library, memory.set_access);
}

void look_up_graphs(void* library, CudaGraphs& graphs) {
  look_up(library, graphs.begin_capture);
  look_up(library, graphs.end_capture);
  look_up(library, graphs.instantiate);
  look_up(library, graphs.launch);
  look_up(library, graphs.destroy_executable);
  look_up(library, graphs.destroy);
}

void look_up_all(void* library, CudaDriver& d) {
  look_up_virtual_memory(library, d.virtual_memory);
  look_up_graphs(library, d.graphs);
  look_up(library, d.init);
  look_up(library, d.driver_version);
  look_up(library, d.device_count);
  look_up(library, d.device_get);
  look_up(library, d.device_name);
  look_up(library, d.device_uuid);
  look_up(library, d.device_total_memory);
  look_up(library, d.device_attribute);
  look_up(library, d.primary_context_retain);
  look_up(library, d.primary_context_release);
  look_up(library, d.context_set_current);
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
  look_up(library, d.function_set_attribute);
  look_up(library, d.launch);
  look_up(library, d.launch_cooperative);
  look_up(library, d.launch_configured);
  look_up(library, d.resident_blocks);
  look_up(library, d.host_register);
  look_up(library, d.host_unregister);
  look_up(library, d.can_access_peer);
  look_up(library, d.peer_attribute);
  look_up(library, d.enable_peer_access);
  look_up(library, d.copy_peer);
}

Result<CudaDriver> open_library() {
  std::vector<std::string> paths = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  if (const char* override_path = std::getenv("GPUREADY_LIBCUDA")) paths = {override_path};
  std::string first_error;
  for (const std::string& path : paths) {
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      CudaDriver driver;
      driver.path = path;
      look_up_all(library, driver);
      return driver;
    }
    const char* error = ::dlerror();
    if (first_error.empty()) first_error = error ? error : "dlopen failed";
  }
  return fail(ErrorKind::not_found,
              fmt::format("the CUDA driver library is not there: {}", first_error));
}

}  // namespace

std::unexpected<Error> cuda_failure(std::string_view call, CudaStatus status) {
  return fail(ErrorKind::device, fmt::format("{}: {}", call, describe_cuda_error(status)), status);
}

std::unexpected<Error> cuda_symbol_missing(std::string_view name) {
  return fail(ErrorKind::unsupported,
              fmt::format("the CUDA driver library has no {}: it is too old or incomplete", name));
}

Result<const CudaDriver*> CudaDriver::start() {
  // Both outcomes are kept: a driver that failed to start does not start better the second time.
  static const Result<CudaDriver> driver = [] {
    auto opened = open_library();
    if (!opened) return opened;
    if (auto started = opened->init(0); !started) {
      return Result<CudaDriver>(std::unexpected(started.error()));
    }
    return opened;
  }();
  if (!driver) return std::unexpected(driver.error());
  return &*driver;
}

Result<std::vector<CudaDeviceIdentity>> list_cuda_identities(const CudaDriver& driver) {
  int count = 0;
  if (auto done = driver.device_count(&count); !done) return std::unexpected(done.error());
  std::vector<CudaDeviceIdentity> identities;
  for (int index = 0; index < count; ++index) {
    CudaDeviceIdentity identity;
    CudaUuid uuid{};
    if (auto done = driver.device_get(&identity.number, index); !done) {
      return std::unexpected(done.error());
    }
    if (auto done = driver.device_uuid(&uuid, identity.number); !done) {
      return std::unexpected(done.error());
    }
    identity.uuid = format_cuda_uuid(uuid, "GPU-");
    identities.push_back(std::move(identity));
  }
  return identities;
}

std::string format_cuda_uuid(const CudaUuid& uuid, std::string_view prefix) {
  std::string text(prefix);
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

}  // namespace gpuready
