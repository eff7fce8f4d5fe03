// The bandwidth test on the CPU and against the fake CUDA driver: what arrives whole passes, and
// nothing else does.
#include "health/bandwidth/test_bandwidth.h"

#include <fmt/format.h>

#include <map>

#include "base/clock.h"
#include "health/bandwidth/check.h"
#include "health/bandwidth/copy.h"
#include "health/bandwidth/together.h"
#include "unit/health/forwarding_device.h"
#include "unit/health/verdicts.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TestOptions small(Level level = Level::quick, std::uint64_t bytes = MiB) {
  TestOptions options;
  options.level = level;
  options.max_bytes = bytes;
  options.copy_traffic_bytes = 4 * MiB;
  return options;
}

std::unique_ptr<Device> cpu() { return cpu_with(256 * MiB); }

// The fake GPU's slot: generation and width now, and at most.
std::string link(const char* speed, const char* width) {
  return std::string(R"("files":{"/sys/bus/pci/devices/0000:17:00.0/current_link_speed":")") +
         speed + R"( GT/s PCIe","/sys/bus/pci/devices/0000:17:00.0/current_link_width":")" + width +
         R"(","/sys/bus/pci/devices/0000:17:00.0/max_link_speed":"32.0 GT/s PCIe",)" +
         R"("/sys/bus/pci/devices/0000:17:00.0/max_link_width":"16"})";
}

Verdict on_fake(const std::string& fake, const TestOptions& options = small(),
                const std::string& machine = R"("files":{})") {
  return on_fake_cuda("memory=128MiB" + fake, [&](Device& device) {
    return test_bandwidth(device, *scripted(machine), options, {});
  });
}

TEST(BandwidthTest, WhatArrivesAsSentPassesWithoutTimingAtQuick) {
  auto device = cpu();
  const Verdict v = test_bandwidth(*device, small());
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  // Six transfers with the host and two within the device, of half a MiB each.
  ASSERT_TRUE(find_metric(v, "verified_bytes"));
  EXPECT_EQ(find_metric(v, "verified_bytes")->value, 8 * 512.0 * KiB);
  EXPECT_EQ(find_metric(v, "h2d_pinned_rate"), nullptr);
}

TEST(BandwidthTest, StandardReportsEveryRateAndLatency) {
  const Verdict v = on_fake("", small(Level::standard));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  for (const char* name :
       {"h2d_pinned_rate", "d2h_pinned_rate", "h2d_kernel_rate", "d2h_kernel_rate",
        "h2d_pageable_rate", "d2h_pageable_rate", "dram_copy_engine_rate", "dram_copy_kernel_rate",
        "dram_copy_rate", "both_ways_rate", "h2d_latency", "d2h_latency", "kernel_round_trip"}) {
    ASSERT_TRUE(find_metric(v, name)) << name;
    EXPECT_GT(find_metric(v, name)->value, 0) << name;
  }
}

// A copy of a word, 200 times in each direction.
TEST(BandwidthTest, LatencyIsThatOfWordsInBothDirections) {
  class Counted final : public ForwardingDevice {
   public:
    Counted() : ForwardingDevice(cpu()) {}
    Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                                std::uint64_t bytes) override {
      to_device += bytes == 8;
      return inner_->copy_to_device(stream, target, source, bytes);
    }
    Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                              std::uint64_t bytes) override {
      to_host += bytes == 8;
      return inner_->copy_to_host(stream, target, source, bytes);
    }
    int to_device = 0, to_host = 0;
  };
  Counted device;
  const Verdict v = test_bandwidth(device, small(Level::standard));
  EXPECT_TRUE(find_metric(v, "h2d_latency") && find_metric(v, "d2h_latency")) << v.reason;
  EXPECT_EQ(device.to_device, 200);
  EXPECT_EQ(device.to_host, 200);
}

constexpr std::size_t kUntimedTransfers = 8;  // six with the host and two within the device

