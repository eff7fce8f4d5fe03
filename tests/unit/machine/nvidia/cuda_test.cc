#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "fake_drivers/ask_fake.h"
#include "machine/nvidia/architectures.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

// What a driver that started says of one device.
ProbeDocument one_device(const std::string& address, const std::string& uuid) {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  const auto say = [&](const char* call, const Json& value) { document.calls[call].value = value; };
  say("cuInit(0)", nullptr);
  say("cuDriverGetVersion()", 13000);
  say("cuDeviceGetCount()", 1);
  say("cuDeviceGet(0)", nullptr);
  say("cuDeviceGetName(0)", "NVIDIA H200");
  say("cuDeviceGetPCIBusId(0)", address);
  say("cuDeviceGetUuid_v2(0)", uuid);
  say("cuDeviceGetAttribute(0,multiprocessor_count)", 132);
  say("cuDeviceGetAttribute(0,compute_capability_major)", 9);
  say("cuDeviceGetAttribute(0,compute_capability_minor)", 0);
  return document;
}

ProbeDocument failed_start(int code) {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  document.calls["cuInit(0)"].code = code;
  return document;
}

Machine two_gpus() {
  Machine machine;
  gpu_at(machine, {0, 0x17, 0, 0}, Vendor::nvidia).uuid = "GPU-aaaa";
  gpu_at(machine, {0, 0x18, 0, 0}, Vendor::nvidia).uuid = "GPU-bbbb";
  return machine;
}

TEST(ApplyCuda, JoinsByAddress) {
  auto machine = two_gpus();
  apply_cuda(one_device("0000:18:00.0", "bbbb"), machine);
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_FALSE(machine.gpus[0].cuda);
  EXPECT_EQ(machine.gpus[0].visible_to_cuda, false);
  EXPECT_EQ(machine.gpus[1].cuda_ordinal, 0);
  EXPECT_EQ(machine.gpus[1].visible_to_cuda, true);
  EXPECT_EQ(machine.gpus[1].multiprocessors, 132);
  EXPECT_EQ(machine.gpus[1].architecture, "Hopper");
  EXPECT_EQ(machine.nvidia.cuda_version, "13.0");
}

// NVML, which reports the UUIDs, may be hidden.
TEST(ApplyCuda, JoinsByAddressWithoutAKnownUuid) {
  auto machine = two_gpus();
  for (auto& gpu : machine.gpus) gpu.uuid.reset();
  apply_cuda(one_device("0000:18:00.0", "bbbb"), machine);
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_FALSE(machine.gpus[0].cuda_ordinal);
  EXPECT_EQ(machine.gpus[1].cuda_ordinal, 0);
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-bbbb");
}

TEST(ApplyCuda, JoinsByUuidWithoutAnAddress) {
  for (const char* none : {"", "0000:00:00.0"}) {
    auto machine = two_gpus();
    apply_cuda(one_device(none, "aaaa"), machine);
    ASSERT_EQ(machine.gpus.size(), 2u) << none;
    EXPECT_EQ(machine.gpus[0].cuda_ordinal, 0);
  }
}

// It has neither an address nor a UUID that another source reports.
TEST(ApplyCuda, JoinsTheOnlyIntegratedGpu) {
  struct Row {
    std::vector<Vendor> without_address;
    std::size_t gpus, joined;  // of two GPUs with addresses and these
  };
  for (const auto& [without_address, gpus, joined] :
       std::initializer_list<Row>{{{Vendor::nvidia}, 3, 2},
                                  {{Vendor::amd, Vendor::nvidia}, 4, 3},
                                  {{Vendor::amd}, 4, 3},
                                  {{Vendor::nvidia, Vendor::nvidia}, 5, 4},
                                  {{}, 3, 2}}) {
    auto machine = two_gpus();
    machine.gpus[1].uuid.reset();
    for (const Vendor vendor : without_address) machine.gpus.emplace_back().vendor = vendor;
    apply_cuda(one_device("0000:00:00.0", "cccc"), machine);
    ASSERT_EQ(machine.gpus.size(), gpus);
    for (std::size_t i = 0; i < gpus; ++i)
      EXPECT_EQ(machine.gpus[i].cuda_ordinal.has_value(), i == joined) << i;
    EXPECT_EQ(machine.gpus[joined].uuid, "GPU-cccc");
  }
}

