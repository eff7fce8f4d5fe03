#include "device/cuda/nccl.h"

#include <fmt/format.h>

#include <cstdlib>

#include "device/driver_library.h"

namespace gpuready {

struct NcclLibrary {
  using Status = int;  // ncclResult_t: 0 is success
  Status (*get_version)(int*) = nullptr;
  const char* (*error_text)(Status) = nullptr;
  Status (*init_all)(void** communicators, int count, const int* devices) = nullptr;
  Status (*destroy)(void* communicator) = nullptr;
  Status (*group_start)() = nullptr;
  Status (*group_end)() = nullptr;
  Status (*all_reduce)(const void* source, void* target, std::size_t count, int type, int operation,
                       void* communicator, void* stream) = nullptr;

  Result<void> check(const char* call, Status status) const {
    if (status == 0) return {};
    return fail(ErrorKind::io, fmt::format("{}: {} ({})", call, error_text(status), status),
                status);
  }
};

namespace {

constexpr int kSum = 0;  // ncclRedOp_t

template <class Function>
bool look_up(const DriverLibrary& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(find_symbol(library, name));
  return function != nullptr;
}

Result<NcclLibrary> open_library() {
  // Multicast through the NVSwitch can put GPUs that others share out of service.
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  const auto found = TRY(open_driver_library("NCCL", "GPUREADY_LIBNCCL", {"libnccl.so.2"}));
  NcclLibrary library;
  if (!look_up(found, "ncclGetVersion", library.get_version) ||
      !look_up(found, "ncclGetErrorString", library.error_text) ||
      !look_up(found, "ncclCommInitAll", library.init_all) ||
      !look_up(found, "ncclCommDestroy", library.destroy) ||
      !look_up(found, "ncclGroupStart", library.group_start) ||
      !look_up(found, "ncclGroupEnd", library.group_end) ||
      !look_up(found, "ncclAllReduce", library.all_reduce))
    return fail(ErrorKind::unsupported, fmt::format("{} lacks what NCCL 2 has", found.path));
  return library;
}

// 22707 is 2.27.7; before 2.9 it was 2708 for 2.7.8 (nccl.h).
std::string version_text(int version) {
  const int thousand = version < 10'000 ? 1'000 : 10'000;
  return fmt::format("{}.{}.{}", version / thousand, version % thousand / 100, version % 100);
}

}  // namespace

Result<std::unique_ptr<NcclGroup>> NcclGroup::make(std::span<Device* const> devices) {
  static const Result<NcclLibrary> library = open_library();
  if (!library) return std::unexpected(library.error());
  std::vector<int> ordinals;
  for (const Device* device : devices) {
    if (!device->info().ordinal)
      return fail(ErrorKind::unsupported, "NCCL runs only on CUDA devices");
    ordinals.push_back(*device->info().ordinal);
  }
  std::unique_ptr<NcclGroup> group(new NcclGroup(*library));
  int version = 0;
  TRY(library->check("ncclGetVersion", library->get_version(&version)));
  group->version_ = version_text(version);
  std::vector<void*> communicators(ordinals.size());
  if (auto done = library->check(
          "ncclCommInitAll", library->init_all(communicators.data(),
                                               static_cast<int>(ordinals.size()), ordinals.data()));
      !done)
    return std::unexpected(done.error());
  group->communicators_ = std::move(communicators);
  return group;
}

NcclGroup::~NcclGroup() {
  for (void* communicator : communicators_) (void)library_.destroy(communicator);
}

Result<void> NcclGroup::sum(std::span<const DeviceAddress> sources,
                            std::span<const DeviceAddress> targets, std::uint64_t count,
                            NcclType type) {
  if (auto done = library_.check("ncclGroupStart", library_.group_start()); !done) return done;
  Result<void> result;
  for (std::size_t i = 0; i < communicators_.size() && result; ++i)
    result = library_.check(
        "ncclAllReduce",
        library_.all_reduce(reinterpret_cast<const void*>(sources[i]),
                            reinterpret_cast<void*>(targets[i]), count, static_cast<int>(type),
                            kSum, communicators_[i], nullptr));
  auto ended = library_.check("ncclGroupEnd", library_.group_end());
  return result ? ended : result;
}

}  // namespace gpuready
