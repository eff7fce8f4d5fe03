#include "device/cpu_device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/cpu/cpus.h"
#include "base/cpuid.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

// The processor's own name for itself (CPUID leaves 0x80000002 to 4), where there is one.
std::string cpu_name() {
#if defined(__x86_64__)
  char text[49] = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    const Cpuid registers = cpuid(0x80000002u + leaf);
    std::memcpy(text + leaf * 16, &registers, 16);
  }
  const std::string name = printable(trim(text));
  if (!name.empty()) return name;
#endif
  return "CPU";
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options) : free_bytes_(options.memory_free_bytes) {
    info_.executor = "cpu";
    info_.name = cpu_name();
    info_.units = options.threads ? options.threads : count_of_affinity();
    info_.memory_total_bytes = options.memory_total_bytes;
    info_.integrated = true;
  }
  ~CpuDevice() override {
    for (const auto& [address, bytes] : allocations_) ::munmap(pointer(address), bytes);
  }

  const DeviceInfo& info() const override { return info_; }
  Result<DeviceMemory> memory() override {
    return DeviceMemory{free_bytes_ - std::min(free_bytes_, allocated_bytes_),
                        info_.memory_total_bytes};
  }
  DeviceFault fault_of(const Error& error) const override {
    return error.kind == ErrorKind::too_large ? DeviceFault::out_of_memory : DeviceFault::none;
  }

  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return fail(ErrorKind::too_large,
                  fmt::format("{} of host memory were refused", format_bytes(bytes)), ENOMEM);
    }
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    const auto address = reinterpret_cast<DeviceAddress>(memory);
    // Touched now, by all threads, so that no page fault falls into a timed pass.
    run_threads([&](CpuSlice slice) {
      for (std::uint64_t offset = slice.index * std::uint64_t{4096}; offset < bytes;
           offset += slice.count * std::uint64_t{4096}) {
        static_cast<volatile char*>(memory)[offset] = 0;
      }
    });
    allocations_[address] = bytes;
    allocated_bytes_ += bytes;
    return address;
  }
  Result<void> release(DeviceAddress address) override {
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) {
      return fail(ErrorKind::bad_input, "released an address that was not allocated");
    }
    ::munmap(pointer(address), found->second);
    allocated_bytes_ -= found->second;
    allocations_.erase(found);
    return {};
  }
  Result<AddressRange> allocate_aliased(std::uint64_t bytes) override {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t half = std::max<std::uint64_t>((bytes + page - 1) / page, 1) * page;
    const int file = ::memfd_create("gpuready aliased memory", MFD_CLOEXEC);
    char* memory = static_cast<char*>(MAP_FAILED);
    if (file >= 0 && ::ftruncate(file, static_cast<off_t>(half)) == 0)
      memory = static_cast<char*>(
          ::mmap(nullptr, 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    bool mapped = memory != MAP_FAILED;
    for (std::uint64_t offset = 0; mapped && offset < 2 * half; offset += half)
      mapped = ::mmap(memory + offset, half, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) != MAP_FAILED;
    const int error = errno;
    if (file >= 0) ::close(file);  // the mappings keep the memory
    if (!mapped) {
      if (memory != MAP_FAILED) ::munmap(memory, 2 * half);
      return fail(ErrorKind::unsupported, "memory could not be mapped at two addresses", error);
    }
    const auto address = reinterpret_cast<DeviceAddress>(memory);
    allocations_[address] = 2 * half;
    allocated_bytes_ += 2 * half;
    return AddressRange{address, 2 * half};
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    auto address = TRY(allocate(bytes));
    return pointer(address);
  }
  Result<void> release_pinned(void* memory) override {
    return release(reinterpret_cast<DeviceAddress>(memory));
  }

  Result<void> copy_to_device(StreamId, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    std::memcpy(pointer(target), source, bytes);
    return {};
  }
  Result<void> copy_to_host(StreamId, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    std::memcpy(target, pointer(source), bytes);
    return {};
  }
  Result<void> copy_on_device(StreamId, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    run_threads([&](CpuSlice slice) {
      const std::uint64_t share = bytes / slice.count, start = share * slice.index;
      const std::uint64_t end = slice.index + 1 == slice.count ? bytes : start + share;
      std::memcpy(static_cast<char*>(pointer(target)) + start,
                  static_cast<const char*>(pointer(source)) + start, end - start);
    });
    return {};
  }

  Result<StreamId> create_stream() override { return StreamId{++last_id_}; }
  Result<void> destroy_stream(StreamId) override { return {}; }
  Result<void> synchronize(StreamId) override { return {}; }
  Result<EventId> create_event() override {
    events_[++last_id_] = {};
    return EventId{last_id_};
  }
  Result<void> destroy_event(EventId event) override {
    events_.erase(event.value);
    return {};
  }
  Result<void> record(EventId event, StreamId) override {
    events_[event.value] = Clock::now();
    return {};
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    const std::chrono::duration<double, std::milli> elapsed =
        events_[stop.value] - events_[start.value];
    return elapsed.count();
  }

  Result<void> prepare(const Kernel& kernel) override {
    if (kernel.cpu) return {};
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} has no code for the CPU", kernel.name));
  }
  Result<void> launch(StreamId, const Kernel& kernel, const LaunchShape&, const void* params,
                      std::size_t params_bytes) override {
    TRY(prepare(kernel));
    if (params_bytes > kMaxKernelParameterBytes) {
      return fail(ErrorKind::bad_input, "kernel parameters exceed 128 bytes");
    }
    run_threads([&](CpuSlice slice) { kernel.cpu(params, slice); });
    return {};
  }
  Result<unsigned> resident_blocks(const Kernel&, unsigned, unsigned) override { return 1u; }

  // Any host memory is as good as pinned, and all devices of this kind share it.
  Result<void> pin(void*, std::uint64_t) override { return {}; }
  Result<void> unpin(void*) override { return {}; }
  Result<bool> can_access_peer(const Device& peer) override { return is_cpu(peer); }
  Result<PeerFacts> peer_facts(const Device&) override { return PeerFacts{true, std::nullopt}; }
  Result<void> enable_peer_access(Device& peer) override {
    if (is_cpu(peer)) return {};
    return fail(ErrorKind::unsupported, "only another CPU device shares this memory");
  }
  Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device&, DeviceAddress source,
                              std::uint64_t bytes) override {
    return copy_on_device(stream, target, source, bytes);
  }
  Result<void> copy_to_peer(StreamId stream, Device&, DeviceAddress target, DeviceAddress source,
                            std::uint64_t bytes) override {
    return copy_on_device(stream, target, source, bytes);
  }

  const std::optional<Error>& lost() const override { return lost_; }

 private:
  static bool is_cpu(const Device& device) {
    return dynamic_cast<const CpuDevice*>(&device) != nullptr;
  }
  static void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

  template <class Work>
  void run_threads(Work work) {
    const unsigned count = info_.units;
    std::vector<std::jthread> threads;
    for (unsigned index = 1; index < count; ++index) {
      threads.emplace_back([&work, index, count] { work(CpuSlice{index, count}); });
    }
    work(CpuSlice{0, count});
  }

  DeviceInfo info_;
  std::uint64_t free_bytes_ = 0, allocated_bytes_ = 0;
  std::map<DeviceAddress, std::uint64_t> allocations_;
  std::map<std::uint64_t, Clock::time_point> events_;
  std::uint64_t last_id_ = 0;
  std::optional<Error> lost_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace gpuready
