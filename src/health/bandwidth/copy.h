// Copies by our own kernel, and host memory to copy to and from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "device/device.h"
#include "host/host.h"

namespace gpuready {

// Copies by our own kernel, in launches of at most `piece_bytes`: by default short enough for any
// link.
inline constexpr std::uint64_t kLinkPieceBytes = 64 * MiB;  // a third of a second at 0.2 GB/s
Result<void> copy_by_kernel(Device& device, StreamId stream, DeviceAddress target,
                            DeviceAddress source, std::uint64_t bytes,
                            std::uint64_t piece_bytes = kLinkPieceBytes);
Result<void> prepare_copy_kernel(Device& device);

// Pages of this process: pinned by the driver, pageable, or bound to one NUMA node and pinned.
class HostBuffer {
 public:
  static Result<HostBuffer> pinned(Device& device, std::uint64_t bytes);
  static Result<HostBuffer> pageable(std::uint64_t bytes);
  // On this node and no other, as the kernel itself says of its first and last page.
  static Result<HostBuffer> on_node(Device& device, int node, std::uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  void* data() const { return data_; }
  DeviceAddress address() const { return reinterpret_cast<DeviceAddress>(data_); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  enum class Kind { pinned, mapped, mapped_and_pinned };
  HostBuffer(Device* device, void* data, std::uint64_t bytes, Kind kind)
      : device_(device), data_(data), bytes_(bytes), kind_(kind) {}
  Device* device_;
  void* data_;
  std::uint64_t bytes_;
  Kind kind_;
};

// The NUMA nodes that have memory, from sysfs.
std::vector<int> memory_nodes(Host& host);

}  // namespace gpuready
