// The probe's document through apply_nvml: the fake driver's answers must arrive in the Machine, so
// that a key that one side writes and the other does not read shows here.
#include <gtest/gtest.h>

#include "fake_drivers/ask_fake.h"
#include "machine/sources.h"

namespace gpuready {
namespace {

using testing::ask_fake_nvml;

Machine machine_of(const std::string& settings, std::vector<std::string> args = {"--full"}) {
  Machine machine;
  apply_nvml(ask_fake_nvml(settings, std::move(args)), machine);
  return machine;
}

ProbeDocument answers(const std::vector<std::pair<std::string, Json>>& values) {
  ProbeDocument document;
  document.outcome = ProbeOutcome::completed;
  for (const auto& [call, value] : values) document.calls[call].value = value;
  return document;
}

void add_gpu(Machine& machine, std::uint8_t bus) {
  gpu_at(machine, {0, bus, 0, 0}, Vendor::nvidia);
}

TEST(ApplyNvml, EveryFieldArrives) {
  const auto machine = machine_of("devices=1");
  ASSERT_EQ(machine.gpus.size(), 1u);
  const auto& gpu = machine.gpus[0];
  EXPECT_EQ(gpu.pci->text(), "0000:10:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-fa4e0000-0000-0000-0000-000000000000");
  EXPECT_EQ(gpu.serial, "165002400001");
  EXPECT_EQ(gpu.part_number, "692-2G520");
  EXPECT_EQ(gpu.vbios_version, "96.00.BC.00.01");
  EXPECT_EQ(gpu.firmware_version, "580.159.04");
  EXPECT_EQ(gpu.nvml_index, 0);
  EXPECT_EQ(gpu.minor_number, 0);
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.architecture, "Hopper");
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(gpu.memory.total_bytes, 150754820096u);
  EXPECT_EQ(gpu.memory.reserved_bytes, 600000000u);
  EXPECT_EQ(gpu.memory.bar1_total_bytes, 274877906944u);
  EXPECT_EQ(gpu.memory.bus_width_bits, 6144);
  EXPECT_EQ(gpu.clocks.sm_mhz, 345);
  EXPECT_EQ(gpu.clocks.max_sm_mhz, 1980);
  EXPECT_EQ(gpu.clocks.max_memory_mhz, 3201);
  EXPECT_EQ(gpu.clock_event_reasons, 1u);
  EXPECT_EQ(gpu.power.draw_mw, 76500u);
  EXPECT_EQ(gpu.power.limit_mw, 700000u);
  EXPECT_EQ(gpu.power.max_limit_mw, 700000u);
  EXPECT_EQ(gpu.thermal.gpu_celsius, 33);
  EXPECT_EQ(gpu.thermal.memory_celsius, 44);
  EXPECT_EQ(gpu.thermal.slowdown_celsius, 89);
  EXPECT_EQ(gpu.thermal.shutdown_celsius, 92);
  EXPECT_EQ(gpu.utilization_percent, 7);
  EXPECT_EQ(gpu.link_now.generation, 1);
  EXPECT_EQ(gpu.link_max.generation, 5);
  EXPECT_EQ(gpu.link_max.width, 16);
  EXPECT_EQ(gpu.pcie_errors.replays, 5u);
  EXPECT_EQ(gpu.pcie_errors.correctable, 5000000000u);
  EXPECT_FALSE(gpu.pcie_errors.fatal);  // answered as not supported
  EXPECT_EQ(gpu.persistence, true);
  EXPECT_EQ(gpu.compute_mode, "exclusive_process");
  EXPECT_EQ(gpu.virtualization, "passthrough");
  EXPECT_FALSE(gpu.vgpu_license);
  EXPECT_EQ(gpu.recovery_action, "gpu_reset");
  EXPECT_EQ(gpu.inforom_valid, true);
  EXPECT_EQ(gpu.cpu_affinity, "0-15,64,66");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.confidential_compute, false);
  EXPECT_EQ(gpu.mig_enabled, false);
  EXPECT_TRUE(gpu.errors.empty());
}

