// Executors: one small interface to anything that runs our kernels. `cpu`, `cuda` and `vulkan`
// today; another kind implements this class and adds its code to the Kernel descriptions.
//
// Everything that a stream is given runs in the order given; nothing is finished before
// synchronize() or a recorded event says so. Once a device is lost (an error that leaves its
// context unusable) every further call returns that first error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/kernel.h"

namespace gpuready {

using DeviceAddress = std::uint64_t;

struct DeviceInfo {
  std::string executor;  // "cpu", "cuda", "vulkan"
  std::string name;
  std::optional<std::string> uuid;         // "GPU-..." or "MIG-...", as the driver told it
  std::optional<std::string> pci_address;  // "0000:17:00.0"
  std::optional<int> compute_capability;   // 90 for 9.0
  unsigned units = 1;                      // SMs, or threads on a CPU
  std::uint64_t memory_total_bytes = 0;
  std::optional<std::uint64_t> l2_cache_bytes;
  std::optional<unsigned> max_threads_per_block, max_threads_per_unit, warp_size;
  std::optional<std::uint64_t> max_shared_bytes_per_block;
  std::optional<unsigned> max_blocks;  // of one launch; absent: 2^31 - 1
  std::optional<std::uint64_t> memory_clock_khz;
  std::optional<unsigned> memory_bus_bits;
  std::optional<bool> integrated;  // shares the host's memory
  std::optional<bool> software;    // a CPU that poses as a GPU (llvmpipe); never taken for one
  std::optional<bool> ecc_enabled;
  std::optional<bool> launch_time_limited;  // a watchdog ends long launches (display, WSL2)
  std::optional<bool> cooperative_launch;
  std::optional<int> driver_version;  // 13000 for CUDA 13.0
  std::optional<int> ordinal;         // among the devices that the driver shows to this process
};

// What a driver tells about the way from one device to another.
struct PeerFacts {
  std::optional<bool> native_atomics;   // all atomics of the device work over the link
  std::optional<int> performance_rank;  // 0 is the best; lower is faster
};

struct DeviceMemory {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

// Addresses that follow each other logically though not physically: several allocations that a test
// treats as one range, in this order.
struct AddressRange {
  DeviceAddress address = 0;
  std::uint64_t bytes = 0;
};

struct StreamId {
  std::uint64_t value = 0;  // 0: the device's default stream
};
struct EventId {
  std::uint64_t value = 0;
};

struct GraphId {
  std::uint64_t value = 0;
};

struct LaunchShape {
  unsigned blocks = 1, threads = 1;
  unsigned shared_bytes = 0;
  bool cooperative = false;  // all blocks are resident at once, or the launch fails
  // The kernel may start while the one before it in the stream still runs: it waits for that itself
  // before it touches what that one writes or reads. Where the device cannot, it just starts later.
  bool overlaps = false;
};

// What an error says about the device, whoever its vendor is.
enum class DeviceFault {
  none,  // not the device: usage, a missing symbol, ...
  out_of_memory,
  busy,          // somebody else has it, or may not be shared with
  unavailable,   // could not be started or was not found
  refuses_code,  // code that it claims to load: image, PTX version, compiler
  cannot_load,   // there is no code for it here, or its driver was told to load none
  memory,        // the device itself reported a memory fault
  execution,     // a kernel that is right on a healthy device ended in an error
  timed_out,     // a launch was ended by the system's watchdog
  unclear,       // an error that says nothing about the cause
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceInfo& info() const = 0;
  virtual Result<DeviceMemory> memory() = 0;
  virtual DeviceFault fault_of(const Error& error) const = 0;

  virtual Result<DeviceAddress> allocate(std::uint64_t bytes) = 0;  // aligned to at least 256 bytes
  virtual Result<void> release(DeviceAddress address) = 0;
  // One physical memory of at least `bytes` at two addresses: both halves of the range are the same
  // cells. For fault injection; released like any other, by its address.
  virtual Result<AddressRange> allocate_aliased(std::uint64_t bytes) {
    (void)bytes;
    return fail(ErrorKind::unsupported, "this executor maps no memory at two addresses");
  }
  // Host memory that the device reaches without a copy, and that async copies need to be async.
  virtual Result<void*> allocate_pinned(std::uint64_t bytes) = 0;
  virtual Result<void> release_pinned(void* memory) = 0;

