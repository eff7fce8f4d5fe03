// The peers test on two CPU devices and against the fake CUDA driver and the fake NCCL.
#include "health/peers/test_peers.h"

#include <algorithm>
#include <set>

#include "health/bandwidth/check.h"
#include "unit/health/forwarding_device.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

TestOptions small(Level level = Level::quick, std::uint64_t bytes = MiB) {
  TestOptions options;
  options.level = level;
  options.max_bytes = bytes;
  return options;
}

std::unique_ptr<Device> cpu() { return cpu_with(256 * MiB); }

constexpr std::size_t kUntimedTransfers = 12;  // loads, stores and four copies, each way

Verdict on_fake(const std::string& fake, const TestOptions& options = small(),
                const std::string& nccl = "", const std::string& library = "fake_nccl",
                const TestHooks& hooks = {}) {
  return verdict_of(in_child("devices=2,memory=64MiB" + fake, [&] {
    setenv("GPUREADY_LIBNCCL", fake_cuda_path(library).c_str(), 1);
    setenv("FAKE_NCCL", nccl.c_str(), 1);
    auto first = open_cuda_device(kFakeGpu0), second = open_cuda_device(kFakeGpu1);
    if (!first || !second) return std::string("not opened");
    return dump_line(to_json(test_peers(**first, **second, options, hooks)));
  }));
}

TEST(PeersTest, TwoThatReachEachOtherPass) {
  const Verdict v = on_fake("");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.uuid, kFakeGpu0);
  EXPECT_EQ(v.peer_uuid, kFakeGpu1);
  EXPECT_TRUE(says(v, "loads, stores, atomics and copies")) << v.reason;
  EXPECT_TRUE(says(v, "sums of int64 and int32 through NCCL 2.27.7 are exact")) << v.reason;
  EXPECT_EQ(metric(v, "verified_bytes"), kUntimedTransfers * 512.0 * KiB);
}

// Two CPU devices that note the work of each: launches, and copies with the other one.
TEST(PeersTest, EachGpuDoesTheSameWorkOnTheOthersMemory) {
  class Noted final : public ForwardingDevice {
   public:
    Noted() : ForwardingDevice(cpu()) {}
    Result<bool> can_access_peer(const Device&) override { return true; }
    Result<void> enable_peer_access(Device&) override { return {}; }
    Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                        const void* params, std::size_t bytes) override {
      work.emplace_back(kernel.name);
      return inner_->launch(stream, kernel, shape, params, bytes);
    }
    Result<void> copy_to_peer(StreamId stream, Device& peer, DeviceAddress target,
                              DeviceAddress source, std::uint64_t bytes) override {
      work.emplace_back(&peer == this ? "to itself" : "to the other");
      return inner_->copy_on_device(stream, target, source, bytes);
    }
    Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device& peer,
                                DeviceAddress source, std::uint64_t bytes) override {
      work.emplace_back(&peer == this ? "from itself" : "from the other");
      return inner_->copy_on_device(stream, target, source, bytes);
    }
    std::vector<std::string> work;
  };
  const auto text = in_child_with({{"GPUREADY_LIBNCCL", "/nonexistent"}}, [] {
    Noted first, second;
    const Verdict v = test_peers(first, second, small());
    std::string all = fmt::format("{} B", metric(v, "verified_bytes"));
    for (Noted* device : {&first, &second})
      for (const char* copy : {"to the other", "from the other", "to itself", "from itself"})
        all += fmt::format(", {}: {}", copy, std::ranges::count(device->work, copy));
    std::ranges::sort(first.work);
    std::ranges::sort(second.work);
    return all + (first.work == second.work ? "; the same" : "; not the same");
  });
  const std::string each = ", to the other: 1, from the other: 1, to itself: 0, from itself: 0";
  EXPECT_EQ(text, fmt::format("{} B{}{}; the same", kUntimedTransfers * 512.0 * KiB, each, each));
}