TEST(ApplyCuda, InstanceOfMigJoinsItsGpuAndDoesNotShrinkIt) {
  auto machine = two_gpus();
  machine.gpus[1].mig_enabled = true;
  machine.gpus[1].multiprocessors = 114;
  machine.gpus[1].mig.emplace_back().uuid = "MIG-cccc";
  apply_cuda(one_device("", "cccc"), machine);
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_EQ(machine.gpus[1].cuda_ordinal, 0);
  EXPECT_EQ(machine.gpus[1].multiprocessors, 114);
  EXPECT_EQ(machine.gpus[1].cuda->multiprocessors, 132);
}

TEST(ApplyCuda, NoDeviceHidesAll) {
  auto machine = two_gpus();
  apply_cuda(failed_start(100), machine);
  EXPECT_EQ(machine.nvidia.cuda_start->name, "CUDA_ERROR_NO_DEVICE");
  for (const auto& gpu : machine.gpus) EXPECT_EQ(gpu.visible_to_cuda, false);
}

TEST(ApplyCuda, FailedStartSaysNothingAboutVisibility) {
  auto machine = two_gpus();
  apply_cuda(failed_start(999), machine);
  EXPECT_EQ(machine.nvidia.cuda_start->code, 999);
  for (const auto& gpu : machine.gpus) EXPECT_FALSE(gpu.visible_to_cuda);
}

TEST(ApplyCuda, CutShortSaysNothingAboutTheRest) {
  auto machine = two_gpus();
  auto document = one_device("0000:17:00.0", "aaaa");
  document.outcome = ProbeOutcome::timed_out;
  document.stopped_in = "cuDeviceGet(1)";
  apply_cuda(document, machine);
  EXPECT_EQ(machine.gpus[0].visible_to_cuda, true);
  EXPECT_FALSE(machine.gpus[1].visible_to_cuda);
  EXPECT_EQ(machine.nvidia.cuda_stopped_in, "cuDeviceGet(1)");
}

TEST(ApplyCuda, ALibraryWithoutCuInitWasNotStarted) {
  Machine machine;
  auto document = failed_start(0);
  document.calls["cuInit(0)"].missing = true;
  apply_cuda(document, machine);
  EXPECT_FALSE(machine.nvidia.cuda_start);
  apply_cuda(failed_start(0), machine);
  ASSERT_TRUE(machine.nvidia.cuda_start);
  EXPECT_TRUE(machine.nvidia.cuda_start->ok());
}

// cuda.h: 1 is an attribute that the driver does not know, 801 one that it does not support.
TEST(ApplyCuda, ErrorsAreTheGpusUnlessTheQuestionWasWrong) {
  auto machine = two_gpus();
  auto document = one_device("0000:17:00.0", "aaaa");
  document.calls["cuDeviceGetAttribute(0,multicast_supported)"].code = 1;
  document.calls["cuDeviceGetAttribute(0,ecc_enabled)"].code = 801;
  auto& absent = document.calls["cuDeviceGetAttribute(0,tcc_driver)"];
  absent.code = 999;
  absent.missing = true;
  document.calls["cuDeviceTotalMem_v2(0)"].code = 214;
  apply_cuda(document, machine);
  ASSERT_EQ(machine.gpus[0].errors.size(), 1u);
  EXPECT_EQ(machine.gpus[0].errors[0].name, "CUDA_ERROR_ECC_UNCORRECTABLE");
}

TEST(ApplyCuda, TheProbesKeysAreRead) {
  setenv("GPUREADY_LIBCUDA", testing::fake_driver_path("fake_cuda.so").c_str(), 1);
  Machine machine;
  apply_cuda(testing::ask_fake("cuda", {}), machine);
  ASSERT_FALSE(machine.gpus.empty());
  const auto& gpu = machine.gpus[0];
  ASSERT_TRUE(gpu.cuda);
  EXPECT_FALSE(gpu.name.empty());
  EXPECT_TRUE(gpu.uuid.value_or("").starts_with("GPU-"));
  EXPECT_TRUE(gpu.cuda->multiprocessors);
  EXPECT_TRUE(gpu.cuda->total_memory_bytes);
  EXPECT_TRUE(gpu.compute_capability);
}

TEST(Architectures, NamesByComputeCapability) {
  EXPECT_EQ(nvidia_architecture_name("8.9"), "Ada Lovelace");
  EXPECT_EQ(nvidia_architecture_name("7.0"), "Volta");
  EXPECT_EQ(nvidia_architecture_name("12.9"),
            "Blackwell");                         // unknown minor of a family of one name
  EXPECT_FALSE(nvidia_architecture_name("8.4"));  // Ampere or Ada: not guessed
  EXPECT_FALSE(nvidia_architecture_name("99.0"));
  EXPECT_FALSE(nvidia_architecture_name("nine"));
}

}  // namespace
}  // namespace gpuready
