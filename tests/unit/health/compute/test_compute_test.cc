// The compute test on the CPU executor: clean threads pass, and every fault of arithmetic is found.
#include "health/compute/test_compute.h"

#include "health/compute/launch.h"
#include "health/compute/tally.h"
#include "kernels/cpu/compute_golden.h"
#include "unit/health/forwarding_device.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

constexpr unsigned kThreads = 4;

std::unique_ptr<Device> cpu(unsigned threads = kThreads) {
  return make_cpu_device({.threads = threads, .memory_free_bytes = GiB, .memory_total_bytes = GiB});
}
TestOptions with_fault(FaultClass kind, std::uint64_t seed) {
  TestOptions options;
  options.seed = seed;
  options.inject = Fault{kind, seed * 0x9E3779B97F4A7C15ull + 1};
  return options;
}

// A device on which something is amiss: each call goes to the CPU, but launches pass through here.
class AmissDevice final : public ForwardingDevice {
 public:
  AmissDevice() : ForwardingDevice(kThreads, GiB) {}
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t bytes) override {
    if (&kernel != &kCompute) return inner_->launch(stream, kernel, shape, params, bytes);
    if (launches++ == failing) return fail(ErrorKind::device, "a launch failed");
    ComputeParams changed = *static_cast<const ComputeParams*>(params);
    if (change && !change(changed)) return {};
    auto done = inner_->launch(stream, kernel, shape, &changed, bytes);
    if (after) after(changed, reinterpret_cast<ComputeRecord*>(changed.records_address));
    return done;
  }

  std::function<bool(ComputeParams&)> change;  // false: the kernel does nothing
  std::function<void(const ComputeParams&, ComputeRecord*)> after;
  int launches = 0, failing = -1;  // the number of the launch that fails
};

TEST(ComputeTest, CleanUnitsPassWithCoverageAndDigest) {
  const auto device = cpu();
  const Verdict v = test_compute(*device, {});
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.units->tested, kThreads);
  EXPECT_EQ(v.units->total, kThreads);
  EXPECT_EQ(v.mismatches_total, 0u);
  EXPECT_GT(metric(v, "results_checked"), 5e5);
  ASSERT_EQ(v.digests.size(), 1u);
  EXPECT_EQ(v.digests[0].name, "special functions");
  EXPECT_TRUE(says(v, "missing: warp shuffle")) << "what was not tested is told: " << v.reason;
  EXPECT_FALSE(says(v, "not judged")) << v.reason;
}

TEST(ComputeTest, TheDigestDoesNotDependOnTheSeed) {
  const auto device = cpu(2);
  TestOptions one, two;
  one.seed = 1, two.seed = 2;
  EXPECT_EQ(test_compute(*device, one).digests[0].value,
            test_compute(*device, two).digests[0].value);
}

TEST(ComputeTest, AWrongUnitIsNamedWithOperationIndexAndBit) {
  const auto device = cpu();
  auto launcher = ComputeLauncher::make(*device);
  auto ops = launcher->ops(0, kComputeOps);
  const unsigned units[] = {0, 1, 2, 3};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const TestOptions options = with_fault(FaultClass::wrong_sm, seed);
    const auto place =
        *compute_fault(*options.inject, units, ops, launcher->work(seed, 0, kComputeExactOps));
    const Verdict v = test_compute(*device, options);
    ASSERT_EQ(v.status, VerdictStatus::failed) << seed;
    ASSERT_GE(v.mismatches.size(), 1u);
    const Mismatch& found = v.mismatches[0];
    EXPECT_EQ(found.unit, place.unit) << v.reason;
    EXPECT_EQ(found.what, compute_op(place.op).name);
    EXPECT_EQ(found.index, place.index);
    EXPECT_EQ(found.expected ^ found.actual, place.bits);
    EXPECT_EQ(v.injected_fault, "wrong-sm");
    EXPECT_TRUE(
        v.reason.starts_with("CPU thread " + std::to_string(place.unit) + " computes wrongly"))
        << v.reason;
  }
}

TEST(ComputeTest, WrongResultsStayTheVerdictWhateverFailsAfterwards) {
  const TestOptions options = with_fault(FaultClass::wrong_sm, 1);
  Verdict whole, v;
  bool did_fail = false;
  for (int attempt = 0; attempt < 20 && !did_fail; ++attempt) {  // time ends the rounds
    AmissDevice device;
    whole = test_compute(device, options);
    device.failing = std::exchange(device.launches, 0) - 1;
    v = test_compute(device, options);
    did_fail = device.launches > device.failing;
  }
  EXPECT_TRUE(did_fail);
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
  EXPECT_EQ(v.reason, whole.reason);
}