  // Asynchronous on `stream`; host memory must stay valid until it is synchronized.
  virtual Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                                      std::uint64_t bytes) = 0;
  virtual Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                                    std::uint64_t bytes) = 0;
  virtual Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                                      std::uint64_t bytes) = 0;

  virtual Result<StreamId> create_stream() = 0;
  virtual Result<void> destroy_stream(StreamId stream) = 0;
  virtual Result<void> synchronize(StreamId stream) = 0;
  virtual Result<EventId> create_event() = 0;
  virtual Result<void> destroy_event(EventId event) = 0;
  virtual Result<void> record(EventId event, StreamId stream) = 0;
  // Between two events that have both happened (synchronize first).
  virtual Result<double> elapsed_ms(EventId start, EventId stop) = 0;

  // Loads the kernel's code, so that the launch itself neither waits for it nor needs memory for
  // it.
  virtual Result<void> prepare(const Kernel& kernel) = 0;
  // `params` is one plain struct, copied before the call returns.
  virtual Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                              const void* params, std::size_t params_bytes) = 0;
  // How many blocks of this kernel one unit holds at once.
  virtual Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                           unsigned shared_bytes) = 0;

  // Graphs: what a stream is given between begin and end is not run but recorded, to be launched as
  // a whole, again and again. Kernels must have been prepared, and nothing may be allocated or
  // waited for in between. By default unsupported.
  virtual Result<void> begin_capture(StreamId stream);
  virtual Result<GraphId> end_capture(StreamId stream);
  virtual Result<void> launch_graph(StreamId stream, GraphId graph);
  virtual Result<void> destroy_graph(GraphId graph);

  // Makes host memory of the caller's as good as allocate_pinned()'s, until unpin().
  virtual Result<void> pin(void* memory, std::uint64_t bytes);
  virtual Result<void> unpin(void* memory);

  // Peers: two devices of one kind in this process. Once access is enabled, kernels of this device
  // may be given addresses of the peer's memory. By default unsupported.
  virtual Result<bool> can_access_peer(const Device& peer);
  virtual Result<PeerFacts> peer_facts(const Device& peer);
  virtual Result<void> enable_peer_access(Device& peer);
  // Asynchronous on a stream of this device.
  virtual Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device& peer,
                                      DeviceAddress source, std::uint64_t bytes);
  virtual Result<void> copy_to_peer(StreamId stream, Device& peer, DeviceAddress target,
                                    DeviceAddress source, std::uint64_t bytes);

  // Set once the device is lost; see above.
  virtual const std::optional<Error>& lost() const = 0;
};

// An allocation that is released with its owner. Errors of the release are dropped: after a lost
// device there is nothing left to release.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> make(Device& device, std::uint64_t bytes) {
    auto address = TRY(device.allocate(bytes));
    return DeviceBuffer(device, {address, bytes});
  }
  // Both halves are the same memory; see Device::allocate_aliased().
  static Result<DeviceBuffer> make_aliased(Device& device, std::uint64_t bytes) {
    auto range = TRY(device.allocate_aliased(bytes));
    return DeviceBuffer(device, range);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), range_(other.range_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(range_, other.range_);
    return *this;
  }
  ~DeviceBuffer() {
    if (device_) (void)device_->release(range_.address);
  }
  DeviceAddress address() const { return range_.address; }
  std::uint64_t bytes() const { return range_.bytes; }
  const AddressRange& range() const { return range_; }

 private:
  DeviceBuffer(Device& device, AddressRange range) : device_(&device), range_(range) {}
  Device* device_;
  AddressRange range_;
};

// A stream of its own, which waits for no other: copies on the default ones of two GPUs wait for
// each other. What remembers it (a pool, a timer) must end before it.
class DeviceStream {
 public:
  static Result<DeviceStream> make(Device& device) {
    auto stream = TRY(device.create_stream());
    return DeviceStream(device, stream);
  }
  DeviceStream(DeviceStream&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), id_(other.id_) {}
  DeviceStream& operator=(DeviceStream&&) = delete;
  ~DeviceStream() {
    if (device_) (void)device_->destroy_stream(id_);
  }
  StreamId id() const { return id_; }

 private:
  DeviceStream(Device& device, StreamId id) : device_(&device), id_(id) {}
  Device* device_;
  StreamId id_;
};

// Two events around work on one stream.
class StreamTimer {
 public:
  static Result<StreamTimer> make(Device& device, StreamId stream);
  StreamTimer(StreamTimer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        stream_(other.stream_),
        start_(other.start_),
        stop_(other.stop_) {}
  StreamTimer& operator=(StreamTimer&&) = delete;
  ~StreamTimer();
  Result<void> start() { return device_->record(start_, stream_); }
  Result<double> stop_ms();  // waits for the work in between

 private:
  StreamTimer(Device& device, StreamId stream, EventId start, EventId stop)
      : device_(&device), stream_(stream), start_(start), stop_(stop) {}
  Device* device_;
  StreamId stream_;
  EventId start_, stop_;
};

}  // namespace gpuready
