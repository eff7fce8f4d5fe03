// Runs the kernels of the fake CUDA driver by executing their PTX: the images that ship, for the
// architecture that the fake GPU says to have.
#include <cstdio>
#include <cstring>

#include "../ptx_machine/machine.h"
#include "fake_cuda.h"
#define FAKE_VARIABLE "FAKE_CUDA"
#include "fake_options.h"

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

// A launch that awaits those that may overlap it.
struct Begun {
  ptx::Launch launch;
  std::vector<ptx::u8> parameters;
};
std::vector<Begun> g_begun;

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
  if (!shape->overlaps) {
    if (const int code = fake_finish(); code != 0) return code;
  }
  const ptx::Kernel& kernel =
      static_cast<ptx::Module*>(module)->kernels.find(std::string_view(name))->second;
  const auto* bytes = static_cast<const ptx::u8*>(params);
  Begun& begun = g_begun.emplace_back();
  begun.parameters.assign(bytes, bytes + kernel.parameter_bytes);
  begun.launch.kernel = &kernel;
  begun.launch.blocks = shape->blocks;
  begun.launch.threads = shape->threads;
  begun.launch.dynamic_shared_bytes = shape->dynamic_shared_bytes;
  begun.launch.multiprocessors = shape->multiprocessors;
  begun.launch.cooperative = shape->cooperative != 0;
  begun.launch.slice = static_cast<ptx::u32>(bytes_option("slice", begun.launch.slice));
  return 0;
}

int fake_finish(void) {
  const std::vector<Begun> begun = std::exchange(g_begun, {});
  std::vector<ptx::Launch> launches;
  for (const Begun& b : begun) {
    launches.push_back(b.launch);
    launches.back().parameters = b.parameters.data();
  }
  try {
    ptx::run(launches, Allocations());
    return 0;
  } catch (const ptx::Fault& fault) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", fault.what());
    return kLaunchFailed;
  }
}
