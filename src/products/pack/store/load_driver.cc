#include "pack/store/load_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace gpuready::pack {
namespace {

constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND
// What output memory holds before: a kernel that writes nothing is found out.
constexpr std::uint32_t kUnwritten = 0xa5a5a5a5;

Result<void> checked(int code, const char* call) {
  if (code == 0) return {};
  return fail(ErrorKind::device, fmt::format("{} gives error {}", call, code), code);
}

}  // namespace

Result<void> LoadDriver::start() {
  const char* chosen = secure_getenv("GPUREADY_LIBCUDA");
  const char* name = chosen != nullptr && *chosen != 0 ? chosen : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(ErrorKind::no_device, fmt::format("{}", dlerror()));
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  const std::pair<const char*, void**> symbols[] = {
      {"cuInit", reinterpret_cast<void**>(&init)},
      {"cuDeviceGet", reinterpret_cast<void**>(&device_get)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void**>(&retain)},
      {"cuCtxSetCurrent", reinterpret_cast<void**>(&set_current)},
      {"cuModuleLoadDataEx", reinterpret_cast<void**>(&load_)},
      {"cuModuleUnload", reinterpret_cast<void**>(&unload_)},
      {"cuModuleGetFunction", reinterpret_cast<void**>(&get_function_)},
      {"cuMemAlloc_v2", reinterpret_cast<void**>(&allocate_)},
      {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void**>(&to_device_)},
      {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void**>(&to_host_)},
      {"cuLaunchKernel", reinterpret_cast<void**>(&launch_)},
      {"cuStreamSynchronize", reinterpret_cast<void**>(&wait_)},
  };
  for (const auto& [symbol, to] : symbols)
    if ((*to = dlsym(library, symbol)) == nullptr)
      return fail(ErrorKind::no_device, fmt::format("{} has no {}", name, symbol));
  int device = 0;
  void* context = nullptr;
  TRY(checked(init(0), "cuInit"));
  TRY(checked(device_get(&device, 0), "cuDeviceGet"));
  TRY(checked(retain(&context, device), "cuDevicePrimaryCtxRetain"));
  return checked(set_current(context), "cuCtxSetCurrent");
}

Result<void> LoadDriver::load(const void* image) {
  void* module = nullptr;
  TRY(checked(load_(&module, image, 0, nullptr, nullptr), "cuModuleLoadDataEx"));
  return checked(unload_(module), "cuModuleUnload");
}

Result<bool> LoadDriver::launch(const void* image, const Probe& probe) {
  void *module = nullptr, *function = nullptr;
  TRY(checked(load_(&module, image, 0, nullptr, nullptr), "cuModuleLoadDataEx"));
  const int found = get_function_(&function, module, probe.kernel.c_str());
  if (found == kNotFound) {
    TRY(checked(unload_(module), "cuModuleUnload"));
    return false;
  }
  TRY(checked(found, "cuModuleGetFunction"));
  TRY(run(function, probe));
  return true;
}

Result<void> LoadDriver::run(void* function, const Probe& probe) {
  std::vector<Address> values;
  TRY(prepare(probe, values));
  // A number of 32 bits is read from the lower half: GPUs are found on little-endian machines.
  std::vector<void*> addresses;
  for (auto& value : values) addresses.push_back(&value);
  TRY(checked(launch_(function, probe.blocks, 1, 1, probe.threads, 1, 1, 0, nullptr,
                      addresses.empty() ? nullptr : addresses.data(), nullptr),
              "cuLaunchKernel"));
  TRY(checked(wait_(nullptr), "the kernel"));
  return compare(probe, values);
}

// Each value is a number, or the address of memory on the GPU.
Result<void> LoadDriver::prepare(const Probe& probe, std::vector<Address>& values) {
  for (const auto& argument : probe.arguments) {
    if (argument.u32 || argument.u64) {
      values.push_back(argument.u32 ? *argument.u32 : *argument.u64);
      continue;
    }
    auto words = argument.words.value_or(std::vector<std::uint32_t>());
    if (argument.expect) words.assign(argument.expect->size(), kUnwritten);
    auto& address = values.emplace_back(0);
    const auto bytes = words.size() * sizeof(std::uint32_t);
    TRY(checked(allocate_(&address, bytes), "cuMemAlloc"));
    TRY(checked(to_device_(address, words.data(), bytes, nullptr), "cuMemcpyHtoD"));
    TRY(checked(wait_(nullptr), "cuMemcpyHtoD"));
  }
  return {};
}

Result<void> LoadDriver::compare(const Probe& probe, const std::vector<Address>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& wanted = probe.arguments[i].expect;
    if (!wanted) continue;
    std::vector<std::uint32_t> got(wanted->size());
    TRY(checked(to_host_(got.data(), values[i], got.size() * sizeof(std::uint32_t), nullptr),
                "cuMemcpyDtoH"));
    TRY(checked(wait_(nullptr), "cuMemcpyDtoH"));
    const auto differ = std::ranges::mismatch(got, *wanted);
    if (differ.in1 != got.end())
      return fail(ErrorKind::device,
                  fmt::format("word {} of its argument {} is {:#x}, and {:#x} is expected",
                              differ.in1 - got.begin(), i + 1, *differ.in1, *differ.in2));
  }
  return {};
}

}  // namespace gpuready::pack
