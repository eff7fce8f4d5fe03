// The memory test on host memory, and with kernels swapped for others on the way to the device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "health/memory/pass.h"
#include "health/memory/schedule.h"
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

// Cancelled at the second report of each phase: after its first launch, or in its pause.
TEST(MemoryTestOnCpu, AnInterruptionNamesThePhaseThatItEndedAndThePassesBeforeIt) {
  constexpr std::uint64_t kSeed = 1;
  std::size_t passes = 0, passes_before = 0;
  std::set<std::string> seen;
  bool paused = false;
  const auto round = make_round({Level::thorough, kSeed, false}, 0);
  for (const auto& pattern : round.patterns) passes += pattern.steps.size();
  for (const auto& pattern : round.patterns)
    for (const MemoryStep& step : pattern.steps) {
      const std::size_t before = passes_before++;
      if (paused || !seen.insert(step.phase).second) continue;
      paused = step.kind == MemoryPassKind::pause;  // what follows takes as long
      ForwardingDevice device(1, 256 * KiB);
      std::atomic<bool> cancel{false};
      int reports = 0;
      TestHooks hooks;
      hooks.cancel = &cancel;
      hooks.progress = [&](const TestProgress& p) {
        if (p.phase == step.phase && ++reports == 2) cancel = true;
      };
      const Verdict v = test_memory(
          device, {.level = Level::thorough, .seed = kSeed, .copy_traffic_bytes = 0}, hooks);
      EXPECT_EQ(v.status, VerdictStatus::inconclusive) << step.phase;
      EXPECT_EQ(v.reason, fmt::format("interrupted during {}, {} of {} passes done", step.phase,
                                      before, passes));
    }
  EXPECT_TRUE(paused);
}

// The CPU, which reports some memory as free and grants only a part of it.
class ScarceDevice final : public ForwardingDevice {
 public:
  ScarceDevice(std::uint64_t free_bytes, std::uint64_t granted_bytes)
      : ForwardingDevice(1, free_bytes), free_bytes_(free_bytes), left_bytes_(granted_bytes) {}
  Result<DeviceMemory> memory() override {
    asked_ = true;  // what is allocated from now on is tested
    return DeviceMemory{free_bytes_, free_bytes_};
  }
  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    if (!asked_) return inner_->allocate(bytes);
    if (bytes > left_bytes_) return fail(ErrorKind::too_large, "no more is granted");
    left_bytes_ -= bytes;
    return inner_->allocate(bytes);
  }

 private:
  const std::uint64_t free_bytes_;
  std::uint64_t left_bytes_;
  bool asked_ = false;
};

// 199 of 200 parts are 99.5%. Of little memory 64 KiB are more than that.
TEST(MemoryTestOnCpu, AllButAHalfPercentOr64KiBMustBeGranted) {
  for (const auto& [free, granted, status] :
       {std::tuple(200 * 64 * KiB, 199 * 64 * KiB, VerdictStatus::passed),
        {200 * 64 * KiB, 199 * 64 * KiB - 4 * KiB, VerdictStatus::inconclusive},
        {1 * MiB, 1 * MiB - 60 * KiB, VerdictStatus::passed},
        {1 * MiB, 1 * MiB - 64 * KiB, VerdictStatus::inconclusive}}) {
    ScarceDevice device(free, granted);
    const Verdict v = test_memory(device, {.copy_traffic_bytes = 0});
    EXPECT_EQ(v.status, status) << granted << ": " << v.reason;
    EXPECT_EQ(v.coverage->tested_bytes, granted);
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