TEST(BandwidthTest, EveryInjectedFaultIsFoundWhereItWasPut) {
  auto device = cpu();
  const std::uint64_t words = 32 * KiB / 8;
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TestOptions options = small(Level::quick, 64 * KiB);
    options.inject = Fault{FaultClass::copy, seed};
    const Verdict v = test_bandwidth(*device, options);
    const TransferFault fault = place_transfer_fault(seed, kUntimedTransfers);
    ASSERT_EQ(v.status, VerdictStatus::failed) << seed;
    ASSERT_EQ(v.mismatches_total, 1u) << seed;
    EXPECT_EQ(v.injected_fault, "copy");
    EXPECT_EQ(v.mismatches[0].index, fault.word % words);
    EXPECT_EQ(v.mismatches[0].expected ^ v.mismatches[0].actual, fault.bits);
    ++seen[v.mismatches[0].what];
  }
  EXPECT_EQ(seen.size(), kUntimedTransfers) << "every kind of transfer is hit";
  EXPECT_GT(seen["host to device"], 0);
}

TEST(BandwidthTest, AnInjectedFaultIsFoundInTimedCopiesToo) {
  auto device = cpu();
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    TestOptions options = small(Level::standard, 64 * KiB);
    options.copy_traffic_bytes = 0;
    options.inject = Fault{FaultClass::copy, seed};
    const Verdict v = test_bandwidth(*device, options);
    ASSERT_EQ(v.status, VerdictStatus::failed) << seed;
    ASSERT_EQ(v.mismatches_total, 1u) << seed << v.reason;
    ++seen[v.mismatches[0].what];
  }
  for (const char* what : {"host to device, both ways", "device to host, both ways",
                           "host to device, while the link was read", "latency", "device copy"})
    EXPECT_GT(seen[what], 0) << what;
}

TEST(BandwidthTest, AnInjectedFaultIsFoundOnAGpuToo) {
  for (const Level level : {Level::quick, Level::standard})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      TestOptions options = small(level, 64 * KiB);
      options.inject = Fault{FaultClass::copy, seed};
      const Verdict v = on_fake("", options);
      EXPECT_EQ(v.status, VerdictStatus::failed) << seed;
      EXPECT_EQ(v.mismatches_total, 1u) << seed << v.reason;
    }
}