TEST(ApplyNvml, MemoryErrorsArrive) {
  const auto machine = machine_of("devices=1");
  const auto& gpu = machine.gpus.at(0);
  EXPECT_EQ(gpu.ecc.enabled_now, true);
  EXPECT_EQ(gpu.ecc.enabled_pending, false);
  EXPECT_EQ(gpu.ecc.since_boot.corrected, 10u);
  EXPECT_EQ(gpu.ecc.lifetime.corrected, 11u);
  EXPECT_EQ(gpu.ecc.since_boot.uncorrected, 12u);
  EXPECT_EQ(gpu.ecc.lifetime.uncorrected, 13u);
  EXPECT_EQ(gpu.ecc.sram_threshold_exceeded, true);
  EXPECT_EQ(gpu.remapping.corrected, 1u);
  EXPECT_EQ(gpu.remapping.uncorrected, 2u);
  EXPECT_EQ(gpu.remapping.pending, true);
  EXPECT_EQ(gpu.remapping.failed, false);
  EXPECT_EQ(gpu.remapping.banks_max, 100u);
  EXPECT_EQ(gpu.remapping.banks_none, 104u);
  EXPECT_EQ(gpu.retired.single_bit, 2u);
  EXPECT_EQ(gpu.retired.double_bit, 3u);
  EXPECT_EQ(gpu.retired.pending, true);
}

TEST(ApplyNvml, FabricArrives) {
  const auto fabric = machine_of("devices=1").gpus.at(0).fabric;
  EXPECT_EQ(fabric.state, "completed");
  EXPECT_EQ(fabric.status, 0);
  EXPECT_EQ(fabric.clique_id, 4);
  EXPECT_EQ(fabric.health_mask, 0x12u);
  EXPECT_EQ(fabric.cluster_uuid, "abababababababababababababababab");
}

TEST(ApplyNvml, SystemArrives) {
  const auto nvidia = machine_of("devices=2").nvidia;
  EXPECT_EQ(nvidia.nvml_outcome, "completed");
  EXPECT_EQ(nvidia.driver_version, "580.159.04");
  EXPECT_EQ(nvidia.cuda_version, "13.0");
  EXPECT_EQ(nvidia.nvml_device_count, 2);
  EXPECT_EQ(nvidia.nvml_start->call, "nvmlInit_v2()");
  EXPECT_EQ(nvidia.nvml_library, testing::fake_driver_path("fake_nvml.so"));
}

TEST(ApplyNvml, ProcessesCarryTheirNames) {
  const auto processes = machine_of("devices=1").gpus.at(0).processes;
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, 500u);
  EXPECT_EQ(processes[0].name, "worker-500");
  EXPECT_EQ(processes[0].used_bytes, 1048576u);
  EXPECT_EQ(processes[0].kind, "compute");
  EXPECT_FALSE(processes[1].used_bytes);
}

TEST(ApplyNvml, LinksArriveAndOneIsDown) {
  const auto links = machine_of("devices=1;links=3").gpus.at(0).nvlinks;
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].up, true);
  EXPECT_EQ(links[0].version, 7);
  EXPECT_EQ(links[0].remote->text(), "0000:c0:00.0");
  EXPECT_EQ(links[0].remote_kind, "switch");
  EXPECT_EQ(links[1].replay_errors, 10u);
  EXPECT_EQ(links[1].recovery_errors, 11u);
  EXPECT_EQ(links[1].crc_errors, 12u);
  EXPECT_EQ(links[2].up, false);
  EXPECT_FALSE(links[2].remote);
}

TEST(ApplyNvml, MigInstancesArrive) {
  const auto machine = machine_of("devices=1;mig=2", {});
  const auto& gpu = machine.gpus.at(0);
  EXPECT_EQ(gpu.mig_enabled, true);
  ASSERT_EQ(gpu.mig.size(), 2u);
  EXPECT_EQ(gpu.mig[1].uuid, "MIG-fa4e0000-0000-0000-0000-000200000000");
  EXPECT_EQ(gpu.mig[1].name, "1g.18gb");
  EXPECT_EQ(gpu.mig[1].gpu_instance_id, 8);
  EXPECT_EQ(gpu.mig[1].compute_instance_id, 0);
  EXPECT_EQ(gpu.mig[1].multiprocessors, 16);
  EXPECT_EQ(gpu.mig[1].memory_total_bytes, 17179869184u);
  EXPECT_EQ(gpu.name, "NVIDIA H200");  // an instance's answers are not the GPU's
}

TEST(ApplyNvml, PairsAreToldByTheReportsIndices) {
  const auto machine = machine_of("devices=3");
  ASSERT_EQ(machine.paths.size(), 3u);
  for (const auto& path : machine.paths) {
    EXPECT_EQ(path.kind, PathKind::host_bridge);
    EXPECT_EQ(path.p2p_status, path.gpu_a + path.gpu_b == 1 ? "chipset_not_supported" : "ok");
  }
}

