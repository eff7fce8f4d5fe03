// A GPU behind a driver's API. HIP's runtime is CUDA's driver API under other names, so what the
// two do alike is stated here once, over a `Driver`: a struct that names the functions (and the
// attributes) as cuda_driver.h and hip_driver.h do.
#pragma once

#include <fmt/format.h>
#include <bit>
#include <map>
#include <optional>
#include <type_traits>

#include "base/text.h"
#include "device/device.h"
#include "device/driver_library.h"

namespace gpuready {

template <class Driver>
class DriverDevice : public Device {
 public:
  using Attribute = typename Driver::Attribute;
  using Pointer = typename Driver::Pointer;
  using Handle = void*;  // contexts, modules, functions, streams and events are opaque pointers

  const DeviceInfo& info() const override { return info_; }
  const std::optional<Error>& lost() const override { return lost_; }
  Result<DeviceMemory> memory() override {
    std::size_t free_bytes = 0, total_bytes = 0;
    TRY(call(driver_.memory_info, &free_bytes, &total_bytes));
    return DeviceMemory{free_bytes, total_bytes};
  }

  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    Pointer memory = {};
    TRY(call(driver_.memory_allocate, &memory, bytes));
    return std::bit_cast<DeviceAddress>(memory);
  }
  Result<void> release(DeviceAddress address) override {
    return call(driver_.memory_free, pointer(address));
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    constexpr unsigned kPortable = 1;  // usable from every context and device
    void* memory = nullptr;
    TRY(call(driver_.host_allocate, &memory, bytes, kPortable));
    return memory;
  }
  Result<void> release_pinned(void* memory) override { return call(driver_.host_free, memory); }

  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    return call(driver_.copy_to_device, pointer(target), source, bytes, handle(stream));
  }
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    return call(driver_.copy_to_host, target, pointer(source), bytes, handle(stream));
  }
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    return call(driver_.copy_on_device, pointer(target), pointer(source), bytes, handle(stream));
  }

  Result<StreamId> create_stream() override {
    constexpr unsigned kNonBlocking = 1;  // no hidden ordering with the default stream
    Handle stream = nullptr;
    TRY(call(driver_.stream_create, &stream, kNonBlocking));
    return StreamId{std::bit_cast<std::uint64_t>(stream)};
  }
  Result<void> destroy_stream(StreamId stream) override {
    return call(driver_.stream_destroy, handle(stream));
  }
  Result<void> synchronize(StreamId stream) override {
    return call(driver_.stream_synchronize, handle(stream));
  }
  Result<EventId> create_event() override {
    Handle event = nullptr;
    TRY(call(driver_.event_create, &event, 0u));
    return EventId{std::bit_cast<std::uint64_t>(event)};
  }
  Result<void> destroy_event(EventId event) override {
    return call(driver_.event_destroy, handle(event));
  }
  Result<void> record(EventId event, StreamId stream) override {
    return call(driver_.event_record, handle(event), handle(stream));
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    float milliseconds = 0;
    TRY(call(driver_.event_elapsed_ms, &milliseconds, handle(start), handle(stop)));
    return static_cast<double>(milliseconds);
  }

  Result<void> prepare(const Kernel& kernel) override {
    TRY(function_of(kernel, 0));
    return {};
  }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override {
    if (params_bytes > kMaxKernelParameterBytes)
      return fail(ErrorKind::bad_input, "kernel parameters exceed 128 bytes");
    auto function = TRY(function_of(kernel, shape.shared_bytes));
    return start(function, stream, shape, params, params_bytes);
  }
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                   unsigned shared_bytes) override {
    auto function = TRY(function_of(kernel, shared_bytes));
    int blocks = 0;
    TRY(call(driver_.resident_blocks, &blocks, function, static_cast<int>(threads),
             std::size_t{shared_bytes}));
    return static_cast<unsigned>(blocks);
  }

 protected:
  DriverDevice(const Driver& driver, int number) : driver_(driver), number_(number) {}

  // Makes the GPU, or the context on it, the calling thread's current one.
  virtual Result<void> make_current() = 0;
  // Undoes that, where the calling thread's current one is not ours to change.
  virtual void restore_current() {}
  // Loads a kernel's code; asked for once.
  virtual Result<Handle> load(const Kernel& kernel) = 0;
  // Lets the function have this much dynamic shared memory.
  virtual Result<void> allow_shared(Handle function, unsigned bytes) = 0;
  virtual Result<void> start(Handle function, StreamId stream, const LaunchShape& shape,
                             const void* params, std::size_t params_bytes) = 0;

  // Each time, as the calling thread may be another one, or may have made another GPU current.
  template <class Work>
  Result<void> in_context(const Work& work) {
    if (lost_) return std::unexpected(*lost_);
    TRY(note(make_current()));
    auto done = note(work());
    restore_current();
    return done;
  }
  template <class... Args>
  Result<void> call(const DriverFunction<Driver::kApi, Args...>& function,
                    std::type_identity_t<Args>... args) {
    return in_context([&] { return function(args...); });
  }
  // A sticky error is kept, and is the answer to everything from then on.
  Result<void> note(Result<void> result) {
    if (!result && !lost_ && result.error().kind == ErrorKind::device &&
        Driver::kApi.is_sticky(result.error().code))
      lost_ = result.error();
    return result;
  }

  static Pointer pointer(DeviceAddress address) { return std::bit_cast<Pointer>(address); }
  static Handle handle(StreamId stream) { return std::bit_cast<Handle>(stream.value); }
  static Handle handle(EventId event) { return std::bit_cast<Handle>(event.value); }

  std::optional<int> attribute(Attribute which) const {
    int value = 0;
    if (!driver_.device_attribute(&value, which, number_)) return std::nullopt;
    return value;
  }
  // What both drivers tell.
  Result<void> read_info();

  const Driver& driver_;
  const int number_;
  DeviceInfo info_;

 private:
  Result<Handle> function_of(const Kernel& kernel, unsigned shared_bytes) {
    auto found = functions_.find(&kernel);
    if (found == functions_.end()) {
      auto function = load(kernel);
      if (!function) return function;
      found = functions_.emplace(&kernel, *function).first;
    }
    TRY(allow_shared(found->second, shared_bytes));
    return found->second;
  }

  std::optional<Error> lost_;
  std::map<const Kernel*, Handle> functions_;
};