TEST(ComputeTest, OneNanIsFound) {
  const auto device = cpu();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Verdict v = test_compute(*device, with_fault(FaultClass::nan, seed));
    EXPECT_EQ(v.status, VerdictStatus::failed) << seed << v.reason;
    EXPECT_EQ(v.mismatches_total, 1u);
    EXPECT_FALSE(says(v, "wrong in all")) << v.reason;
  }
}

TEST(ComputeTest, ASlowUnitIsNamed) {
  const auto device = cpu(2);
  const TestOptions options = with_fault(FaultClass::slow_sm, 1);
  const unsigned units[] = {0, 1}, ops[] = {0};
  const auto place = *compute_fault(*options.inject, units, ops, {});
  const Verdict v = test_compute(*device, options);
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
  EXPECT_TRUE(says(v, "CPU thread " + std::to_string(place.unit) + " takes")) << v.reason;
  EXPECT_FALSE(says(v, "are slow")) << "it is the only one: " << v.reason;
}

TEST(ComputeTest, ASlowUnitIsNotJudgedWhereOthersWorkToo) {
  const auto device = cpu(2);
  TestOptions options = with_fault(FaultClass::slow_sm, 1);
  options.reserve_free_bytes = 1;
  EXPECT_EQ(test_compute(*device, options).status, VerdictStatus::passed);
}

TEST(ComputeTest, AKernelThatDoesNothingFails) {
  AmissDevice device;
  device.change = [](ComputeParams&) { return false; };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "did not come to its end")) << v.reason;
  EXPECT_EQ(v.units->tested, 0u);
}

TEST(ComputeTest, NoLaunchThatDoesNothingIsTriedAgain) {
  int launches = 0;
  {
    AmissDevice device;
    ASSERT_EQ(test_compute(device, {}).status, VerdictStatus::passed);
    launches = device.launches;
  }
  ASSERT_GT(launches, 1);
  for (int lost = 0; lost < launches; ++lost) {
    AmissDevice device;
    device.change = [&](ComputeParams&) { return device.launches != lost + 1; };
    const Verdict v = test_compute(device, {});
    if (device.launches <= lost) break;  // their number depends on the time that they take
    EXPECT_EQ(v.status, VerdictStatus::failed) << lost;
    EXPECT_TRUE(says(v, "did not come to its end")) << v.reason;
  }
}

TEST(ComputeTest, AKernelThatLeavesOutAnOperationFails) {
  AmissDevice device;
  device.change = [](ComputeParams& p) { return p.end_op -= p.end_op > 10 ? 1 : 0, true; };
  EXPECT_EQ(test_compute(device, {}).status, VerdictStatus::failed);
}

TEST(ComputeTest, AKernelThatComputesFewerResultsFails) {
  AmissDevice device;
  device.change = [](ComputeParams& p) { return p.count /= 2, true; };
  EXPECT_EQ(test_compute(device, {}).status, VerdictStatus::failed);
}

TEST(ComputeTest, AnErrorThatDoesNotRepeatIsStillOne) {
  AmissDevice device;
  device.after = [&](const ComputeParams& p, ComputeRecord* records) {
    if (device.launches == 3 && p.end_op > 10) records[2].checksum[kOpFmaF32] ^= 1;
  };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.mismatches.size(), 1u);
  EXPECT_EQ(v.mismatches[0].unit, 2u);
  EXPECT_EQ(v.mismatches[0].what, "fp32 fma (checksum)");
  EXPECT_TRUE(says(v, "computed once more, it was right")) << v.reason;
}

TEST(ComputeTest, SomeWrongUnitsAreCounted) {
  AmissDevice device;
  device.after = [](const ComputeParams& p, ComputeRecord* records) {
    if (p.end_op <= kOpFmaF32) return;
    for (const unsigned block : {1, 2}) records[block].checksum[kOpFmaF32] ^= 1;
  };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(v.reason.starts_with(
      "2 of 4 CPU threads, the first CPU thread 1, computes wrongly: fp32 fma (checksum)"))
      << v.reason;
  EXPECT_TRUE(says(v, "(2 wrong in all)")) << v.reason;
}

TEST(ComputeTest, FaultsOfOtherTestsChangeNothingHere) {
  const auto device = cpu(1);
  const Verdict v = test_compute(*device, with_fault(FaultClass::bitflip, 1));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
}