TEST(ApplyNvml, VirtualGpuWithoutLicence) {
  EXPECT_EQ(machine_of("devices=1;vgpu=1").gpus.at(0).vgpu_license, "unlicensed");
}

TEST(ApplyNvml, AVirtualGpuIsLicensedByAFeatureThatIsEnabledAndActive) {
  const auto license = [](bool supported, const Json& features) {
    Machine machine;
    apply_nvml(answers({{"nvmlDeviceGetPciInfo_v3(0)", {{"bus_id", "00000000:17:00.0"}}},
                        {"nvmlDeviceGetGridLicensableFeatures_v4(0)",
                         {{"supported", supported}, {"features", features}}}}),
               machine);
    return machine.gpus.at(0).vgpu_license;
  };
  const auto feature = [](bool active, bool enabled) {
    return Json{{"state", active}, {"enabled", enabled}};
  };
  EXPECT_EQ(license(true, Json::array({feature(true, true)})), "licensed");
  EXPECT_EQ(license(true, Json::array({feature(false, false), feature(true, true)})), "licensed");
  EXPECT_EQ(license(true, Json::array({feature(true, false), feature(false, true)})), "unlicensed");
  EXPECT_EQ(license(true, Json::array()), "unlicensed");
  EXPECT_FALSE(license(false, Json::array({feature(true, true)})));
}

TEST(ApplyNvml, ConfidentialComputingNotReady) {
  const auto machine = machine_of("devices=1;cc=1;cc_ready=0");
  EXPECT_EQ(machine.gpus.at(0).confidential_compute, true);
  EXPECT_EQ(machine.gpus.at(0).confidential_compute_ready, false);
}

TEST(ApplyNvml, OldDriverFillsTheSameFields) {
  Machine machine;
  apply_nvml(ask_fake_nvml("devices=1;driver=440.33", {"--full"}, std::chrono::seconds(20),
                           "fake_nvml_old.so"),
             machine);
  const auto& gpu = machine.gpus.at(0);
  EXPECT_EQ(gpu.memory.total_bytes, 150754820096u);
  EXPECT_FALSE(gpu.memory.reserved_bytes);
  EXPECT_EQ(gpu.thermal.gpu_celsius, 31);
  EXPECT_EQ(gpu.clock_event_reasons, 0x40u);
  EXPECT_EQ(gpu.processes.at(0).pid, 41u);
  EXPECT_EQ(machine.nvidia.nvml_start->call, "nvmlInit()");
  EXPECT_TRUE(machine.nvidia.nvml_start->ok());
}

TEST(ApplyNvml, HangTellsTheCall) {
  Machine machine;
  apply_nvml(ask_fake_nvml("hang=nvmlInit_v2", {}, std::chrono::milliseconds(400)), machine);
  EXPECT_EQ(machine.nvidia.nvml_outcome, "timed_out");
  EXPECT_EQ(machine.nvidia.nvml_stopped_in, "nvmlInit_v2()");
  EXPECT_FALSE(machine.nvidia.nvml_start);
}

TEST(ApplyNvml, FailedStartIsNamed) {
  const auto machine = machine_of("nvmlInit_v2=18");
  EXPECT_EQ(machine.nvidia.nvml_start->name, "NVML_ERROR_LIB_RM_VERSION_MISMATCH");
  EXPECT_TRUE(machine.gpus.empty());
}

TEST(ApplyNvml, LostGpuHasOneErrorAndTheOtherNone) {
  const auto machine = machine_of("devices=2;lost=1");
  // Without an address to be had, the lost one is told by its index alone.
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(machine.gpus[0].errors.empty());
  ASSERT_EQ(machine.gpus[1].errors.size(), 1u);
  EXPECT_EQ(machine.gpus[1].errors[0].code, 15);
  EXPECT_EQ(machine.gpus[1].errors[0].name, "NVML_ERROR_GPU_IS_LOST");
}

TEST(ApplyNvml, RefusedHandleGoesToTheGpuLeftOver) {
  Machine machine;
  for (const std::uint8_t bus : {0x10, 0x11, 0x12}) add_gpu(machine, bus);
  apply_nvml(ask_fake_nvml("devices=3;nvmlDeviceGetHandleByIndex_v2@1=15"), machine);
  ASSERT_EQ(machine.gpus.size(), 3u);
  EXPECT_TRUE(machine.gpus[0].errors.empty());
  ASSERT_EQ(machine.gpus[1].errors.size(), 1u);
  EXPECT_EQ(machine.gpus[1].errors[0].call, "nvmlDeviceGetHandleByIndex_v2(1)");
  EXPECT_FALSE(machine.gpus[1].nvml_index);
  EXPECT_TRUE(machine.gpus[2].errors.empty());
}

