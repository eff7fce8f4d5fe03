// The HIP executor against a fake runtime.
#include "device/hip/hip_device.h"

#include <gtest/gtest.h>

#include "device/hip/hip_errors.h"
#include "device/open_device.h"
#include "hip_fixture.h"
#include "kernel_abi/memory_params.h"
#include "kernels/memory_kernels.h"
#include "unit/device/device_checks.h"

namespace gpuready {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Opens a GPU of the fake and says how that ended: its name, or the error.
std::string open_outcome(std::string_view id = kFakeHipGpu0) {
  auto device = open_hip_device(id);
  return device ? (*device)->info().name : device.error().message;
}

// How that error is taken: the number of its DeviceFault, and what it says.
std::string open_fault(std::string_view id = kFakeHipGpu0) {
  auto device = open_hip_device(id);
  if (device) return "opened";
  return std::to_string(static_cast<int>(hip_fault_of(device.error()))) + " " +
         device.error().message;
}
std::string number(DeviceFault fault) { return std::to_string(static_cast<int>(fault)) + " "; }

TEST(HipDevice, OpensTheGpuAtTheAddressAskedFor) {
  const auto open = [] { return open_outcome(kFakeHipGpu1); };
  EXPECT_EQ(in_hip_child("devices=3", open), "Fake AMD GPU 1");
}

TEST(HipDevice, TheAddressIsComparedWhateverItsCase) {
  const auto open = [] { return open_outcome("0000:0A:00.0/gfx90a"); };
  EXPECT_EQ(in_hip_child("devices=8", open), "Fake AMD GPU 7");
}

TEST(HipDevice, RefusesAnyOtherGpuAndSaysWhatThereIs) {
  const auto text = in_hip_child("", [] { return open_fault(kFakeHipGpu1); });
  EXPECT_TRUE(has(text, number(DeviceFault::unavailable) + "the HIP runtime does not show 0000:04"))
      << text;
  EXPECT_TRUE(has(text, "it shows: 0000:03:00.0")) << text;
}

TEST(HipDevice, TwoDevicesAtOneAddressAreNotGuessedAt) {
  const auto text = in_hip_child("devices=2,same_address", [] { return open_outcome(); });
  EXPECT_TRUE(has(text, "shows 2 devices at 0000:03:00.0")) << text;
}

TEST(HipDevice, TellsTheDevicesFacts) {
  const auto text = in_hip_child("devices=2", [] {
    auto device = open_hip_device(kFakeHipGpu1);
    const DeviceInfo& info = (*device)->info();
    return *info.pci_address + " " + std::to_string(info.units) + " " +
           std::to_string(*info.warp_size) + " " + std::to_string(*info.l2_cache_bytes) + " " +
           std::to_string(*info.memory_bus_bits) + " " + std::to_string(*info.memory_clock_khz) +
           " " + std::to_string(info.memory_total_bytes) + (*info.ecc_enabled ? " ecc" : "") +
           (*info.integrated ? " integrated" : "") + (info.uuid ? " uuid" : "");
  });
  EXPECT_EQ(text, "0000:04:00.0 104 64 8388608 4096 1600000 67108864 ecc");
}

TEST(HipDevice, AMissingLibraryIsToldWithItsName) {
  const auto text = in_hip_child("", [] { return open_fault(); }, "no_such_runtime");
  EXPECT_TRUE(has(text, number(DeviceFault::unavailable))) << text;
  EXPECT_TRUE(has(text, "no_such_runtime")) << text;
}

TEST(HipDevice, AMissingSymbolIsNamedWhenItIsNeeded) {
  const auto text = in_hip_child(
      "",
      [] {
        auto device = open_hip_device(kFakeHipGpu0);  // needs no allocation
        if (!device) return device.error().message;
        auto memory = (*device)->allocate(4096);
        return memory ? std::string("allocated") : memory.error().message;
      },
      "fake_hip_incomplete");
  EXPECT_TRUE(has(text, "hipMalloc")) << text;
}

TEST(HipDevice, ARuntimeOlderThanFiveIsRefused) {
  const auto text = in_hip_child("version=40500000", [] { return open_fault(); });
  EXPECT_TRUE(has(text, number(DeviceFault::cannot_load))) << text;
  EXPECT_TRUE(has(text, "is HIP 4.5")) << text;
}

TEST(HipDevice, NoDeviceIsToldAsSuch) {
  const auto text = in_hip_child("devices=0", [] { return open_fault(); });
  EXPECT_TRUE(
      has(text, number(DeviceFault::unavailable) + "hipGetDeviceCount: hipErrorNoDevice (100)"))
      << text;
}

TEST(HipDevice, AFailedStartKeepsNumberAndMeaning) {
  const auto text = in_hip_child("fail=hipInit:35", [] { return open_fault(); });
  EXPECT_TRUE(
      has(text, number(DeviceFault::unavailable) + "hipInit: hipErrorInsufficientDriver (35)"))
      << text;
}

TEST(HipDevice, ATargetWithoutCodeNamesThoseThatHaveSome) {
  const auto text = in_hip_child("", [] { return open_fault("0000:03:00.0/gfx803"); });
  EXPECT_TRUE(has(text, number(DeviceFault::cannot_load) + "no code for gfx803 is embedded"))
      << text;
  EXPECT_TRUE(has(text, "gfx90a")) << text;
}

TEST(HipDevice, ARefusedCodeObjectIsToldAsRefused) {
  const auto text = in_hip_child("mach=0x36", [] {  // the GPU is a gfx1030
    auto device = open_hip_device(kFakeHipGpu0);
    auto error = (*device)->prepare(kMemoryWrite).error();
    return std::to_string(static_cast<int>((*device)->fault_of(error))) + " " + error.message;
  });
  EXPECT_TRUE(has(text, number(DeviceFault::refuses_code) + "hipModuleLoadData")) << text;
  EXPECT_TRUE(has(text, "(209)")) << text;
  EXPECT_TRUE(has(text, "the embedded code for gfx90a")) << text;
}

TEST(HipDevice, AKernelThatIsNotCompiledForHipIsUnsupported) {
  const auto text = in_hip_child("", [] {
    auto device = open_hip_device(kFakeHipGpu0);
    const Kernel kernel{"gpuready_no_such_kernel", {}, nullptr};
    return (*device)->prepare(kernel).error().message;
  });
  EXPECT_EQ(text, "kernel gpuready_no_such_kernel has no code for gfx90a");
}

TEST(HipDevice, EveryCallsErrorIsToldAndEndsNothing) {
  for (const char* call :
       {"hipSetDevice", "hipMemGetInfo", "hipMalloc", "hipHostMalloc", "hipMemcpyHtoDAsync",
        "hipMemcpyDtoHAsync", "hipMemcpyDtoDAsync", "hipStreamCreateWithFlags",
        "hipStreamSynchronize", "hipEventCreateWithFlags", "hipEventRecord", "hipEventElapsedTime",
        "hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel",
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    const auto text = in_hip_child(std::string("fail=") + call + ":999", [] {
      auto opened = open_hip_device(kFakeHipGpu0);
      if (!opened) return opened.error().message;
      Device& device = **opened;
      std::string said;
      const auto note = [&](const auto& result) {
        if (!result) said += result.error().message + "\n";
      };
      note(device.memory());
      auto memory = device.allocate(4096);
      note(memory);
      note(device.allocate_pinned(4096));
      alignas(16) unsigned char host[64] = {}, scratch[64] = {};
      const DeviceAddress address = memory ? *memory : reinterpret_cast<DeviceAddress>(scratch);
      note(device.copy_to_device({}, address, host, 16));
      note(device.copy_on_device({}, address + 16, address, 16));
      note(device.copy_to_host({}, host, address, 16));
      note(device.create_stream());
      auto timer = StreamTimer::make(device, {});
      note(timer);
      if (timer) note(timer->start());
      if (timer) note(timer->stop_ms());
      const MemoryPassParams nothing{};
      note(device.launch({}, kMemoryWrite, {}, &nothing, sizeof nothing));
      note(device.resident_blocks(kMemoryWrite, 256, 0));
      return said + (device.lost() ? "lost" : "goes on");
    });
    EXPECT_TRUE(has(text, std::string(call) + ": hipErrorUnknown (999)")) << call << ": " << text;
    EXPECT_FALSE(has(text, "lost")) << call;
  }
}

TEST(HipDevice, AfterAStickyErrorEveryCallReturnsIt) {
  EXPECT_EQ(in_hip_child("fail=hipMemcpyHtoDAsync:719",
                         [] { return call_after_failed_copy(**open_hip_device(kFakeHipGpu0)); }),
            "719 719");
}

TEST(HipDevice, OutOfMemoryIsNotTheEndOfTheDevice) {
  EXPECT_EQ(in_hip_child("memory=64MiB",
                         [] { return allocate_too_much(**open_hip_device(kFakeHipGpu0)); }),
            "goes on");
}

TEST(HipDevice, CopiesArriveAndStreamsAndEventsWork) {
  EXPECT_EQ(in_hip_child("", [] { return copy_back_and_forth(**open_hip_device(kFakeHipGpu0)); }),
            "whole");
}

TEST(HipDevice, ParametersOfAnotherSizeThanTheKernelsAreRefused) {
  const auto text = in_hip_child("", [] {
    auto device = open_hip_device(kFakeHipGpu0);
    const MemoryPassParams nothing{};
    const auto launch = [&](std::size_t bytes) {
      auto done = (*device)->launch({}, kMemoryWrite, {}, &nothing, bytes);
      return done ? std::string("launched") : done.error().message.substr(0, 21);
    };
    return launch(sizeof nothing) + " " + launch(sizeof nothing - 8);
  });
  EXPECT_EQ(text, "launched hipModuleLaunchKernel");
}

TEST(HipDevice, NoCooperativeLaunchIsNoFaultOfTheDevice) {
  const auto launch = [] {
    auto device = open_hip_device(kFakeHipGpu0);
    const MemoryPassParams nothing{};
    LaunchShape shape;
    shape.cooperative = true;
    auto done = (*device)->launch({}, kMemoryWrite, shape, &nothing, sizeof nothing);
    return (done ? std::string("launched") : done.error().message) +
           ((*device)->lost() ? ", lost" : "");
  };
  EXPECT_EQ(in_hip_child("", launch), "launched");
  EXPECT_EQ(in_hip_child("no_cooperative", launch),
            "this GPU or its driver has no cooperative launch");
}

TEST(HipErrors, WhatTheDeviceDidIsToldFromWhatWeDid) {
  const auto fault = [](int code) { return hip_fault_of(Error{ErrorKind::device, "", code}); };
  EXPECT_EQ(fault(214), DeviceFault::memory);
  EXPECT_EQ(fault(700), DeviceFault::execution);
  EXPECT_EQ(fault(719), DeviceFault::execution);
  EXPECT_EQ(fault(702), DeviceFault::timed_out);
  EXPECT_EQ(fault(1), DeviceFault::none);
  EXPECT_EQ(fault(123456), DeviceFault::unclear);
  for (int code : {214, 700, 702, 710, 719}) EXPECT_TRUE(find_hip_error(code)->sticky) << code;
  for (int code : {1, 2, 209, 720, 999}) EXPECT_FALSE(find_hip_error(code)->sticky) << code;
  EXPECT_EQ(describe_hip_error(4242), "HIP error 4242");
}

TEST(HipDevice, IsChosenByAddressAndTargetAndCarriesItsCaveat) {
  auto choice = parse_device_choice("hip:0000:03:00.0/gfx90a");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->executor, "hip");
  EXPECT_EQ(choice->id, "0000:03:00.0/gfx90a");
  EXPECT_TRUE(has(std::string(executor_caveat("hip")), "not verified on hardware"));
  EXPECT_EQ(executor_caveat("cuda"), "");
}

}  // namespace
}  // namespace gpuready