// Each copy of each batch by itself, whichever it is.
TEST(BandwidthTest, OneCorruptedCopyOfManyFails) {
  TestOptions options = small(Level::standard, 64 * KiB);
  options.copy_traffic_bytes = 0;
  const auto with = [&](const char* call, const char* offset, int number) {
    return on_fake(fmt::format(",corrupt={}:{}@{}", call, offset, number), options);
  };
  // Pinned and pageable four each, both ways three, then those while the link is read.
  for (const int number : {1, 2, 3, 4, 5, 8, 9, 10, 11, 12})
    EXPECT_EQ(with("cuMemcpyHtoDAsync_v2", "0x1008", number).status, VerdictStatus::failed)
        << number;
  for (const int number : {1, 2, 3, 4, 5, 8, 9, 10, 11})
    EXPECT_EQ(with("cuMemcpyDtoHAsync_v2", "0x1008", number).status, VerdictStatus::failed)
        << number;
  EXPECT_EQ(with("cuMemcpyDtoDAsync_v2", "0x1008", 1).status, VerdictStatus::failed);
  for (const char* call : {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"})
    EXPECT_EQ(with(call, "0x1008", 10'000).status, VerdictStatus::passed) << call;
  for (const int number : {100, 150, 200})  // those that measure latency
    EXPECT_EQ(with("cuMemcpyHtoDAsync_v2", "3", number).status, VerdictStatus::failed) << number;
}

TEST(BandwidthTest, CopiesBesideThoseOfOtherGpusAreCheckedToo) {
  TestOptions options = small(Level::standard, 64 * KiB);
  options.all_together = true;
  const Verdict v = on_fake(",corrupt=cuMemcpyDtoHAsync_v2:0x1008@3", options);
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
  EXPECT_TRUE(says(v, "device to host, both ways: 1 of")) << v.reason;
}

TEST(BandwidthTest, ACorruptedCopyFailsWithItsPlace) {
  for (const auto& [call, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"cuMemcpyHtoDAsync_v2", "host to device"},
           {"cuMemcpyDtoHAsync_v2", "device to host"},
           {"cuMemcpyDtoDAsync_v2", "device copy"}}) {
    const Verdict v = on_fake(std::string(",corrupt=") + call + ":0x12348");
    EXPECT_EQ(v.status, VerdictStatus::failed) << call;
    ASSERT_EQ(v.mismatches.size(), 1u) << call << v.reason;
    EXPECT_EQ(v.mismatches[0].what, what);
    EXPECT_EQ(v.mismatches[0].index, 0x12348u / 8);
    EXPECT_EQ(v.mismatches[0].expected ^ v.mismatches[0].actual, 4u);
    EXPECT_TRUE(says(v, "offset 0x12348")) << v.reason;
  }
}

TEST(BandwidthTest, ACopyThatDoesNothingFails) {
  for (const char* call : {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2"})
    EXPECT_EQ(on_fake(std::string(",lost=") + call).status, VerdictStatus::failed) << call;
  EXPECT_EQ(on_fake(",lost=cuMemcpyHtoDAsync_v2", small(Level::standard)).status,
            VerdictStatus::failed);
}

TEST(BandwidthTest, AKernelThatDoesNothingFails) {
  const Verdict no_check = on_fake(",noop=transfer_check");
  EXPECT_EQ(no_check.status, VerdictStatus::failed);
  EXPECT_TRUE(says(no_check, "0 words were checked")) << no_check.reason;
  EXPECT_EQ(on_fake(",noop=transfer_fill").status, VerdictStatus::failed);
  const Verdict no_copy = on_fake(",noop=memory_copy");
  EXPECT_EQ(no_copy.status, VerdictStatus::failed);
  EXPECT_EQ(no_copy.mismatches[0].what, "host to device, by kernel");
}

TEST(BandwidthTest, AHiddenLinkIsNotJudgedAndThatIsSaid) {
  TestOptions options = small(Level::standard, 33 * MiB);
  options.copy_traffic_bytes = 0;
  const Verdict v = on_fake("", options);
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_FALSE(find_metric(v, "h2d_pinned_rate")->threshold);
  EXPECT_FALSE(find_metric(v, "dram_copy_rate"));
  EXPECT_TRUE(says(v, "generation and width are hidden")) << v.reason;
}

TEST(BandwidthTest, ThresholdsComeFromTheLinkAndTheMemoryClock) {
  // The fake is slower than its 5120 bits at 2619 MHz: 0.8 of them cannot be reached.
  const Verdict v = on_fake("", small(Level::standard, 33 * MiB), link("2.5", "1"));
  const Metric* pinned = find_metric(v, "h2d_pinned_rate");
  ASSERT_TRUE(pinned && pinned->threshold);
  // The port is hidden, so that the link as it was trained sets no limit.
  constexpr double kGreatestLink = 32e9 / 8 * (128.0 / 130) * 16;
  EXPECT_DOUBLE_EQ(*pinned->threshold, 0.75 * kGreatestLink);
  const Metric* copy = find_metric(v, "dram_copy_rate");
  ASSERT_TRUE(copy && copy->threshold);
  EXPECT_DOUBLE_EQ(*copy->threshold, 0.80 * 5120 / 8 * 2 * 2619e6);
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "dram_copy_rate is")) << v.reason;
  EXPECT_TRUE(
      says(v, "the link runs at PCIe 1.0 x1 while it copies, where the GPU can do PCIe 5.0"))
      << v.reason;
}

// The configuration space of a port that is set to this generation at most, as JSON: capabilities
// from 0x40 on, and there the one of PCI Express.
std::string config_json(int target) {
  std::string config(256, '\0'), json;
  config[0x06] = 0x10, config[0x34] = 0x40;
  config[0x40] = 0x10, config[0x42] = 0x42, config[0x70] = static_cast<char>(target);
  for (const char byte : config) json += fmt::format("\\u{:04x}", static_cast<int>(byte));
  return json;
}

// The fake GPU and the port above it, of PCI Express 4.0 x16, as they are now. Target 0: the port's
// settings may not be read.
std::string slot(const char* speed, const char* width, int target = 4,
                 const char* port_speed = "16.0", const char* port_width = "16") {
  const std::string port = "/sys/devices/pci0000:16/0000:16:01.0", gpu = port + "/0000:17:00.0";
  const auto file = [](const std::string& path, const std::string& text) {
    return "\"" + path + "\":\"" + text + "\",";
  };
  return R"("files":{)" + file(port + "/max_link_speed", std::string(port_speed) + " GT/s PCIe") +
         file(port + "/max_link_width", port_width) +
         (target > 0 ? file(port + "/config", config_json(target)) : "") +
         file(gpu + "/max_link_speed", "32.0 GT/s PCIe") + file(gpu + "/max_link_width", "16") +
         file(gpu + "/current_link_speed", std::string(speed) + " GT/s PCIe") + R"(")" + gpu +
         R"(/current_link_width":")" + width +
         R"("},"links":{"/sys/bus/pci/devices/0000:17:00.0":)" +
         R"("../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0",)" +
         R"("/sys/bus/pci/devices/0000:16:01.0":"../../../devices/pci0000:16/0000:16:01.0"})";
}

TEST(BandwidthTest, ALinkTrainedDownFailsWithItsOwnReason) {
  const TestOptions options = small(Level::standard);
  EXPECT_EQ(on_fake("", options, slot("16.0", "16")).status, VerdictStatus::passed);
  const Verdict narrow = on_fake("", options, slot("16.0", "8"));
  EXPECT_EQ(narrow.status, VerdictStatus::failed);
  EXPECT_TRUE(says(narrow,
                   "the link runs at PCIe 4.0 x8 while it copies, where the GPU and the port above "
                   "it can do PCIe 4.0 x16; reseat"))
      << narrow.reason;
  const Metric* rate = find_metric(narrow, "pcie_link_rate");
  ASSERT_TRUE(rate && rate->threshold);
  EXPECT_DOUBLE_EQ(rate->value * 2, *rate->threshold);
  EXPECT_EQ(on_fake("", options, slot("8.0", "16")).status, VerdictStatus::failed);
}

TEST(BandwidthTest, AGenerationThatFirmwareSetsIsNoFault) {
  const TestOptions options = small(Level::standard);
  const Verdict set = on_fake("", options, slot("8.0", "16", 3));
  EXPECT_EQ(set.status, VerdictStatus::passed) << set.reason;
  EXPECT_TRUE(says(set, "the firmware limits its port to PCIe 3.0")) << set.reason;
  EXPECT_FALSE(find_metric(set, "pcie_link_rate")->threshold);
  EXPECT_EQ(on_fake("", options, slot("5.0", "16", 3)).status, VerdictStatus::failed);
  EXPECT_EQ(on_fake("", options, slot("8.0", "8", 3)).status, VerdictStatus::failed);
}

TEST(BandwidthTest, AGenerationThatFirmwareMayHaveSetIsInconclusive) {
  const TestOptions options = small(Level::standard);
  const Verdict v = on_fake("", options, slot("8.0", "16", 0));
  EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
  EXPECT_TRUE(says(v, "only root can read")) << v.reason;
  EXPECT_EQ(on_fake("", options, slot("16.0", "8", 0)).status, VerdictStatus::failed);
  EXPECT_EQ(on_fake("", options, slot("16.0", "16", 0)).status, VerdictStatus::passed);
}

TEST(BandwidthTest, ALinkThatAVirtualMachineShowsIsNotJudged) {
  TestOptions options = small(Level::standard);
  options.real_link = false;
  const Verdict v = on_fake("", options, slot("16.0", "8"));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(says(v, "as a virtual machine shows it")) << v.reason;
  EXPECT_FALSE(find_metric(v, "pcie_link_rate")->threshold);
  EXPECT_EQ(on_fake("", small(Level::standard), link("16.0", "8")).status, VerdictStatus::passed)
      << "its port is hidden";
}

TEST(BandwidthTest, ALinkTrainedDownOutOfSightSetsNoLimitForItself) {
  TestOptions options = small(Level::standard, 33 * MiB);
  options.copy_traffic_bytes = 0;
  const auto doubted = [&](const std::string& files) {
    const Verdict v = on_fake("", options, files);
    EXPECT_EQ(v.status, VerdictStatus::inconclusive) << v.reason;
    EXPECT_TRUE(says(v, "the GPU's greatest link; its slot, which may carry less, is hidden"))
        << v.reason;
  };
  doubted(link("2.5", "1"));
  options.real_link = false;
  doubted(slot("2.5", "1"));
  options.link_generation = 5, options.link_width = 16;  // as NVML tells it
  doubted(R"("files":{})");
  options.link_excuse = "a virtual GPU shares its link with others";
  const Verdict shared = on_fake("", options, slot("2.5", "1"));
  EXPECT_EQ(shared.status, VerdictStatus::passed) << shared.reason;
  EXPECT_TRUE(says(shared, "pinned rates are not judged: a virtual GPU")) << shared.reason;
  EXPECT_FALSE(find_metric(shared, "h2d_pinned_rate")->threshold);
}

TEST(BandwidthTest, MemoryWithoutAProcessorIsNoHostNode) {
  const std::string nodes = "/sys/devices/system/node/";
  const auto host = scripted(R"("files":{")" + nodes + R"(has_memory":"0-1,3-8",")" + nodes +
                             R"(has_cpu":"0-1"})");
  EXPECT_EQ(memory_nodes(*host), (std::vector<int>{0, 1}));
}