TEST(ApplyNvml, RefusedHandleOfAHiddenGpuIsStillTold) {
  const auto machine = machine_of("devices=2;nvmlDeviceGetHandleByIndex_v2@0=15");
  ASSERT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(machine.gpus[0].pci);
  EXPECT_FALSE(machine.gpus[1].pci);
  EXPECT_EQ(machine.gpus[1].errors.at(0).code, 15);
}

TEST(ApplyNvml, RefusalByAddressNamesTheGpu) {
  Machine machine;
  add_gpu(machine, 0x17);
  add_gpu(machine, 0x18);
  auto document = answers({{"nvmlInit_v2()", nullptr}});
  document.calls["nvmlDeviceGetHandleByIndex_v2(0)"].code = 15;
  document.calls["nvmlDeviceGetHandleByPciBusId_v2(0000:18:00.0)"].code = 15;
  apply_nvml(document, machine);
  EXPECT_TRUE(machine.gpus[0].errors.empty());
  ASSERT_EQ(machine.gpus[1].errors.size(), 1u);
  EXPECT_EQ(machine.gpus[1].errors[0].name, "NVML_ERROR_GPU_IS_LOST");
}

TEST(ApplyNvml, NotSupportedIsNoErrorOfTheGpu) {
  const auto machine = machine_of("devices=1;nvmlDeviceGetPowerUsage=3;nvmlDeviceGetSerial=4");
  EXPECT_TRUE(machine.gpus.at(0).errors.empty());
  EXPECT_FALSE(machine.gpus.at(0).power.draw_mw);
}

TEST(ApplyNvml, JoinsByAddressNotByIndex) {
  Machine machine;
  add_gpu(machine, 0x11);
  add_gpu(machine, 0x10);
  apply_nvml(ask_fake_nvml("devices=2"), machine);
  ASSERT_EQ(machine.gpus.size(), 2u);
  for (const auto& gpu : machine.gpus) EXPECT_EQ(gpu.pci->bus, 0x10 + *gpu.nvml_index);
}

TEST(ApplyNvml, OneFieldMayBeToldPlainly) {
  Machine machine;
  apply_nvml(answers({{"nvmlDeviceGetPciInfo_v3(0)", {{"bus_id", "00000000:17:00.0"}}},
                      {"nvmlDeviceGetFieldValues(0,230)", 2}}),
             machine);
  EXPECT_EQ(machine.gpus.at(0).recovery_action, "node_reboot");
}

// Fields 1 (ECC), 82 (memory temperature), 94 (replays), 173 to 175 (AER) of NVML.
TEST(ApplyNvml, FieldsFillWhatNoOtherCallTold) {
  const auto gpu_of = [](int celsius, Json ecc) {
    Machine machine;
    apply_nvml(answers({{"nvmlDeviceGetPciInfo_v3(0)", {{"bus_id", "00000000:17:00.0"}}},
                        {"nvmlDeviceGetEccMode(0)", std::move(ecc)},
                        {"nvmlDeviceGetFieldValues(0,1)", 0},
                        {"nvmlDeviceGetFieldValues(0,82)", celsius},
                        {"nvmlDeviceGetFieldValues(0,94)", 3}}),
               machine);
    return machine.gpus.at(0);
  };
  EXPECT_EQ(gpu_of(44, {}).thermal.memory_celsius, 44);
  EXPECT_EQ(gpu_of(1, {}).thermal.memory_celsius, 1);
  EXPECT_EQ(gpu_of(0, {}).thermal.memory_celsius, std::nullopt) << "it has no sensor";
  EXPECT_EQ(gpu_of(1, {}).pcie_errors.replays, 3u);
  EXPECT_EQ(gpu_of(1, {}).ecc.enabled_now, false);
}