TEST(PeersTest, StandardReportsEveryRate) {
  TestOptions options = small(Level::standard);
  options.peer_path = "NVLink, 18 links";
  const Verdict v = on_fake("", options);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(says(v, "over NVLink, 18 links")) << v.reason;
  for (const char* name :
       {"peer_write_rate", "peer_read_rate", "peer_kernel_write_rate", "peer_kernel_read_rate"}) {
    EXPECT_GT(metric(v, name), 0) << name;
    EXPECT_GT(metric(v, std::string(name) + "_back"), 0) << name;
  }
  for (const char* name : {"peer_both_ways_rate", "peer_kernel_both_ways_rate", "all_reduce_rate"})
    EXPECT_GT(metric(v, name), 0) << name;
}

TEST(PeersTest, NoAccessIsNotSupportedButAFaultWhereNvlinkIs) {
  const Verdict v = on_fake(",no_peer");
  EXPECT_EQ(v.status, VerdictStatus::not_supported);
  EXPECT_TRUE(says(v, "cuDeviceCanAccessPeer")) << v.reason;
  TestOptions options = small();
  options.peer_path = "NVLink, 4 links";
  EXPECT_EQ(on_fake(",no_peer", options).status, VerdictStatus::failed);
  const Verdict refused = on_fake(",fail=cuCtxEnablePeerAccess:217");
  EXPECT_EQ(refused.status, VerdictStatus::not_supported);
  EXPECT_TRUE(says(refused, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED")) << refused.reason;
}

TEST(PeersTest, EveryInjectedFaultIsFoundWhereItWasPut) {
  auto first = cpu(), second = cpu();
  setenv("GPUREADY_LIBNCCL", "/nonexistent", 1);
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TestOptions options = small(Level::quick, 64 * KiB);
    options.inject = Fault{FaultClass::peer_copy, seed};
    const Verdict v = test_peers(*first, *second, options);
    const TransferFault fault = place_transfer_fault(seed, kUntimedTransfers);
    ASSERT_EQ(v.status, VerdictStatus::failed) << seed;
    ASSERT_EQ(v.mismatches_total, 1u) << seed;
    EXPECT_EQ(v.injected_fault, "peer-copy");
    EXPECT_EQ(v.mismatches[0].index, fault.word % (32 * KiB / 8));
    EXPECT_EQ(v.mismatches[0].expected ^ v.mismatches[0].actual, fault.bits);
    seen.insert(v.mismatches[0].what);
  }
  EXPECT_EQ(seen.size(), kUntimedTransfers);
}

TEST(PeersTest, AnInjectedFaultIsFoundOnGpusToo) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    TestOptions options = small();
    options.inject = Fault{FaultClass::peer_copy, seed};
    const Verdict v = on_fake("", options);
    EXPECT_EQ(v.status, VerdictStatus::failed) << seed;
    EXPECT_EQ(v.mismatches_total, 1u) << v.reason;
  }
}

TEST(PeersTest, OneCorruptedCopyOfManyFails) {
  // Four each of two kinds in each direction, then both ways three times two.
  const auto with = [](int number) {
    return on_fake(fmt::format(",corrupt=cuMemcpyPeerAsync:0x1008@{}", number),
                   small(Level::standard, 64 * KiB), "", "no_such_nccl");
  };
  for (const int number : {1, 2, 4, 5, 9, 16, 17, 18, 19, 21, 22})
    EXPECT_EQ(with(number).status, VerdictStatus::failed) << number;
  EXPECT_EQ(with(23).status, VerdictStatus::passed);
}

TEST(PeersTest, EveryTimedSumIsChecked) {
  for (const char* which : {"wrong_at=1", "wrong_at=3", "wrong_at=4", "wrong_at=5"})
    EXPECT_EQ(on_fake("", small(Level::standard, 64 * KiB), which).status, VerdictStatus::failed)
        << which;
  EXPECT_EQ(on_fake("", small(Level::standard, 64 * KiB), "wrong_at=6").status,
            VerdictStatus::passed);
}

TEST(PeersTest, ACorruptedOrLostCopyFails) {
  const Verdict v = on_fake(",corrupt=cuMemcpyPeerAsync:0x2340");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_EQ(v.mismatches.size(), 1u);
  EXPECT_EQ(v.mismatches[0].what, "copy to peer, first GPU to second");
  EXPECT_EQ(v.mismatches[0].index, 0x2340u / 8);
  EXPECT_EQ(on_fake(",lost=cuMemcpyPeerAsync").status, VerdictStatus::failed);
}