TEST(BandwidthTest, ASharedGpuOrASliceIsNotJudged) {
  TestOptions options = small(Level::standard, 33 * MiB);
  options.reserve_free_bytes = MiB;
  EXPECT_EQ(on_fake("", options, link("64.0", "32")).status, VerdictStatus::passed);
}

TEST(BandwidthTest, ASlowLinkFails) {
  TestOptions options = small(Level::standard, 33 * MiB);
  options.copy_traffic_bytes = 0;
  // Faster than any memcpy.
  const Verdict v = on_fake("", options, slot("64.0", "32", 6, "64.0", "32"));
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_TRUE(says(v, "h2d_pinned_rate is")) << v.reason;
  EXPECT_TRUE(says(v, "d2h_pinned_rate is")) << v.reason;
}

TEST(BandwidthTest, SmallCopiesAreNotJudged) {
  const Verdict v = on_fake("", small(Level::standard, 4 * MiB), link("32.0", "16"));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_FALSE(find_metric(v, "dram_copy_rate")->threshold);
}

TEST(BandwidthTest, EachNumaNodeThatGrantsMemoryIsMeasured) {
  const Verdict v = on_fake("", small(Level::standard),
                            R"("files":{"/sys/devices/system/node/has_memory":"0,1000"})");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(says(v, "NUMA node 1000 not measured")) << v.reason;
  EXPECT_TRUE(find_metric(v, "h2d_pinned_rate_node0") || says(v, "NUMA node 0 not measured"))
      << v.reason;
}

