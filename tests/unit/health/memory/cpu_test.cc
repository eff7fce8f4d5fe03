// The memory test on host memory, and with kernels swapped for others on the way to the device.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "health/memory/pass.h"
#include "health/memory/test_memory.h"
#include "unit/health/forwarding_device.h"

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
class SwappedDevice final : public ForwardingDevice {
 public:
  SwappedDevice(const Kernel& from, CpuKernel to)
      : ForwardingDevice(2, 4 * MiB), from_(&from), to_{"swapped", {}, to} {}
  Result<void> launch(StreamId s, const Kernel& k, const LaunchShape& shape, const void* p,
                      std::size_t n) override {
    return inner_->launch(s, &k == from_ ? to_ : k, shape, p, n);
  }

 private:
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
  EXPECT_GE(v.coverage->tested_bytes, 4 * MiB - 128 * KiB);
}

TEST(MemoryTestOnCpu, EachKernelSwappedForAnEmptyOneFails) {
  for (const Kernel* kernel : {&kMemoryWrite, &kMemoryVerify}) {
    EXPECT_EQ(test_with(*kernel, do_nothing).status, VerdictStatus::failed) << kernel->name;
  }
}

// The CPU, but that one bit changes in one of its copies within the device.
class FlippingDevice final : public ForwardingDevice {
 public:
  explicit FlippingDevice(int copy) : ForwardingDevice(2, 4 * MiB), left_(copy) {}
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    auto done = inner_->copy_on_device(stream, target, source, bytes);
    if (bytes > 0 && left_-- == 0)
      reinterpret_cast<unsigned char*>(target)[bytes / 2] ^= 4, made = true;
    return done;
  }
  bool made = false;

 private:
  int left_;
};

TEST(MemoryTestOnCpu, EveryCopyThatIsTimedIsChecked) {
  TestOptions options;
  options.copy_traffic_bytes = MiB;
  int copies = 0;
  for (;; ++copies) {
    FlippingDevice device(copies);
    const Verdict v = test_memory(device, options);
    EXPECT_EQ(v.status, device.made ? VerdictStatus::failed : VerdictStatus::passed) << v.reason;
    if (!device.made) break;
  }
  EXPECT_EQ(copies, 3) << "before the memory is taken, to warm up, and timed";
}

TEST(MemoryTestOnCpu, AnEmptyCopyKernelFails) {
  EXPECT_EQ(test_with(kMemoryCopy, do_nothing).status, VerdictStatus::failed);
}

TEST(MemoryTestOnCpu, AVerifyThatOnlyClaimsToHaveReadFailsByTheChecksum) {
  const Verdict v = test_with(kMemoryVerify, claim_all);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("checksum"), std::string::npos) << v.reason;
}

}  // namespace
}  // namespace gpuready
