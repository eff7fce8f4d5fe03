// A device in front of another: every call goes there, and a derived class changes what it wants.
#pragma once

#include "device/device.h"

namespace gpuready {

class DeviceProxy : public Device {
 public:
  explicit DeviceProxy(Device& inner) : inner_(&inner) {}
  const DeviceInfo& info() const override { return inner_->info(); }
  Result<DeviceMemory> memory() override { return inner_->memory(); }
  DeviceFault fault_of(const Error& error) const override { return inner_->fault_of(error); }
  Result<DeviceAddress> allocate(std::uint64_t bytes) override { return inner_->allocate(bytes); }
  Result<void> release(DeviceAddress address) override { return inner_->release(address); }
  Result<AddressRange> allocate_aliased(std::uint64_t bytes) override {
    return inner_->allocate_aliased(bytes);
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    return inner_->allocate_pinned(bytes);
  }
  Result<void> release_pinned(void* memory) override { return inner_->release_pinned(memory); }
  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    return inner_->copy_to_device(stream, target, source, bytes);
  }
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    return inner_->copy_to_host(stream, target, source, bytes);
  }
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    return inner_->copy_on_device(stream, target, source, bytes);
  }
  Result<StreamId> create_stream() override { return inner_->create_stream(); }
  Result<void> destroy_stream(StreamId stream) override { return inner_->destroy_stream(stream); }
  Result<void> synchronize(StreamId stream) override { return inner_->synchronize(stream); }
  Result<EventId> create_event() override { return inner_->create_event(); }
  Result<void> destroy_event(EventId event) override { return inner_->destroy_event(event); }
  Result<void> record(EventId event, StreamId stream) override {
    return inner_->record(event, stream);
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    return inner_->elapsed_ms(start, stop);
  }
  Result<void> prepare(const Kernel& kernel) override { return inner_->prepare(kernel); }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override {
    return inner_->launch(stream, kernel, shape, params, params_bytes);
  }
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                   unsigned shared_bytes) override {
    return inner_->resident_blocks(kernel, threads, shared_bytes);
  }
  Result<void> pin(void* memory, std::uint64_t bytes) override {
    return inner_->pin(memory, bytes);
  }
  Result<void> unpin(void* memory) override { return inner_->unpin(memory); }
  const std::optional<Error>& lost() const override { return inner_->lost(); }

 protected:
  Device* inner_;
};

}  // namespace gpuready
