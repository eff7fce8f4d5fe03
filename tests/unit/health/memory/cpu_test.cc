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

TEST(MemoryTestOnCpu, AVerifyThatOnlyClaimsToHaveReadFailsByTheChecksum) {
  const Verdict v = test_with(kMemoryVerify, claim_all);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("checksum"), std::string::npos) << v.reason;
}

}  // namespace
}  // namespace gpuready