TEST(ApplyNvml, ALinkHasALaneAndAGeneration) {
  const auto link_of = [](int generation, int width) {
    Machine machine;
    apply_nvml(answers({{"nvmlDeviceGetPciInfo_v3(0)", {{"bus_id", "00000000:17:00.0"}}},
                        {"nvmlDeviceGetCurrPcieLinkGeneration(0)", generation},
                        {"nvmlDeviceGetCurrPcieLinkWidth(0)", width},
                        {"nvmlDeviceGetMaxPcieLinkGeneration(0)", generation},
                        {"nvmlDeviceGetMaxPcieLinkWidth(0)", width}}),
               machine);
    const auto& gpu = machine.gpus.at(0);
    EXPECT_EQ(gpu.link_now.generation, gpu.link_max.generation);
    EXPECT_EQ(gpu.link_now.width, gpu.link_max.width);
    return std::pair(gpu.link_now.generation, gpu.link_now.width);
  };
  using Known = std::optional<int>;
  EXPECT_EQ(link_of(1, 1), std::pair(Known(1), Known(1)));
  EXPECT_EQ(link_of(5, 16), std::pair(Known(5), Known(16)));
  EXPECT_EQ(link_of(0, 16), std::pair(Known(), Known(16)));
  EXPECT_EQ(link_of(5, 0), std::pair(Known(5), Known()));
  EXPECT_EQ(link_of(-1, -1), std::pair(Known(), Known()));
}

TEST(ApplyNvml, AGpuHasAnErrorOfEachKind) {
  Machine machine;
  machine.gpus.emplace_back().pci = {0, 0x17, 0, 0};
  machine.gpus[0].vendor = Vendor::nvidia;
  machine.gpus[0].errors.push_back(
      {"cuDeviceGet(0)", 15, ""});  // codes of CUDA mean something else
  auto document = answers({{"nvmlDeviceGetPciInfo_v3(0)", {{"bus_id", "00000000:17:00.0"}}}});
  const std::pair<const char*, int> kCalls[] = {{"nvmlDeviceGetEccMode(0)", 15},
                                                {"nvmlDeviceGetName(0)", 15},
                                                {"nvmlDeviceGetPowerUsage(0)", 16},
                                                {"nvmlDeviceGetSerial(0)", 16}};
  for (const auto& [call, code] : kCalls) document.calls[call].code = code;
  apply_nvml(document, machine);
  std::vector<std::string> calls;
  for (const auto& error : machine.gpus.at(0).errors)
    calls.push_back(error.call + " " + std::to_string(error.code));
  EXPECT_EQ(calls, (std::vector<std::string>{"cuDeviceGet(0) 15", "nvmlDeviceGetEccMode(0) 15",
                                             "nvmlDeviceGetPowerUsage(0) 16"}));
}

TEST(ApplyNvml, CudasVersionIsAThousandOfTheMajorAndTenOfTheMinor) {
  const auto version = [](int number) {
    Machine machine;
    apply_nvml(answers({{"nvmlSystemGetCudaDriverVersion_v2()", number}}), machine);
    return machine.nvidia.cuda_version.value_or("none");
  };
  EXPECT_EQ(version(13000), "13.0");
  EXPECT_EQ(version(12090), "12.9");
  EXPECT_EQ(version(1000), "1.0");
  EXPECT_EQ(version(999), "none");
  EXPECT_EQ(version(0), "none");
  EXPECT_EQ(version(-1), "none");
}

TEST(ApplyNvml, ValuesOfWrongTypesAreAbsent) {
  Machine machine;
  apply_nvml(answers({{"nvmlDeviceGetName(0)", Json::array({1})},
                      {"nvmlDeviceGetPciInfo_v3(0)", "x"},
                      {"nvmlDeviceGetTemperatureV(0)", 1e300},
                      {"nvmlDeviceGetPowerUsage(0)", -5},
                      {"nvmlDeviceGetClockInfo(0,sm)", 99999999999},
                      {"nvmlDeviceGetComputeMode(0)", 77},
                      {"nvmlDeviceGetComputeRunningProcesses_v3(0)", {{"pid", 1}}},
                      {"nvmlDeviceGetFieldValues(0,basic)", Json::array({Json::array()})}}),
             machine);
  const auto& gpu = machine.gpus.at(0);
  EXPECT_TRUE(gpu.name.empty());
  EXPECT_FALSE(gpu.pci);
  EXPECT_FALSE(gpu.thermal.gpu_celsius);
  EXPECT_FALSE(gpu.power.draw_mw);
  EXPECT_FALSE(gpu.clocks.sm_mhz);
  EXPECT_FALSE(gpu.compute_mode);
  EXPECT_TRUE(gpu.processes.empty());
}

TEST(NvmlErrors, UnknownNumbersKeepTheirNumber) {
  EXPECT_EQ(nvml_error_name(17), "NVML_ERROR_OPERATING_SYSTEM");
  EXPECT_EQ(nvml_error_name(4711), "NVML_ERROR_4711");
}

}  // namespace
}  // namespace gpuready
