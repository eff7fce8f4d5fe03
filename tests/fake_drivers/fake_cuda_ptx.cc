// Runs the kernels of the fake CUDA driver by executing their PTX: the images that ship, for the
// architecture that the fake GPU says to have.
#include <cstdio>
#include <cstring>

#include "../ptx_machine/machine.h"
#include "fake_cuda.h"

namespace {

struct Allocations final : ptx::Memory {
  bool find(ptx::u64 address, ptx::u64& begin, ptx::u64& end) const override {
    std::uint64_t from = 0, to = 0;
    if (!fake_find_allocation(address, &from, &to)) return false;
    begin = from;
    end = to;
    return true;
  }
};

constexpr int kInvalidPtx = 218, kLaunchFailed = 719;

}  // namespace

void* fake_load_module(const char* image, char* log, size_t log_bytes, int* code) {
  try {
    return new ptx::Module(ptx::parse(image));
  } catch (const ptx::Fault& fault) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", fault.what());
    if (log) std::snprintf(log, log_bytes, "%s", fault.what());
    *code = kInvalidPtx;
    return nullptr;
  }
}

void fake_unload_module(void* module) { delete static_cast<ptx::Module*>(module); }

int fake_has_kernel(void* module, const char* name) {
  return static_cast<ptx::Module*>(module)->kernels.contains(std::string_view(name));
}

int fake_launch(void* module, const char* name, const fake_launch_shape* shape,
                const void* params) {
  const ptx::Kernel& kernel =
      static_cast<ptx::Module*>(module)->kernels.find(std::string_view(name))->second;
  ptx::Launch launch;
  launch.kernel = &kernel;
  launch.parameters = static_cast<const ptx::u8*>(params);
  launch.blocks = shape->blocks;
  launch.threads = shape->threads;
  launch.dynamic_shared_bytes = shape->dynamic_shared_bytes;
  launch.multiprocessors = shape->multiprocessors;
  launch.cooperative = shape->cooperative != 0;
  try {
    ptx::run(launch, Allocations());
    return 0;
  } catch (const ptx::Fault& fault) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", fault.what());
    return kLaunchFailed;
  }
}
