// NVIDIA's NCCL, declared by ourselves and loaded by dlopen, for one thing: a sum over all GPUs of
// this process. Names, argument orders and enumerators are those of NCCL's API reference
// (libnccl.so.2). It belongs into child processes, and never uses NVLink multicast.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace gpuready {

enum class NcclType : int { int32 = 2, int64 = 4 };

struct NcclLibrary;

// One communicator for each of these devices. Calls may block for long: they belong on a thread
// that is given up on. Not movable; errors name the call.
class NcclGroup {
 public:
  // The library is opened once; the path in GPUREADY_LIBNCCL, if set, is the only one tried.
  // not_found when it is not there. Every device must tell its ordinal.
  static Result<std::unique_ptr<NcclGroup>> make(std::span<Device* const> devices);
  ~NcclGroup();

  std::string version() const { return version_; }  // "2.27.7"
  // Adds on every device the values of all: sources and targets in the order of the devices, on
  // their default streams, asynchronously.
  Result<void> sum(std::span<const DeviceAddress> sources, std::span<const DeviceAddress> targets,
                   std::uint64_t count, NcclType type);

 private:
  explicit NcclGroup(const NcclLibrary& library) : library_(library) {}
  const NcclLibrary& library_;
  std::string version_;
  std::vector<void*> communicators_;
};

}  // namespace gpuready