// docs/bandwidth-test.md: two slots of each kind.
TEST(BandwidthTest, AllTogetherReportsRatesOfItsOwn) {
  TestOptions options = small(Level::standard, 4 * MiB);
  options.all_together = true;
  const Verdict v = on_fake_cuda("memory=128MiB", [&](Device& device) {
    std::string slots;
    TestHooks hooks;
    hooks.progress = [&](const TestProgress& p) {
      if (p.phase != "start") slots += fmt::format("{}/{} ", p.done, p.total);
    };
    Verdict verdict = test_bandwidth(device, *scripted(R"("files":{})"), options, hooks);
    verdict.reason.insert(0, slots);
    return verdict;
  });
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_TRUE(v.reason.starts_with("0/6 1/6 2/6 3/6 4/6 5/6 ")) << v.reason;
  for (const char* name : {"h2d_together_rate", "d2h_together_rate", "both_ways_together_rate"})
    EXPECT_TRUE(find_metric(v, name)) << name;
}

TEST(BandwidthTest, ErrorsMidwayAreJudgedByTheirMeaning) {
  EXPECT_EQ(on_fake(",launch_error=719@3").status, VerdictStatus::failed);
  EXPECT_EQ(on_fake(",launch_error=999@3").status, VerdictStatus::inconclusive);
  EXPECT_EQ(on_fake(",ptx=5.0").status, VerdictStatus::failed);
  EXPECT_EQ(on_fake(",free=4KiB").status, VerdictStatus::not_tested);
}

