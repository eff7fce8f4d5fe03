// A device in front of the CPU's: a test overrides what is to be otherwise.
#pragma once

#include <cstdint>
#include <memory>

#include "device/cpu_device.h"

namespace gpuready {

class ForwardingDevice : public Device {
 public:
  ForwardingDevice(unsigned threads, std::uint64_t memory_bytes)
      : inner_(make_cpu_device({.threads = threads,
                                .memory_free_bytes = memory_bytes,
                                .memory_total_bytes = memory_bytes})) {}
  explicit ForwardingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}
  const DeviceInfo& info() const override { return inner_->info(); }
  Result<DeviceMemory> memory() override { return inner_->memory(); }
  DeviceFault fault_of(const Error& e) const override { return inner_->fault_of(e); }
  Result<DeviceAddress> allocate(std::uint64_t n) override { return inner_->allocate(n); }
  Result<void> release(DeviceAddress a) override { return inner_->release(a); }
  Result<void*> allocate_pinned(std::uint64_t n) override { return inner_->allocate_pinned(n); }
  Result<void> release_pinned(void* m) override { return inner_->release_pinned(m); }
  Result<void> copy_to_device(StreamId s, DeviceAddress t, const void* f,
                              std::uint64_t n) override {
    return inner_->copy_to_device(s, t, f, n);
  }
  Result<void> copy_to_host(StreamId s, void* t, DeviceAddress f, std::uint64_t n) override {
    return inner_->copy_to_host(s, t, f, n);
  }
  Result<void> copy_on_device(StreamId s, DeviceAddress t, DeviceAddress f,
                              std::uint64_t n) override {
    return inner_->copy_on_device(s, t, f, n);
  }
  Result<StreamId> create_stream() override { return inner_->create_stream(); }
  Result<void> destroy_stream(StreamId s) override { return inner_->destroy_stream(s); }
  Result<void> synchronize(StreamId s) override { return inner_->synchronize(s); }
  Result<EventId> create_event() override { return inner_->create_event(); }
  Result<void> destroy_event(EventId e) override { return inner_->destroy_event(e); }
  Result<void> record(EventId e, StreamId s) override { return inner_->record(e, s); }
  Result<double> elapsed_ms(EventId a, EventId b) override { return inner_->elapsed_ms(a, b); }
  Result<void> prepare(const Kernel& k) override { return inner_->prepare(k); }
  Result<void> launch(StreamId s, const Kernel& k, const LaunchShape& shape, const void* p,
                      std::size_t n) override {
    return inner_->launch(s, k, shape, p, n);
  }
  Result<unsigned> resident_blocks(const Kernel& k, unsigned t, unsigned b) override {
    return inner_->resident_blocks(k, t, b);
  }
  const std::optional<Error>& lost() const override { return inner_->lost(); }

 protected:
  std::unique_ptr<Device> inner_;
};

}  // namespace gpuready
