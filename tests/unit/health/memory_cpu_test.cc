// The memory test on host memory, and with kernels swapped for others on the way to the device.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "device/cpu_device.h"
#include "health/memory_pass.h"
#include "health/memory_test.h"

namespace gpuready {
namespace {

void do_nothing(const void*, CpuSlice) {}
// Reads nothing and claims all of it: only the checksum can tell.
void claim_all(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const MemoryPassParams*>(params);
  if (slice.index == 0)
    reinterpret_cast<MemoryPassResults*>(p.results_address)->slots[7].words_verified += p.words;
}

// The CPU, but that some kernels are replaced.
class SwappedDevice final : public Device {
 public:
  SwappedDevice(const Kernel& from, CpuKernel to) : from_(&from), to_{"swapped", {}, to} {
    CpuDeviceOptions options;
    options.threads = 2;
    options.memory_free_bytes = options.memory_total_bytes = 32 * MiB;
    inner_ = make_cpu_device(options);
  }
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
    return inner_->launch(s, &k == from_ ? to_ : k, shape, p, n);
  }
  Result<unsigned> resident_blocks(const Kernel& k, unsigned t, unsigned b) override {
    return inner_->resident_blocks(k, t, b);
  }
  const std::optional<Error>& lost() const override { return inner_->lost(); }

 private:
  std::unique_ptr<Device> inner_;
  const Kernel* from_;
  Kernel to_;
};

Verdict test_with(const Kernel& from, CpuKernel to) {
  SwappedDevice device(from, to);
  TestOptions options;
  options.copy_traffic_bytes = MiB;
  return test_memory(device, options);
}

TEST(MemoryTestOnCpu, HostMemoryPasses) {
  const Verdict v = test_with(kMemoryWrite, kMemoryWrite.cpu);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.executor, "cpu");
  EXPECT_GE(v.coverage->tested_bytes, 31 * MiB);
}

TEST(MemoryTestOnCpu, EachKernelSwappedForAnEmptyOneFails) {
  for (const Kernel* kernel : {&kMemoryWrite, &kMemoryVerify}) {
    EXPECT_EQ(test_with(*kernel, do_nothing).status, VerdictStatus::failed) << kernel->name;
  }
}

TEST(MemoryTestOnCpu, AVerifyThatOnlyClaimsToHaveReadFailsByTheChecksum) {
  const Verdict v = test_with(kMemoryVerify, claim_all);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("checksum"), std::string::npos) << v.reason;
}

}  // namespace
}  // namespace gpuready