TEST(BandwidthTest, CancellingIsNoPass) {
  auto device = cpu();
  std::atomic<bool> cancel{false};
  TestHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](const TestProgress& p) { cancel = p.phase == "device to host"; };
  const Verdict v = test_bandwidth(*device, small(), hooks);
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_TRUE(says(v, "interrupted before device to host")) << v.reason;
}

TEST(BandwidthTest, GoesOnForTheTimeAskedFor) {
  auto device = cpu();
  TestOptions options = small(Level::quick, 64 * KiB);
  options.duration_s = 0.25;
  const Verdict v = test_bandwidth(*device, options);
  EXPECT_EQ(v.status, VerdictStatus::passed);
  EXPECT_GE(v.duration_ms, 250);
  EXPECT_GT(find_metric(v, "verified_bytes")->value, 16 * 32.0 * KiB);
}

TEST(SharedSlots, AreTheSameForAllAndTakeTurns) {
  using std::chrono::milliseconds;
  const auto at = [](int ms) { return Clock::time_point(milliseconds(ms)); };
  EXPECT_EQ(next_slot(SharedSlot::to_device, at(700)), at(750));
  EXPECT_EQ(next_slot(SharedSlot::to_device, at(750)), at(1125)) << "one that has begun is gone";
  EXPECT_EQ(next_slot(SharedSlot::to_host, at(760)), at(875));
  EXPECT_EQ(next_slot(SharedSlot::both_ways, at(760)), at(1000));
}

TEST(TransferFaults, FallAnywhereAndFlipAtLeastABit) {
  std::map<std::size_t, int> transfers, copies;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const TransferFault fault = place_transfer_fault(seed, 3);
    EXPECT_NE(fault.bits, 0u);
    ++transfers[fault.transfer];
    ++copies[fault.copy % 4];
  }
  ASSERT_EQ(transfers.size(), 3u);
  for (const auto& [transfer, count] : transfers) EXPECT_GT(count, 250) << transfer;
  for (const auto& [copy, count] : copies) EXPECT_GT(count, 180) << copy;
}

TEST(TransferCheck, ManyBadWordsAreCountedAndTheFirstListed) {
  auto device = cpu();
  auto checker = TransferChecker::make(*device);
  auto buffer = DeviceBuffer::make(*device, MiB);
  ASSERT_TRUE(checker && buffer);
  ASSERT_TRUE(checker->fill(buffer->address(), MiB / 8, 7));
  const auto good = checker->check(buffer->address(), MiB / 8, 7);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->bad_words, 0u);
  const auto wrong = checker->check(buffer->address(), MiB / 8, 8);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->bad_words, MiB / 8);
  EXPECT_EQ(wrong->bad.size(), kTransferBadWordCapacity);
}

TEST(TransferCheck, AFillCountsWhatItsThreadsFilled) {
  auto device = cpu();
  auto checker = TransferChecker::make(*device);
  auto buffer = DeviceBuffer::make(*device, MiB);
  ASSERT_TRUE(checker && buffer);
  const auto filled = TransferMemory(*checker, buffer->address()).fill(1000, 7);
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->words, 1000u);
  EXPECT_EQ(filled->sum, transfer_sum(1000, 7));
}

TEST(TransferCheck, SumsOfWordsAndOfTheirHalvesAreChecked) {
  auto device = cpu();
  auto checker = TransferChecker::make(*device);
  auto buffer = DeviceBuffer::make(*device, 64);
  ASSERT_TRUE(checker && buffer);
  auto* words = reinterpret_cast<std::uint64_t*>(buffer->address());
  for (const bool halves : {false, true}) {
    std::uint64_t a[8], b[8];
    fill_host(a, 8, 5);
    fill_host(b, 8, 1u << 20);
    for (int i = 0; i < 8; ++i)
      words[i] = halves
                     ? ((a[i] >> 32) + (b[i] >> 32)) << 32 | static_cast<std::uint32_t>(a[i] + b[i])
                     : a[i] + b[i];
    EXPECT_EQ(checker->check_sum(buffer->address(), 8, 5, 1u << 20, halves)->bad_words, 0u);
    words[3] += 1;
    EXPECT_EQ(checker->check_sum(buffer->address(), 8, 5, 1u << 20, halves)->bad_words, 1u);
  }
}

}  // namespace
}  // namespace gpuready