TEST(ComputeTest, UnitsThatAreNeverSeenMakeItInconclusive) {
  AmissDevice device;
  device.after = [](const ComputeParams&, ComputeRecord* records) {
    records[3].unit_at_start = records[3].unit_at_end = 2;  // two blocks share a unit
  };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
  EXPECT_EQ(v.units->tested, 3u);
  EXPECT_EQ(v.units->total, 4u);
}

TEST(ComputeTest, WrongOnAllUnitsIsWrong) {
  AmissDevice device;
  device.change = [](ComputeParams& p) { return p.seed ^= 1, true; };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "every one of 4 CPU threads")) << v.reason;
}

TEST(ComputeTest, ASpecialFunctionBeyondItsBoundFailsThoughAllUnitsAgree) {
  AmissDevice device;
  device.change = [](ComputeParams& p) {  // every unit computes the sine of other arguments
    if (p.first_op >= kComputeExactOps) p.seed ^= 1;
    return true;
  };
  const Verdict v = test_compute(device, {});
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "sin.approx")) << v.reason;
}

TEST(ComputeTest, CancelledIsInconclusive) {
  const auto device = cpu(1);
  const std::atomic<bool> cancel = true;
  TestHooks hooks;
  hooks.cancel = &cancel;
  EXPECT_EQ(test_compute(*device, {}, hooks).status, VerdictStatus::inconclusive);
}

TEST(ComputeTest, NothingIsLaunchedAfterItIsCancelled) {
  for (const char* phase : {"units", "exact arithmetic", "special functions"}) {
    AmissDevice device;
    std::atomic<bool> cancel = false;
    int launches = -1;
    TestHooks hooks;
    hooks.cancel = &cancel;
    hooks.progress = [&](const TestProgress& progress) {
      if (progress.phase != phase || cancel) return;
      cancel = true;
      launches = device.launches;
    };
    const Verdict v = test_compute(device, {}, hooks);
    EXPECT_EQ(v.status, VerdictStatus::inconclusive) << phase << ": " << v.reason;
    EXPECT_EQ(device.launches, launches) << phase;
  }
}

TEST(ComputeTest, GoesOnForAsLongAsAsked) {
  const auto device = cpu(1);
  TestOptions options;
  options.duration_s = 0.3;
  const Verdict v = test_compute(*device, options);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.duration_ms, 300);
}

// A CPU thread that poses as the SM of a GPU: only a GPU's clock is measured. One launch of exact
// arithmetic is enough.
TEST(ComputeTest, AClockIsSlowOnlyBesideTheGreatestThatIsAllowed) {
  class Gpu final : public ForwardingDevice {
   public:
    explicit Gpu(const char* executor) : ForwardingDevice(1, GiB), info_(inner_->info()) {
      info_.executor = executor;
    }
    const DeviceInfo& info() const override { return info_; }
    Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                        const void* params, std::size_t bytes) override {
      cancel = static_cast<const ComputeParams*>(params)->end_op == kComputeExactOps;
      return inner_->launch(stream, kernel, shape, params, bytes);
    }
    std::atomic<bool> cancel = false;

   private:
    DeviceInfo info_;
  };
  const auto test = [](const char* executor, std::optional<double> most_mhz) {
    Gpu gpu(executor);
    TestHooks hooks;
    hooks.cancel = &gpu.cancel;
    return test_compute(gpu, {.max_clock_mhz = most_mhz}, hooks);
  };
  for (const std::optional<double> most_mhz : {std::optional<double>(), std::optional(1.0)}) {
    const Verdict v = test("cuda", most_mhz);
    EXPECT_GT(metric(v, kMeasuredClock), 1) << v.reason;
    EXPECT_GT(metric(v, kMeanClock), 1) << v.reason;
    EXPECT_EQ(metric(v, kSlowClockShare), most_mhz ? 0 : -1);
    EXPECT_EQ(metric(test("cpu", most_mhz), kMeasuredClock), -1);
  }
}

TEST(UnitTimes, TheSlowestIsHeldAgainstTheLowerMedian) {
  UnitTimes times;
  times.add(0, 100), times.add(1, 300), times.add(1, 150);
  EXPECT_EQ(times.spread()->median, 100);
  EXPECT_EQ(times.spread()->slowest_unit, 1u);
  EXPECT_EQ(times.slower_than(1.4), std::vector<unsigned>{1});
  EXPECT_TRUE(times.slower_than(1.6).empty());
}

}  // namespace
}  // namespace gpuready