TEST(PeersTest, AKernelThatDoesNothingFails) {
  for (const char* kernel : {"transfer_fill", "transfer_check", "memory_copy", "peer_atomics"})
    EXPECT_EQ(on_fake(std::string(",noop=") + kernel).status, VerdictStatus::failed) << kernel;
  EXPECT_EQ(on_fake(",noop=check_sum").status, VerdictStatus::failed);
}

TEST(PeersTest, ALinkWithoutAtomicsPassesAndSaysSo) {
  const Verdict v = on_fake(",no_peer_atomics");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(says(v, "the link carries no atomics")) << v.reason;
  EXPECT_FALSE(says(v, ", atomics and copies"));
}

// A kernel that this GPU cannot run is left out; any other error of the driver ends the test.
TEST(PeersTest, AtomicsThatAGpuHasNoCodeForAreLeftOut) {
  class Prepared final : public ForwardingDevice {
   public:
    explicit Prepared(std::optional<ErrorKind> error) : ForwardingDevice(cpu()), error_(error) {}
    Result<bool> can_access_peer(const Device&) override { return true; }
    Result<void> enable_peer_access(Device&) override { return {}; }
    Result<PeerFacts> peer_facts(const Device&) override { return PeerFacts{true, true}; }
    Result<void> prepare(const Kernel& kernel) override {
      if (error_ && std::string_view(kernel.name) == "gpuready_peer_atomics")
        return fail(*error_, "not prepared");
      return inner_->prepare(kernel);
    }
    Result<void> copy_to_peer(StreamId stream, Device&, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
      return inner_->copy_on_device(stream, target, source, bytes);
    }
    Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device&,
                                DeviceAddress source, std::uint64_t bytes) override {
      return inner_->copy_on_device(stream, target, source, bytes);
    }

   private:
    std::optional<ErrorKind> error_;
  };
  const auto with = [](std::optional<ErrorKind> error) {
    return verdict_of(in_child_with({{"GPUREADY_LIBNCCL", "/nonexistent"}}, [&] {
      Prepared first({}), second(error);
      return dump_line(to_json(test_peers(first, second, small())));
    }));
  };
  const Verdict good = with({}), without = with(ErrorKind::unsupported), bad = with(ErrorKind::io);
  EXPECT_EQ(good.status, VerdictStatus::passed) << good.reason;
  EXPECT_TRUE(says(good, "atomics and copies")) << good.reason;
  EXPECT_EQ(without.status, VerdictStatus::passed) << without.reason;
  EXPECT_TRUE(says(without, "atomics not tested: not prepared")) << without.reason;
  EXPECT_NE(bad.status, VerdictStatus::passed);
  EXPECT_TRUE(says(bad, "not prepared")) << bad.reason;
}

TEST(PeersTest, WithoutNcclThatIsSaid) {
  const Verdict v = on_fake("", small(), "", "no_such_nccl");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(says(v, "no sum through NCCL")) << v.reason;
}

TEST(PeersTest, AWrongSumFails) {
  const Verdict v = on_fake("", small(), "wrong");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  ASSERT_FALSE(v.mismatches.empty());
  EXPECT_EQ(v.mismatches[0].what, "sum of int64 through NCCL, first GPU");
}

TEST(PeersTest, AnErrorOfNcclIsNoPassAndNoFault) {
  const Verdict v = on_fake("", small(), "init=2");
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_TRUE(says(v, "ncclCommInitAll: unhandled system error (2)")) << v.reason;
}

TEST(PeersTest, MulticastIsOffBeforeNcclStarts) {
  EXPECT_EQ(on_fake("", small(), "nvls").status, VerdictStatus::passed);
}

TEST(PeersTest, ANcclThatHangsIsLeftBehindWhenInterrupted) {
  std::atomic<bool> cancel{false};
  int waits = 0;
  TestHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](const TestProgress& p) {
    if (p.phase == "sum through NCCL" && ++waits == 3) cancel = true;
  };
  const Verdict v = on_fake("", small(), "hang", "fake_nccl", hooks);
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_TRUE(says(v, "interrupted")) << v.reason;
}

TEST(PeersTest, TooLittleMemoryOnEitherIsNotTested) {
  EXPECT_EQ(on_fake(",free=8KiB").status, VerdictStatus::not_tested);
}

}  // namespace
}  // namespace gpuready