template <class Driver>
Result<void> DriverDevice<Driver>::read_info() {
  char name[256] = {};
  TRY(driver_.device_name(name, sizeof name - 1, number_));
  info_.name = printable(name);
  std::size_t total = 0;
  TRY(driver_.device_total_memory(&total, number_));
  info_.memory_total_bytes = total;

  const auto positive = [&](Attribute which) -> std::optional<unsigned> {
    const auto value = attribute(which);
    if (!value || *value <= 0) return std::nullopt;
    return static_cast<unsigned>(*value);
  };
  const auto flag = [&](Attribute which) -> std::optional<bool> {
    const auto value = attribute(which);
    if (!value) return std::nullopt;
    return *value != 0;
  };
  const auto units = positive(Attribute::multiprocessor_count);
  if (!units)
    return fail(ErrorKind::device, fmt::format("{} does not report how many {} the GPU has",
                                               Driver::kApi.library, Driver::kApi.units));
  info_.units = *units;
  info_.l2_cache_bytes = positive(Attribute::l2_cache_bytes);
  info_.max_threads_per_block = positive(Attribute::max_threads_per_block);
  info_.max_threads_per_unit = positive(Attribute::max_threads_per_multiprocessor);
  info_.warp_size = positive(Attribute::warp_size);
  info_.max_shared_bytes_per_block = positive(Attribute::max_shared_memory_per_block);
  info_.memory_clock_khz = positive(Attribute::memory_clock_rate_khz);
  info_.memory_bus_bits = positive(Attribute::memory_bus_width_bits);
  info_.integrated = flag(Attribute::integrated);
  info_.ecc_enabled = flag(Attribute::ecc_enabled);
  info_.launch_time_limited = flag(Attribute::kernel_exec_timeout);
  info_.cooperative_launch = flag(Attribute::cooperative_launch);
  return {};
}

}  // namespace gpuready
