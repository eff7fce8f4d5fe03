// The rules that a machine file does not show well: when a cause must NOT be told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/pcie_log.h"
#include "machines.h"
#include "unit/machine_folders.h"

namespace gpuready::test {
namespace {

TEST(Causes, EarlierTroubleOfAGpuThatWorksNowIsNoError) {
  auto machine = healthy();
  log(machine, "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x62:0x40:2168)");
  log(machine, "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:");
  log(machine, "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:10:00.0)");
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  xid(machine, 79, 0x10, "GPU has fallen off the bus.");
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"off-the-bus"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
}

TEST(Causes, AddressIsFoundOnTheOtherLinesOfALongMessage) {
  auto machine = healthy(2);
  machine.gpus[1].nvml_index.reset();
  log(machine, "NVRM: The NVIDIA GPU 0000:11:00.0 (PCI ID: 10de:1db5)", 3.0);
  log(machine, "NVRM: installed in this system is not supported by open", 3.0);
  log(machine, "NVRM: nvidia.ko because it does not include the required GPU", 3.0);
  log(machine, "NVRM: System Processor (GSP).", 3.0);
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"open-module-unsupported-gpu"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{1});
  EXPECT_TRUE(contains(findings[0].evidence[0].quote, "required GPU System Processor (GSP)"));
}

TEST(Causes, LineWithoutAddressBlamesTheGpusThatDoNotWork) {
  auto machine = healthy(4);
  log(machine, "NVRM: The NVIDIA probe routine failed for 1 device(s).");
  EXPECT_EQ(ids(diagnose(machine)), Ids{});  // all answer: history
  drop_from_nvml(machine, 3);
  machine.pci[3].driver.reset();
  machine.gpus[3].driver.reset();
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"gpu-init-failed"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{3});
}

TEST(Causes, XidsFromBeforeTheLastLoadOfTheDriverAreHistory) {
  auto machine = healthy();
  xid(machine, 95, 0x10, "Uncontained: SM");
  machine.gpus[0].ecc.since_boot.uncorrected.reset();
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::error);
  log(machine, "nvidia-nvlink: Nvlink Core is being initialized, major device number 236", 99.0);
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"xid-95"});
  EXPECT_EQ(findings[0].severity, Severity::info);
  EXPECT_FALSE(findings[0].cure);
  xid(machine, 95, 0x10, "Uncontained: L2");  // and again since; both lines have one time
  machine.kernel_log.lines.back().seconds = machine.kernel_log.xids.back().seconds = 120.0;
  EXPECT_EQ(diagnose(machine).at(0).id, "uncorrectable-ecc");
}

TEST(Causes, EccXidsOfAGpuWhoseCountersAreAtZeroAreHistory) {
  auto machine = healthy();
  xid(machine, 48, 0x10, "DBE (double bit error) ECC Error");
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::info);
  machine.gpus[0].remapping.pending = true;  // the reset is still to come
  EXPECT_EQ(diagnose(machine).at(0).id, "uncorrectable-ecc");
}

TEST(Causes, DeviceControlGroupThatRefusesSomeGpusIsNoFault) {
  auto machine = healthy(4);
  machine.container.cgroup_path = "/system.slice/slurmstepd.scope/job_1/step_0";
  for (int i = 1; i < 4; ++i) {
    drop_from_nvml(machine, i);
    machine.nodes[static_cast<std::size_t>(i)].open_error = "EPERM";
  }
  machine.nvidia.cuda_device_count = 1;
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.nodes[0].open_error = "EPERM";
  const auto findings = diagnose(machine);
  EXPECT_EQ(findings.at(0).id, "cgroup-revoked");
  EXPECT_EQ(findings.at(0).command, "srun --gpus=1 PROGRAM");
}

TEST(Causes, NodesForAdministratorsAreNotMissed) {
  auto machine = healthy();
  machine.nodes.push_back(node_at("/dev/nvidia-caps/nvidia-cap1"));
  machine.nodes.back().open_error = "EACCES";
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.nodes[0].open_error = "EACCES";
  EXPECT_EQ(ids(diagnose(machine)), Ids{"device-node-permission"});
}

TEST(Causes, UnbridgedGpuBesideABridgedPairIsHealthy) {
  auto machine = healthy(3);
  for (auto& gpu : machine.gpus)
    for (int link = 0; link < 4; ++link) gpu.nvlinks.push_back(link_at(link, gpu.index < 2));
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

TEST(Causes, LinkInAVirtualMachineIsToldAsUnknown) {
  auto machine = healthy();
  machine.gpus[0].link_now.width = machine.pci[0].link_now.width = 8;
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::warning);
  machine.system.hypervisor = "kvm";
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::info);
}

TEST(Causes, ToolkitsAreHeldAgainstTheDriver) {
  const auto severity = [](const char* toolkit, const char* driver) -> std::optional<Severity> {
    auto machine = healthy();
    machine.nvidia.cuda_version = driver;
    machine.toolkits.push_back({"cuda", toolkit, "/usr/local/cuda", true, {}});
    const auto findings = diagnose(machine);
    if (findings.empty()) return std::nullopt;
    EXPECT_EQ(findings[0].id, "toolkit-newer-than-driver");
    return findings[0].severity;
  };
  EXPECT_EQ(severity("13.2.0", "12.2"), Severity::warning);
  EXPECT_EQ(severity("12.9.1", "12.2"), Severity::info);   // minor versions are compatible
  EXPECT_EQ(severity("10.2", "10.1"), Severity::warning);  // they were not yet
  EXPECT_EQ(severity("12.2.2", "12.2"), std::nullopt);
  EXPECT_EQ(severity("11.8.0", "13.0"), std::nullopt);
}

TEST(Causes, OneFittingToolkitOfSeveralIsEnough) {
  auto machine = healthy();
  machine.nvidia.cuda_version = "12.2";
  machine.toolkits.push_back({"cuda", "13.2.0", "/usr/local/cuda-13.2", false, {}});
  machine.toolkits.push_back({"cuda", "12.1.0", "/usr/local/cuda-12.1", false, {}});
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.toolkits[0].on_path = true;
  EXPECT_EQ(ids(diagnose(machine)), Ids{"toolkit-newer-than-driver"});
}

TEST(Facts, OverriddenTargets) {
  Machine machine;
  for (const auto& [value, target] :
       std::vector<std::pair<std::string, std::string>>{{"10.3.0", "gfx1030"},
                                                        {"9.0.10", "gfx90a"},
                                                        {"9.4.2", "gfx942"},
                                                        {"11.5.1", "gfx1151"}}) {
    machine.visibility.hsa_override_gfx_version = value;
    EXPECT_EQ(doctor::override_target(machine), target);
  }
  for (const auto* value : {"", "10.3", "gfx1030", "10.3.99"}) {
    machine.visibility.hsa_override_gfx_version = value;
    EXPECT_EQ(doctor::override_target(machine), std::nullopt) << value;
  }
}

// NVIDIA's Xid 154 with no action left says that the GPU has recovered from what came before it.
TEST(Facts, AnXidIsPastOnceItsOwnGpuRecoveredAfterIt) {
  const auto state = [](std::initializer_list<std::pair<int, int>> events) {
    auto machine = healthy(2);
    std::size_t fault = 0;
    for (const auto& [code, bus] : events) {
      if (code == 62) fault = machine.kernel_log.xids.size();
      xid(machine, code, bus,
          code == 62 ? "PMU Halt"
                     : "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)");
    }
    return doctor::xid_states(machine).at(fault);
  };
  using doctor::XidState;
  EXPECT_EQ(state({{62, 0x10}}), XidState::present);
  EXPECT_EQ(state({{62, 0x10}, {154, 0x10}}), XidState::past);
  EXPECT_EQ(state({{154, 0x10}, {62, 0x10}}), XidState::present);
  EXPECT_EQ(state({{62, 0x10}, {154, 0x11}}), XidState::present);
}

// The PCI ID Repository's names; a driver's branch of before its chip knows no GPU of it.
TEST(Facts, ADriverKnowsTheGpusOfAChipFromItsBranchOn) {
  constexpr std::uint64_t kNever = 1000;
  for (const auto& [name, from] : {std::pair("GP102 [TITAN X]", std::uint64_t{470}),
                                   {"GV100GL [Tesla V100 SXM2 32GB]", 470},
                                   {"TU102 [GeForce RTX 2080 Ti]", 535},
                                   {"GA100 [A100 SXM4 80GB]", 535},
                                   {"GH100 [H100 SXM5 80GB]", 530},
                                   {"GH100[H100 SXM5 80GB]", 530},
                                   {"GH100 [H100 PCIe]", 530},
                                   {"GH100 [H200 SXM 141GB]", 570},
                                   {"GA102 [GeForce RTX 3090]", kNever}})
    for (const std::uint64_t branch : {from - 1, from}) {
      Machine machine;
      auto& device = machine.pci.emplace_back();
      device.address = address(0x10);
      device.vendor_id = 0x10de;
      device.name = name;
      const auto refusal = "NVRM: is not supported by the NVIDIA " + std::to_string(branch) +
                           ".54.03 driver release.";
      EXPECT_EQ(doctor::driver_knows(machine, device.address, refusal),
                branch == from && from != kNever)
          << name << " " << branch;
    }
}

// drivers/firmware/efi/cper.c: each record has its number on all of its lines.
TEST(Facts, AFirmwaresRecordOfAPcieErrorEndsWithItsNumber) {
  const auto errors = [](std::initializer_list<const char*> lines) {
    Machine machine;
    for (const char* line : lines) log(machine, line);
    return doctor::logged_link_errors(machine);
  };
  constexpr const char* kSeverity = "{1}[Hardware Error]: event severity: recoverable";
  constexpr const char* kSection = "{1}[Hardware Error]:   section_type: PCIe error";
  const auto told = errors({kSeverity, kSection, "{1}[Hardware Error]:   device_id: 0000:61:00.0"});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.begin()->first, std::pair(address(0x61), doctor::Gravity::nonfatal));
  EXPECT_TRUE(
      errors({kSeverity, kSection, "{2}[Hardware Error]:   device_id: 0000:61:00.0"}).empty());
  EXPECT_TRUE(errors({kSeverity, "{2}[Hardware Error]:   section_type: PCIe error",
                      "{2}[Hardware Error]:   device_id: 0000:61:00.0"})
                  .empty());
}

TEST(Causes, LinkGenerationAtIdleIsNoSign) {
  auto machine = healthy();
  machine.gpus[0].link_now = machine.pci[0].link_now = {1, 16};
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

// Linux, drivers/pci/pcie/aer.c.
TEST(Causes, AFatalLinkErrorIsOfTheGpusBelowThePlace) {
  const auto hit = [](const char* line) {
    auto machine = healthy(3);
    machine.pci[1].path = {address(0x0f), address(0x11)};
    machine.pci[2].is_gpu = false;  // a function of another kind below the same port
    machine.pci[2].path = {address(0x0f), address(0x12)};
    fail_nvml(machine, 999, "NVML_ERROR_UNKNOWN");
    log(machine, line);
    for (const auto& finding : diagnose(machine))
      if (finding.id == "pcie-fatal-error") return finding.gpus;
    return std::vector<int>();
  };
  constexpr const char* kOwn =
      "nvidia 0000:10:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
      "(Requester ID)";
  constexpr const char* kPort =
      "pcieport 0000:0f:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer, "
      "(Receiver ID)";
  constexpr const char* kOther =
      "nvme 0000:12:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
      "(Requester ID)";
  EXPECT_EQ(hit(kOwn), std::vector{0});
  EXPECT_EQ(hit(kPort), std::vector{1});
  EXPECT_EQ(hit(kOther), std::vector<int>());
}

// Linux, kernel/dma/swiotlb.c.
TEST(Causes, AFullBounceBufferIsOfTheGpuThatItsLinesNameSinceTheDriversLoad) {
  const auto quotes = [](std::initializer_list<const char*> lines) {
    auto machine = healthy(2);
    for (const char* line : lines) log(machine, line);
    std::size_t quoted = 0;
    for (const auto& finding : diagnose(machine)) {
      if (finding.id != "bounce-buffer-full") continue;
      EXPECT_EQ(finding.gpus, std::vector{0});
      quoted += finding.evidence.size();
    }
    return quoted;
  };
  constexpr const char *kFull = "nvidia 0000:10:00.0: swiotlb buffer is full (sz: 65536 bytes)",
                       *kOther = "nvme 0000:20:00.0: swiotlb buffer is full (sz: 65536 bytes)",
                       *kFormer = "amdgpu 0000:10:00.0: swiotlb buffer is full (sz: 65536 bytes)",
                       *kLoads =
                           "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05";
  EXPECT_EQ(quotes({kFull}), 1u);
  EXPECT_EQ(quotes({kFull, kFull, kFull}), 2u);
  EXPECT_EQ(quotes({kOther}), 0u);
  EXPECT_EQ(quotes({kFormer}), 0u);
  EXPECT_EQ(quotes({kFull, kLoads}), 0u);
  EXPECT_EQ(quotes({kFull, kLoads, kFull}), 1u);
}

TEST(Causes, AGpuThatIsRefusedWhereAnEqualOneWorksIsDamagedLockedOrAShare) {
  constexpr std::string_view kTitle =
      "The driver does not recognise a GPU of a kind that it supports";
  const auto told = [](const char* refusal, bool equal, std::optional<std::string> hypervisor) {
    auto machine = healthy(2);
    drop_from_nvml(machine, 0);
    machine.gpus[0].compute_capability = "9.0";
    machine.system.hypervisor = std::move(hypervisor);
    if (!equal) machine.pci[1].device_id = 0x20b0;
    log(machine, refusal);
    log(machine, "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x22:0x56:884)");
    for (const auto& finding : diagnose(machine))
      if (finding.id == "gpu-init-failed") return finding;
    return Finding{};
  };
  constexpr const char* kOwn =
      "NVRM: The NVIDIA GPU 0000:10:00.0 (PCI ID: 10de:2330) installed in this system is not "
      "supported by the NVIDIA 580.95.05 driver release.";
  constexpr const char* kOther =
      "NVRM: The NVIDIA GPU 0000:20:00.0 (PCI ID: 10de:2330) installed in this system is not "
      "supported by the NVIDIA 580.95.05 driver release.";
  constexpr const char* kNobodys =
      "NVRM: The NVIDIA GPU installed in this system is not supported by the NVIDIA driver.";
  auto finding = told(kOwn, true, {});
  EXPECT_EQ(finding.title, kTitle);
  EXPECT_EQ(finding.evidence.at(0).quote, kOwn);
  EXPECT_NE(finding.action, Action::ask_host);
  finding = told(kOwn, true, "kvm");
  EXPECT_EQ(finding.action, Action::ask_host);
  EXPECT_TRUE(finding.cure->starts_with("Have the host's operator reset or replace this GPU"));
  EXPECT_NE(told(kOwn, false, {}).title, kTitle);
  EXPECT_NE(told(kOther, true, {}).title, kTitle);
  EXPECT_NE(told(kNobodys, true, {}).title, kTitle);
}

// CUresult 2 is CUDA_ERROR_OUT_OF_MEMORY.
TEST(Causes, InWslALackOfMemoryAtTheStartOfCudaIsALimitOfTheCountOfGpus) {
  constexpr std::string_view kTitle = "CUDA does not start with all GPUs of this machine in WSL 2";
  const auto told = [](int code, int gpus, bool wsl = true) {
    auto machine = healthy(gpus);
    fail_cuda(machine, code, "CUDA_ERROR");
    machine.system.wsl2 = wsl;
    for (auto& library : machine.nvidia.libraries)
      library.path = "/usr/lib/wsl/lib/" + library.name, library.real_path.reset();
    const auto findings = diagnose(machine);
    EXPECT_EQ(ids(findings), Ids{"cuda-start-failed"});
    return findings.at(0);
  };
  EXPECT_EQ(told(2, 4).title, kTitle);
  EXPECT_EQ(told(2, 4).command, "export CUDA_VISIBLE_DEVICES=0,1,2");
  EXPECT_EQ(told(2, 2).command, "export CUDA_VISIBLE_DEVICES=0");
  EXPECT_NE(told(2, 1).title, kTitle);
  EXPECT_NE(told(2, 4, false).title, kTitle);
  EXPECT_NE(told(3, 4).title, kTitle);
}

TEST(Causes, SlotWithFewerLanesIsNoFault) {
  auto machine = healthy();
  machine.gpus[0].link_now = machine.pci[0].link_now = {4, 8};
  machine.pci[0].port_link_now = machine.pci[0].port_link_max = {4, 8};
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.pci[0].port_link_max.width = 16;
  EXPECT_EQ(ids(diagnose(machine)), Ids{"pcie-link-degraded"});
}

TEST(Causes, PortOfAVirtualMachineThatClaimsLessIsLeftAside) {
  auto machine = healthy();
  machine.pci[0].port_link_now = machine.pci[0].port_link_max = {1, 1};
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

TEST(Causes, ContainerWithSomeOfTheHostsGpusIsHealthy) {
  auto machine = healthy(4);
  machine.container.runtime = "docker";
  for (int i = 1; i < 4; ++i) {
    drop_from_nvml(machine, i);
    machine.nodes[static_cast<std::size_t>(i)].exists = false;
  }
  machine.nvidia.cuda_device_count = 1;
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

TEST(Causes, NvlinksOfABridgedPairMayBePartlyUnused) {
  auto machine = healthy(2);
  for (auto& gpu : machine.gpus)
    for (int link = 0; link < 6; ++link) gpu.nvlinks.push_back(link_at(link, link < 4));
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.gpus[1].nvlinks[0].up = false;
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"nvlink-down"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{1});
}

TEST(Causes, NvlinksAreComparedWithThePeersAtTheirOtherEnds) {
  auto machine = healthy(4);  // two pairs; the second is bridged by more links
  for (auto& gpu : machine.gpus)
    for (int link = 0; link < 6; ++link) {
      gpu.nvlinks.push_back(link_at(link, gpu.index > 1 || link < 4));
      if (*gpu.nvlinks.back().up) gpu.nvlinks.back().remote = address(0x10 + (gpu.index ^ 1));
    }
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.gpus[2].nvlinks[5].up = false;
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"nvlink-down"});
  EXPECT_EQ(findings[0].gpus, std::vector<int>{2});
}

TEST(Causes, ARejectedModuleIsBlamedForTheGpusWithoutADriver) {
  auto machine = healthy(2);
  machine.nvidia.module_loaded = machine.nvidia.uvm_loaded = false;
  machine.pci[0].driver = "vfio-pci";
  machine.pci[1].driver.reset();
  for (int i = 0; i < 2; ++i) drop_from_nvml(machine, i);
  log(machine, "Loading of unsigned module is rejected");
  std::vector<int> blamed;
  for (const auto& finding : diagnose(machine))
    if (finding.id == "module-rejected") blamed = finding.gpus;
  EXPECT_EQ(blamed, std::vector<int>{1});
}

TEST(Causes, ForwardCompatibilityIsNoMismatch) {
  auto machine = healthy();
  auto& cuda = machine.nvidia.libraries[0];
  cuda.path = "/usr/local/cuda/compat/libcuda.so.1";
  cuda.real_path = "/usr/local/cuda/compat/libcuda.so.590.44.01";
  cuda.version = "590.44.01";
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
}

// What another installation put before the system's own libraries is taken away; what an update of
// the system brought fits the module after a reboot.
TEST(Causes, AnotherCopyBeforeTheFittingOneIsToBeRemovedUnlessItIsTheSystemsOwn) {
  for (const auto& [folder, removed] : {std::pair("/opt/driver/lib/", true),
                                        {"/home/user/lib/", true},
                                        {"/usr/local/lib/", true},
                                        {"/usr/lib/x86_64-linux-gnu/", false},
                                        {"/usr/lib64/", false},
                                        {"/lib/x86_64-linux-gnu/", false},
                                        {"/lib64/", false}}) {
    auto machine = healthy();
    fail_nvml(machine, 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH");
    auto& libraries = machine.nvidia.libraries;
    libraries.push_back(libraries[0]);
    const std::string path = folder;
    libraries[0] = {"libcuda.so.1", path + "libcuda.so.1", path + "libcuda.so.570.86.15",
                    "570.86.15"};
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "driver-library-mismatch", &Finding::id);
    ASSERT_NE(found, findings.end()) << folder;
    EXPECT_EQ(contains(found->explanation, "another installation"), removed) << folder;
    EXPECT_EQ(found->command == "unset LD_LIBRARY_PATH", removed) << folder;
  }
}

std::vector<std::string> sources(const Finding& finding) {
  std::vector<std::string> all;
  for (const auto& item : finding.evidence) all.push_back(item.source);
  return all;
}

TEST(Causes, ExclusiveModeIsAFindingOnlyWhileSomebodyHoldsTheGpu) {
  auto machine = healthy();
  machine.gpus[0].compute_mode = "exclusive_process";
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  machine.gpus[0].processes.push_back({4242, "trainer", std::nullopt, "graphics"});
  machine.gpus[0].processes.push_back({4243, "nvidia-cuda-mps-server", std::nullopt, "compute"});
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  const ApiStatus busy{"cuCtxCreate_v2()", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE"};
  machine.gpus[0].errors = {busy};  // by a process that is not listed
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::error);
  EXPECT_EQ(sources(diagnose(machine).at(0)),
            (std::vector<std::string>{"nvmlDeviceGetComputeMode", "cuCtxCreate_v2()"}));
  machine.gpus[0].errors.clear();
  machine.gpus[0].processes.push_back({4242, "trainer", std::nullopt, "compute"});
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"compute-mode"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
  EXPECT_EQ(findings[0].evidence.back().quote, "process 4242 trainer");
  machine.gpus[0].compute_mode = "prohibited";
  machine.gpus[0].processes.clear();
  EXPECT_EQ(diagnose(machine).at(0).title, "The GPU's compute mode forbids all work");
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::error);
}

TEST(Causes, ChosenGpusAreInfoAndAWrongNameIsAWarning) {
  auto machine = healthy(4);
  machine.visibility.cuda_visible_devices = "0,1";
  machine.nvidia.cuda_device_count = 2;
  for (int i = 2; i < 4; ++i) machine.gpus[static_cast<std::size_t>(i)].visible_to_cuda = false;
  auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"hidden-by-variable"});
  EXPECT_EQ(findings[0].severity, Severity::info);
  EXPECT_EQ(findings[0].gpus, (std::vector{2, 3}));
  machine.visibility.cuda_visible_devices = "0,1,9,3";
  findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"hidden-by-variable"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
}

// ROCm counts from 0 and ends at the first entry that it does not know.
TEST(Causes, RocmEndsAtANumberThatNoGpuHas) {
  auto machine = healthy(2);
  machine.nvidia = {};
  for (auto& gpu : machine.gpus) {
    gpu.vendor = Vendor::amd;
    gpu.driver = "amdgpu";
  }
  const auto title = [&](const char* variable) {
    machine.visibility.rocr_visible_devices = variable;
    for (const auto& finding : diagnose(machine))
      if (finding.id == "hidden-by-variable") return finding.title;
    return std::string();
  };
  EXPECT_EQ(title("0,1"), "");
  EXPECT_EQ(title("1,2"), "ROCR_VISIBLE_DEVICES shows 1 of 2 AMD GPUs");
  EXPECT_EQ(title("2,0"), "ROCR_VISIBLE_DEVICES hides every AMD GPU");
}

TEST(Causes, XidOfAnApplicationIsInfoAndARepeatIsCounted) {
  auto machine = healthy();
  for (int i = 0; i < 3; ++i) xid(machine, 31, 0x10, "pid=77, name=python, MMU Fault");
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"xid-31"});
  EXPECT_EQ(findings[0].severity, Severity::info);
  ASSERT_EQ(findings[0].evidence.size(), 2u);
  EXPECT_TRUE(findings[0].evidence[1].quote.starts_with("3 times"));
}

TEST(Causes, UnknownXidIsToldAsUnknown) {
  auto machine = healthy();
  xid(machine, 9999, 0x10, "something new");
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"xid-9999"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
}

TEST(Causes, UvmIsBlamedOnlyWhenNvmlStarts) {
  auto machine = healthy();
  fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
  machine.nvidia.uvm_loaded = false;
  EXPECT_EQ(ids(diagnose(machine)), Ids{"uvm-missing"});
  fail_nvml(machine, 9, "NVML_ERROR_DRIVER_NOT_LOADED");
  EXPECT_NE(ids(diagnose(machine)), Ids{"uvm-missing"});
}

TEST(Causes, DeviceCodeThatDidNotLoadIsExplained) {
  for (const auto& [code, id] : std::vector<std::pair<int, std::string>>{
           {222, "ptx-too-new"}, {209, "no-code-for-architecture"}, {221, "ptx-jit-missing"}}) {
    auto machine = healthy();
    machine.gpus[0].errors.push_back({"cuModuleLoadDataEx()", code, "CUDA_ERROR"});
    const auto findings = diagnose(machine);
    EXPECT_EQ(ids(findings), Ids{id});
    EXPECT_EQ(ids(findings.at(0).explains), Ids{"gpu-call-failed"});
  }
}

// The board's store of counts does not keep the GPU from working: no reset is asked for.
TEST(Causes, ACorruptInforomIsNoFailedCall) {
  auto machine = healthy();
  const ApiStatus corrupt{"nvmlDeviceValidateInforom(0)", 14, "NVML_ERROR_CORRUPTED_INFOROM"};
  machine.gpus[0].errors = {corrupt};
  auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"inforom-corrupt"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
  EXPECT_EQ(findings[0].action, Action::replace);
  EXPECT_TRUE(findings[0].explains.empty());
  machine.gpus[0].errors = {corrupt, {"nvmlDeviceGetPowerUsage(0)", 999, "NVML_ERROR_UNKNOWN"}};
  findings = diagnose(machine);
  ASSERT_EQ(ids(findings), (Ids{"gpu-call-failed", "inforom-corrupt"}));
  EXPECT_EQ(findings[0].action, Action::reset_gpu);
  EXPECT_EQ(findings[0].command, "nvidia-smi --gpu-reset -i 0000:10:00.0");
}

TEST(Causes, BusyGpuSaysWhoHoldsIt) {
  auto machine = healthy();
  machine.gpus[0].errors.push_back(
      {"cuDevicePrimaryCtxRetain()", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE"});
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"compute-mode"});
  EXPECT_EQ(findings[0].severity, Severity::error);
}

TEST(Facts, AddressesAreFoundAsTheDriverPrintsThem) {
  const PciAddress expected = address(0x17);
  for (const auto* text : {"NVRM: Xid (PCI:0000:17:00): 79, x", "GPU 0000:17:00.0: RmInitAdapter",
                           "BAR1 is 0M @ 0x0 (PCI:0000:17:00.0)", "GPU 00000000:17:00.0 x"})
    EXPECT_EQ(doctor::pci_address_in(text), expected) << text;
  EXPECT_EQ(doctor::pci_address_in("failed! (0x62:0x40:2168)"), std::nullopt);
  EXPECT_EQ(doctor::pci_address_in("device 1002:67df, PCI rejects"), std::nullopt);
  EXPECT_EQ(doctor::pci_address_in("dead:beef:"), std::nullopt);
}

TEST(Causes, UvmIsBlamedOnlyWhereTheModuleIsUsed) {
  for (const bool jetson : {false, true}) {
    auto machine = healthy();
    fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
    machine.nvidia.uvm_loaded = false;
    (jetson ? machine.system.jetson_release.emplace("R36")
            : (machine.system.wsl2 = true, std::string()));
    const auto all = ids(diagnose(machine));
    EXPECT_EQ(std::ranges::count(all, "uvm-missing"), 0) << jetson;
  }
}

TEST(Causes, VersionsDifferOnWsl2ByDesign) {
  auto machine = healthy();
  machine.nvidia.libraries[0].version = "590.44.01";
  fail_nvml(machine, 9, "NVML_ERROR_DRIVER_NOT_LOADED");
  const auto mismatch = [&] {
    for (const auto& finding : diagnose(machine)) {
      const auto folded = ids(finding.explains);
      if (finding.id == "driver-library-mismatch" ||
          std::ranges::count(folded, "driver-library-mismatch") > 0)
        return true;
    }
    return false;
  };
  EXPECT_TRUE(mismatch());
  machine.system.wsl2 = true;
  EXPECT_FALSE(mismatch());
}

// The host of WSL 2 cannot be asked whether it has a GPU: a toolkit says that one is wanted.
TEST(Causes, AContainerInWsl2WithAToolkitWantsItsGpu) {
  Machine machine;
  machine.system.wsl2 = true;
  machine.container.runtime = "docker";
  EXPECT_EQ(ids(diagnose(machine)), Ids{});
  auto& toolkit = machine.toolkits.emplace_back();
  toolkit.kind = "cuda";
  toolkit.version = "12.4";
  auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"wsl-driver-missing"});
  EXPECT_EQ(findings[0].severity, Severity::warning);  // its work may need none
  EXPECT_EQ(findings[0].command, "docker run --gpus all IMAGE");
  machine.visibility.nvidia_visible_devices = "all";
  findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"wsl-driver-missing"});
  EXPECT_EQ(findings[0].severity, Severity::error);
}

// Slurm says so to a job that asked for no GPU.
TEST(Causes, AJobWithoutGpusAsksSlurm) {
  auto machine = healthy();
  fail_cuda(machine, 100, "CUDA_ERROR_NO_DEVICE");
  machine.visibility.cuda_visible_devices = "NoDevFiles";
  const auto findings = diagnose(machine);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].title, "Slurm gave this job no GPU");
  EXPECT_EQ(findings[0].command, "srun --gpus=1 PROGRAM");
}

// MPS that is full serves others, and needs no other daemon.
TEST(Causes, AFullMpsServerIsWaitedFor) {
  auto machine = healthy();
  fail_cuda(machine, 808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED");
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"mps-unreachable"});
  EXPECT_EQ(findings[0].action, Action::check_again);
}

// A container's pipes come from its launch; a full server needs no other launch.
TEST(Causes, AnMpsThatAContainerDoesNotReachIsForItsLaunch) {
  const CureTerms at_launch = {CureRisk::ends_processes, CurePlace::launcher, CureNeeds::nothing};
  const auto terms = [](int code, bool container) {
    auto machine = healthy();
    if (container) machine.container.runtime = "docker";
    fail_cuda(machine, code, "CUDA_ERROR_MPS");
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "mps-unreachable", &Finding::id);
    return found == findings.end() ? std::nullopt : found->terms;
  };
  EXPECT_EQ(terms(805, true), at_launch);
  ASSERT_TRUE(terms(805, false) && terms(808, true));
  EXPECT_NE(terms(805, false), at_launch);
  EXPECT_NE(terms(808, true), at_launch);
}

// Contexts that a vGPU without licence refuses look like those of a GPU that others hold.
TEST(Causes, AnUnlicensedVirtualGpuIsNotHeldByOthers) {
  auto machine = healthy();
  machine.gpus[0].errors = {{"cuCtxCreate_v2()", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}};
  EXPECT_EQ(ids(diagnose(machine)), Ids{"compute-mode"});
  machine.gpus[0].virtualization = "vgpu";
  machine.gpus[0].vgpu_license = "unlicensed";
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"vgpu-unlicensed"});
  EXPECT_EQ(findings[0].severity, Severity::error);
}

// By its answer (34: CUDA_ERROR_STUB_LIBRARY) or by its path.
TEST(Causes, EitherSignOfAStubIsEnough) {
  auto by_answer = healthy(), by_path = healthy();
  fail_cuda(by_answer, 34, "CUDA_ERROR_STUB_LIBRARY");
  by_path.nvidia.libraries[0].real_path = "/usr/local/cuda/lib64/stubs/libcuda.so";
  EXPECT_EQ(ids(diagnose(by_answer)), Ids{"stub-library"});
  EXPECT_EQ(ids(diagnose(by_path)), Ids{"stub-library"});
}

TEST(Causes, AVariableThatHidesEveryGpuIsNoChoiceOfSome) {
  auto machine = healthy(2);
  machine.visibility.cuda_visible_devices = "";
  machine.nvidia.cuda_device_count = 0;
  for (auto& gpu : machine.gpus) gpu.visible_to_cuda = false;
  const auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"hidden-by-variable"});
  EXPECT_EQ(findings[0].severity, Severity::error);
}

Machine amd_machine(const std::string& target) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.gpus[0].vendor = Vendor::amd;
  machine.gpus[0].driver = "amdgpu";
  machine.gpus[0].gfx_target = target;
  return machine;
}

TEST(Causes, AnotherTargetOfTheSameGenerationIsInfoAndStaysWhereOnlyItsCodeIsInstalled) {
  struct Row {
    const char* value;
    std::vector<std::string> targets;
    Severity severity;
    bool stays;
  };
  for (const auto& [value, targets, severity, stays] : std::initializer_list<Row>{
           {"10.3.0", {"gfx1030", "gfx90a"}, Severity::info, true},
           {"10.3.0", {"gfx1030", "gfx1031"}, Severity::info, false},  // it needs no setting
           {"10.3.0", {"gfx90a"}, Severity::info, false},
           {"10.3.0", {}, Severity::info, false},
           {"11.0.0", {"gfx1100"}, Severity::warning, false},
           {"11.0.0", {}, Severity::warning, false}}) {
    auto machine = amd_machine("gfx1031");
    machine.amd.rocblas_targets = targets;
    machine.visibility.hsa_override_gfx_version = value;
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "gfx-override", &Finding::id);
    ASSERT_NE(found, findings.end()) << value;
    EXPECT_EQ(found->severity, severity) << value;
    EXPECT_EQ(found->cure.value_or("").starts_with("Leave it so"), stays)
        << value << " " << join(targets, ", ");
    EXPECT_EQ(found->command.has_value(), !stays) << value << " " << join(targets, ", ");
  }
}

TEST(Causes, AnOverriddenTargetIsOfTheGpusOfAmdThatHaveAnother) {
  auto machine = healthy(4);
  machine.nvidia = {};
  for (std::size_t i = 0; i < 3; ++i) {
    machine.gpus[i].vendor = Vendor::amd;
    machine.gpus[i].driver = machine.pci[i].driver = "amdgpu";
    machine.pci[i].vendor_id = 0x1002;
  }
  machine.gpus[0].gfx_target = "gfx1100";
  machine.gpus[1].gfx_target = "gfx1031:xnack-";  // the third of AMD is not known
  machine.gpus[3].gfx_target = "gfx1031";         // another vendor's
  machine.visibility.hsa_override_gfx_version = "11.0.0";
  const auto findings = diagnose(machine);
  const auto found = std::ranges::find(findings, "gfx-override", &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->gpus, std::vector<int>{1});
}

// AMD's "User and kernel-space support matrix": a driver of up to two releases before ROCm's. After
// 6.4 came 7.0.
TEST(Causes, RocmRunsWithADriverOfUpToTwoReleasesBefore) {
  struct Row {
    const char *rocm, *module;
    bool too_new;
  };
  for (const auto& [rocm, module, too_new] :
       std::initializer_list<Row>{{"6.2", "6.3.6", false},  // of ROCm 6.0
                                  {"6.2.4", "6.3.6", false},
                                  {"6.3", "6.3.6", true},
                                  {"6.3.1", "6.3.6", true},
                                  {"6.0", "6.10.5", false},  // of ROCm 6.3, the newer one
                                  {"7.0", "6.10.5", false},
                                  {"7.1.0", "6.10.5", true},
                                  {"7.0", "6.8.5", true},        // of ROCm 6.2
                                  {"7.1", "6.12.12", false}}) {  // of ROCm 6.4
    auto machine = amd_machine("gfx90a");
    machine.amd.rocm_version = rocm;
    machine.amd.module_version = module;
    machine.amd.start = ApiStatus{"hsa_init()", 4104, "HSA_STATUS_ERROR_OUT_OF_RESOURCES"};
    const auto found = ids(diagnose(machine));
    EXPECT_EQ(std::ranges::count(found, "rocm-newer-than-driver"), too_new)
        << rocm << " " << module;
  }
}

bool tells(const std::vector<Finding>& findings, std::string_view id) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.id == id || tells(finding.explains, id);
  });
}

// A start that could not open /dev/kfd tells nothing of versions. amdgpu of the kernel itself has
// no version: there a start that hangs is the sign, and one that is refused none.
TEST(Causes, OnlyAStartThatHungOrWasRefusedIsBlamedOnRocmsVersion) {
  const auto blamed = [](const char* outcome, int code, const char* module, bool kfd_opens = true) {
    auto machine = amd_machine("gfx90a");
    machine.amd.rocm_version = "7.1";
    if (*outcome != '\0') machine.amd.outcome = outcome;
    if (code >= 0) machine.amd.start = ApiStatus{"hsa_init()", code, "HSA_STATUS"};
    if (*module != '\0') machine.amd.module_version = module;
    machine.nodes.push_back(node_at("/dev/kfd"));
    machine.nodes.back().openable = kfd_opens;
    return tells(diagnose(machine), "rocm-newer-than-driver");
  };
  constexpr int kNone = -1, kOk = 0, kRefused = 4104;
  constexpr const char *kOld = "6.3.6", *kNew = "6.12.12", *kUnknown = "";
  EXPECT_FALSE(blamed("completed", kOk, kOld));
  EXPECT_FALSE(blamed("", kNone, kOld));
  EXPECT_TRUE(blamed("completed", kRefused, kOld));
  EXPECT_FALSE(blamed("completed", kRefused, kOld, false));
  EXPECT_FALSE(blamed("completed", kRefused, kNew));
  EXPECT_FALSE(blamed("completed", kRefused, kUnknown));
  for (const char* stuck : {"hung", "timed_out"}) {
    EXPECT_TRUE(blamed(stuck, kNone, kOld)) << stuck;
    EXPECT_TRUE(blamed(stuck, kNone, kOld, false)) << stuck;
    EXPECT_FALSE(blamed(stuck, kNone, kNew)) << stuck;
    EXPECT_TRUE(blamed(stuck, kNone, kUnknown)) << stuck;
  }
  auto machine = healthy();
  machine.amd.rocm_version = "7.1";
  machine.amd.outcome = "hung";
  EXPECT_FALSE(tells(diagnose(machine), "rocm-newer-than-driver")) << "no GPU of AMD is here";
}

TEST(Causes, AFailedStartIsTheFabricsUnlessConfidentialComputingWaits) {
  auto machine = healthy();
  fail_cuda(machine, 802, "CUDA_ERROR_SYSTEM_NOT_READY");
  machine.gpus[0].confidential_compute_ready = false;
  EXPECT_EQ(ids(diagnose(machine)), Ids{"fabric-not-ready"}) << "it is off";
  machine.gpus[0].confidential_compute = true;
  EXPECT_EQ(ids(diagnose(machine)), Ids{"confidential-compute-not-ready"});
}

TEST(Causes, WhatStopsNvmlAndCudaIsOneFindingWithBothProbes) {
  auto machine = healthy();
  machine.nvidia.nvml_outcome = machine.nvidia.cuda_outcome = "timed_out";
  const auto findings = diagnose(machine);
  ASSERT_FALSE(findings.empty());
  ASSERT_GE(findings[0].evidence.size(), 2u);
  EXPECT_EQ(findings[0].evidence[0].source, "probe of NVML");
  EXPECT_EQ(findings[0].evidence[1].source, "probe of the CUDA driver");
}

TEST(Causes, UncorrectableErrorsOfTheLogAreThoseWithANumber) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.gpus[0].vendor = Vendor::amd;
  machine.gpus[0].driver = machine.pci[0].driver = "amdgpu";
  machine.pci[0].vendor_id = 0x1002;
  const auto told = [&](const char* line) {
    machine.kernel_log.lines.clear();
    log(machine, line);
    return std::ranges::count(ids(diagnose(machine)), "uncorrectable-ecc") > 0;
  };
  EXPECT_TRUE(
      told("amdgpu 0000:10:00.0: amdgpu: 2 new uncorrectable hardware errors detected in "
           "umc block"));
  EXPECT_TRUE(
      told("amdgpu 0000:10:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc "
           "block"));
  EXPECT_FALSE(
      told("amdgpu 0000:10:00.0: amdgpu: 0 new uncorrectable hardware errors detected in "
           "umc block"));
  EXPECT_FALSE(
      told("amdgpu 0000:10:00.0: amdgpu: 2 are no uncorrectable hardware errors detected"));
}

TEST(Causes, CudasVariableHidesNoIntelGpu) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.nvidia.cuda_start = ApiStatus{"cuInit(0)", 100, "CUDA_ERROR_NO_DEVICE"};
  machine.gpus[0].vendor = Vendor::intel;
  machine.gpus[0].driver = machine.pci[0].driver = "xe";
  machine.pci[0].vendor_id = 0x8086;
  machine.visibility.cuda_visible_devices = "";
  EXPECT_EQ(std::ranges::count(ids(diagnose(machine)), "hidden-by-variable"), 0);
}

TEST(Causes, OfManyLinksOfASwitchTheFirstEightAreNamed) {
  for (const int count : {1, 8, 10}) {
    auto machine = healthy();
    for (int link = 0; link < count; ++link)
      log(machine, "nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 12028, Non-fatal, Link " +
                       std::to_string(link) + " egress non-posted PRIV error (First)");
    const auto findings = diagnose(machine);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_TRUE(findings[0].title.ends_with(
        count == 1   ? "error on link 0"
        : count == 8 ? "error on links 0, 1, 2, 3, 4, 5, 6, 7"
                     : "error on links 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"))
        << findings[0].title;
  }
}

TEST(Causes, OfManyMissingNodesTheFirstIsNamedAndTheOthersCounted) {
  for (const int count : {3, 4}) {
    auto machine = healthy(count);
    for (int i = 0; i < count; ++i) {
      machine.nodes[static_cast<std::size_t>(i)].exists = false;
      drop_from_nvml(machine, i);
    }
    const auto findings = diagnose(machine);
    ASSERT_FALSE(findings.empty());
    EXPECT_TRUE(contains(findings[0].explanation,
                         count == 3 ? "without /dev/nvidia0, /dev/nvidia1, /dev/nvidia2."
                                    : "without /dev/nvidia0 and 3 more."))
        << findings[0].explanation;
  }
}

// microsoft/WSL2-Linux-Kernel, drivers/hv/dxgkrnl: the driver makes /dev/dxg.
TEST(Causes, AContainerIsToldToTakeAPartitionOnlyWhereItsDriverRuns) {
  const auto title = [](std::optional<std::string> driver, std::optional<std::string> runtime) {
    Machine machine;
    machine.full = machine.kernel_log.readable = true;
    machine.container.runtime = std::move(runtime);
    auto& device = machine.pci.emplace_back();
    device.vendor_id = 0x1414;
    device.device_id = 0x008e;
    device.driver = std::move(driver);
    for (const auto& finding : diagnose(machine))
      if (finding.id == "gpu-partition-unusable") return finding.title;
    return std::string();
  };
  const std::string no_driver = "Hyper-V gives this machine a GPU partition, and no driver runs it";
  EXPECT_EQ(title("dxgkrnl", "docker"), "The container was not given the GPU partition");
  EXPECT_EQ(title("dxgkrnl", std::nullopt), no_driver);
  EXPECT_EQ(title(std::nullopt, "docker"), no_driver);
  EXPECT_EQ(title("vfio-pci", "docker"), no_driver);
  EXPECT_EQ(title(std::nullopt, std::nullopt), no_driver);
}

// Linux, drivers/pci/hotplug/pciehp_ctrl.c. A line of a driver that is not loaded is from another
// time.
TEST(Causes, ASlotWhoseLinkWentDownLostTheGpuThatALoadedDriverNamed) {
  for (const char* line : {"nvidia 0000:11:00.0: enabling device (0000 -> 0003)",
                           "NVRM: GPU at PCI:0000:11:00: GPU-0000",
                           "[drm] Initialized nvidia-drm 0.0.0 for 0000:11:00.0 on minor 1"})
    for (const bool loaded : {true, false}) {
      auto machine = healthy(2);
      drop_from_nvml(machine, 1);
      machine.pci.pop_back();
      machine.gpus.pop_back();
      machine.nvidia.module_loaded = loaded;
      log(machine, line);
      log(machine, "pcieport 0000:0f:01.0: pciehp: Slot(7): Link Down");
      const bool of_driver = !std::string_view(line).starts_with("[drm]");
      EXPECT_EQ(std::ranges::count(ids(diagnose(machine)), "off-the-bus"), loaded || !of_driver)
          << line << loaded;
    }
}

// The fields of nvml.h's NVML_GPU_FABRIC_HEALTH_MASK_*; 2 is "false" in those of two bits.
TEST(Causes, EachFieldOfTheFabricsHealthIsRead) {
  struct Row {
    std::uint32_t mask;
    Severity severity;
    std::string_view meaning;
  };
  for (const auto& [mask, severity, meaning] :
       {Row{1, Severity::warning, "degraded bandwidth"},
        {1 << 2, Severity::warning, "a route is being recovered"},
        {1 << 4, Severity::error, "a route is unhealthy"},
        {1 << 6, Severity::error, "access timeout"},
        {2 << 8, Severity::error, "wrong system GUID"},
        {3 << 8, Severity::error, "wrong chassis serial number"},
        {4 << 8, Severity::error, "no partition"},
        {5 << 8, Severity::error, "too few NVLinks"},
        {6 << 8, Severity::error, "firmware does not fit"},
        {7 << 8, Severity::error, "wrong place"},
        {8 << 8, Severity::error, "invalid state"},
        {2 << 12, Severity::error, "no partition of the fabric is assigned"}}) {
    auto machine = healthy();
    machine.gpus[0].fabric.health_mask = mask;
    const auto findings = diagnose(machine);
    ASSERT_EQ(ids(findings), Ids{"fabric-unhealthy"}) << mask;
    EXPECT_EQ(findings[0].severity, severity) << mask;
    ASSERT_EQ(findings[0].evidence.size(), 1u) << mask;
    EXPECT_TRUE(contains(findings[0].evidence[0].quote, meaning)) << findings[0].evidence[0].quote;
  }
  for (const std::uint32_t mask : {0, 2 | 2 << 2 | 2 << 4 | 2 << 6, 1 << 8, 9 << 8, 1 << 12}) {
    auto machine = healthy();
    machine.gpus[0].fabric.health_mask = mask;
    EXPECT_EQ(ids(diagnose(machine)), Ids{}) << mask;
  }
}

TEST(Causes, AnErrorThatNoCounterHasCountsUntilTheReset) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.gpus[0].vendor = Vendor::amd;
  machine.gpus[0].driver = machine.pci[0].driver = "amdgpu";
  machine.pci[0].vendor_id = 0x1002;
  machine.gpus[0].ras_errors["umc_ue"] = 0;
  log(machine,
      "amdgpu 0000:10:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
      "detected!",
      1);
  log(machine, "amdgpu 0000:10:00.0: amdgpu: GPU reset begin!", 2);
  const auto is_told = [&] {
    const auto all = ids(diagnose(machine));
    return std::ranges::count(all, "uncorrectable-ecc") > 0;
  };
  EXPECT_TRUE(is_told());
  log(machine, "amdgpu 0000:10:00.0: amdgpu: GPU reset(3) succeeded!", 3);
  EXPECT_FALSE(is_told());
}

TEST(Causes, ThreeLinesOfMissingFirmwareAreQuoted) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.gpus[0].vendor = Vendor::amd;
  machine.pci[0].vendor_id = 0x1002;
  machine.pci[0].driver.reset();
  machine.gpus[0].driver.reset();
  machine.amd.module_loaded = true;
  for (int i = 0; i < 5; ++i)
    log(machine, "amdgpu 0000:10:00.0: Direct firmware load for amdgpu/x" + std::to_string(i) +
                     ".bin failed with error -2");
  bool found = false;
  for (const auto& finding : diagnose(machine)) {
    if (finding.id != "driver-firmware-missing") continue;
    found = true;
    EXPECT_EQ(finding.evidence.size(), 4u) << "the device and three lines";
  }
  EXPECT_TRUE(found);
}

// One GPU of Intel and its compute runtime.
Machine with_runtime(int device_id, const char* driver, const char* kernel, std::string version) {
  Machine machine;
  machine.full = machine.kernel_log.readable = true;
  machine.system.kernel_release = kernel;
  machine.intel.i915_loaded = machine.intel.xe_loaded = true;
  auto& device = machine.pci.emplace_back();
  device.address = address(0x03);
  device.vendor_id = 0x8086;
  device.device_id = static_cast<std::uint16_t>(device_id);
  device.class_code = 0x030000;
  device.driver = driver;
  device.is_gpu = true;
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::intel;
  gpu.pci = device.address;
  gpu.driver = driver;
  const std::string name = "libze_intel_gpu.so.1";
  if (!version.empty())
    machine.libraries.push_back({name, "/usr/lib64/" + name, std::nullopt, std::move(version)});
  return machine;
}

TEST(Causes, IntelsRuntimeIsBlamedForWhatItCannotUseOnly) {
  const auto told = [](const Machine& machine) { return ids(diagnose(machine)); };
  const Ids unfit{"intel-runtime-unfit"};
  EXPECT_EQ(told(with_runtime(0x56a1, "i915", "6.8.1-arch1-1", "1.3.28202")), unfit);
  EXPECT_EQ(told(with_runtime(0x56a1, "i915", "6.8.1-arch1-1", "1.3.29137")), unfit);
  EXPECT_EQ(told(with_runtime(0x56a1, "i915", "6.8.1-arch1-1", "1.3.29138")), Ids{});
  EXPECT_EQ(told(with_runtime(0x56a1, "i915", "6.8.0-60-generic", "1.3.27642")), Ids{});
  EXPECT_EQ(told(with_runtime(0x9a49, "xe", "6.8.1", "1.3.28202")), Ids{});
  EXPECT_EQ(told(with_runtime(0x56a1, "xe", "6.17.13", "1.14.37020")), unfit) << "DG2 is i915's";
  EXPECT_EQ(told(with_runtime(0x56a1, "xe", "6.17.13", "1.14.37021")), Ids{});
  EXPECT_EQ(told(with_runtime(0x56a1, "xe", "6.17.13", "1.15.39122")), Ids{});
  for (const auto& [device_id, before, first] :
       {std::tuple{0x4680, "1.0.18276", "1.0.18277"}, std::tuple{0x0bda, "1.2.21938", "1.2.21939"},
        std::tuple{0x56a1, "1.2.22130", "1.2.22131"}, std::tuple{0xa780, "1.2.22681", "1.2.22682"},
        std::tuple{0x7d55, "1.3.22889", "1.3.22890"}, std::tuple{0x64a0, "1.3.29137", "1.3.29138"},
        std::tuple{0xe20b, "1.3.29137", "1.3.29138"},
        std::tuple{0xb080, "1.6.31906", "1.6.31907"}}) {
    EXPECT_EQ(told(with_runtime(device_id, "i915", "6.14.0", before)), unfit) << device_id;
    EXPECT_EQ(told(with_runtime(device_id, "i915", "6.14.0", first)), Ids{}) << device_id;
  }
  EXPECT_EQ(told(with_runtime(0xe20b, "xe", "6.14.0", "1.6.35563")), Ids{});
  EXPECT_EQ(told(with_runtime(0xe20b, "xe", "6.14.0", "")), Ids{}) << "nothing is installed";
  EXPECT_EQ(told(with_runtime(0x3e92, "i915", "6.14.0", "1.6.35563")), unfit);
  EXPECT_EQ(told(with_runtime(0x3e92, "i915", "6.14.0", "1.3.30872")), Ids{});
  EXPECT_EQ(told(with_runtime(0x3e92, "i915", "6.14.0", "1.3.30873")), unfit);
  auto both = with_runtime(0x3e92, "i915", "6.14.0", "1.6.35563");
  both.libraries.push_back({"libze_intel_gpu_legacy1.so.1", "/usr/lib64/", {}, "1.3.30872"});
  EXPECT_EQ(told(both), Ids{});
  auto small = with_runtime(0xe20b, "xe", "6.14.0", "1.6.35563");
  small.gpus[0].memory.total_bytes = std::uint64_t{12} << 30;
  small.pci[0].bar_sizes_bytes = {16u << 20, 0, std::uint64_t{16} << 30};
  EXPECT_EQ(told(small), Ids{});
  small.pci[0].bar_sizes_bytes[2] = 256u << 20;
  EXPECT_EQ(told(small), unfit);
  small.libraries[0].version = "1.6.33577";
  EXPECT_EQ(told(small), Ids{});
  small.libraries[0].version = "1.6.33578";
  EXPECT_EQ(told(small), unfit);
}

TEST(Causes, LevelZerosLoaderAloneIsAWarning) {
  auto machine = with_runtime(0x56a1, "i915", "6.14.0", "");
  machine.libraries.push_back({"libze_loader.so.1", "/usr/lib64/libze_loader.so.1", {}, "1.17.6"});
  auto findings = diagnose(machine);
  ASSERT_EQ(ids(findings), Ids{"intel-runtime-unfit"});
  EXPECT_EQ(findings[0].severity, Severity::warning);
  machine.gpus[0].integrated = true;
  EXPECT_EQ(diagnose(machine).at(0).severity, Severity::info);
}

// What the counters of a GPU's function are worth: "" or the finding and its title.
std::string told_of_counters(const PcieErrors& errors, std::optional<std::int64_t> uptime) {
  auto machine = healthy();
  machine.pci[0].errors = errors;
  machine.system.uptime_seconds = uptime;
  std::string text;
  for (const auto& finding : diagnose(machine)) text += finding.id + ": " + finding.title;
  return text;
}

TEST(Causes, OneUncorrectedErrorOfTheCountersIsTold) {
  const std::string fatal =
      "pcie-fatal-error: A fatal PCI Express error hit the GPU's link since boot";
  const std::string lesser = "pcie-errors: PCI Express errors on the GPU's link";
  const auto told = [](std::uint64_t fatal_count, std::uint64_t nonfatal,
                       std::uint64_t unsupported) {
    PcieErrors errors;
    errors.fatal = fatal_count, errors.nonfatal = nonfatal;
    errors.unsupported_requests = unsupported;
    return told_of_counters(errors, 3600);
  };
  EXPECT_EQ(told(0, 0, 0), "");
  EXPECT_EQ(told(1, 0, 0), fatal);
  EXPECT_EQ(told(0, 1, 0), lesser);
  // Requests that the device does not know are mostly the firmware's own.
  EXPECT_EQ(told(0, 3, 3), "");
  EXPECT_EQ(told(0, 3, 4), "");
  EXPECT_EQ(told(0, 3, 2), lesser);
}

// A storm is 100 corrected errors at 10 an hour; without the time since boot, 10,000.
TEST(Causes, CorrectedErrorsAreToldFromTheirLimitsOn) {
  const auto is_told = [](std::uint64_t count, std::optional<std::int64_t> uptime) {
    PcieErrors errors;
    errors.correctable = count;
    return !told_of_counters(errors, uptime).empty();
  };
  EXPECT_FALSE(is_told(99, 3600));
  EXPECT_TRUE(is_told(100, 3600));
  EXPECT_TRUE(is_told(100, 36'000));
  EXPECT_FALSE(is_told(100, 36'001));
  EXPECT_FALSE(is_told(9'999, std::nullopt));
  EXPECT_TRUE(is_told(10'000, std::nullopt));
}

// A GPU that sleeps is not asked, so the kernel's word for its path is all that is known.
TEST(Causes, ARecoveryOfALinkCountsForTheGpusBelowThePlace) {
  const auto works_again = [](const std::vector<std::string>& later) {
    auto machine = healthy(2);
    for (std::size_t i = 0; i < 2; ++i) {
      machine.pci[i].path = {address(0x0e + static_cast<int>(i)), machine.pci[i].address};
      machine.pci[i].runtime_status = "suspended";
      drop_from_nvml(machine, static_cast<int>(i));
    }
    log(machine,
        "nvidia 0000:10:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data "
        "Link Layer, (Receiver ID)");
    for (const auto& line : later) log(machine, line, 13);
    for (const auto& finding : diagnose(machine))
      if (finding.id == "pcie-fatal-error") return finding.title.contains("works again");
    ADD_FAILURE();
    return false;
  };
  const std::string own = "pcieport 0000:0e:00.0: AER: device recovery successful",
                    own_failed = "pcieport 0000:0e:00.0: AER: device recovery failed",
                    other = "pcieport 0000:0f:00.0: AER: device recovery successful";
  EXPECT_FALSE(works_again({}));
  EXPECT_TRUE(works_again({own}));
  EXPECT_FALSE(works_again({other}));
  EXPECT_FALSE(works_again({own_failed}));
  EXPECT_TRUE(works_again({own_failed, own}));
  EXPECT_FALSE(works_again({own, own_failed}));
  EXPECT_FALSE(works_again({own_failed, other}));
}

// A GPU's own error that is not fatal to the link: only while CUDA does not start, and by its path.
TEST(Causes, AFailedRecoveryCountsForTheGpusBelowThePlace) {
  const auto is_told = [](const char* recovery, bool cuda_starts) {
    auto machine = healthy(2);
    for (std::size_t i = 0; i < 2; ++i)
      machine.pci[i].path = {address(0x0e + static_cast<int>(i)), machine.pci[i].address};
    if (!cuda_starts) fail_cuda(machine, 999, "CUDA_ERROR_UNKNOWN");
    log(machine,
        "nvidia 0000:10:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
        "Layer, (Requester ID)");
    log(machine, recovery, 13);
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find(findings, "pcie-fatal-error", &Finding::id);
    return found != findings.end() && found->gpus == std::vector<int>{0};
  };
  constexpr const char *kOwn = "nvidia 0000:10:00.0: AER: device recovery failed",
                       *kPort = "pcieport 0000:0e:00.0: AER: device recovery failed",
                       *kOther = "pcieport 0000:0f:00.0: AER: device recovery failed",
                       *kGood = "pcieport 0000:0e:00.0: AER: device recovery successful";
  EXPECT_TRUE(is_told(kOwn, false));
  EXPECT_TRUE(is_told(kPort, false));
  EXPECT_FALSE(is_told(kOther, false));
  EXPECT_FALSE(is_told(kGood, false));
  EXPECT_FALSE(is_told(kPort, true));
}

// NVIDIA's open kernel modules, nv-pci.c, nv_pci_remove_helper().
TEST(Causes, ARemovalOfAGpuWaitsUntilItsOwnDriverGoesOn) {
  const auto waits = [](const char* later) {
    auto machine = healthy(2);
    for (const int gpu : {0, 1}) drop_from_nvml(machine, gpu);
    log(machine, "NVRM: Attempting to remove device 0000:10:00.0 with non-zero usage count!", 12);
    log(machine, later, 13);
    const auto findings = diagnose(machine);
    return std::ranges::any_of(findings, [](const Finding& finding) {
      return finding.id == "driver-hung" && finding.gpus == std::vector<int>{0};
    });
  };
  EXPECT_TRUE(waits("NVRM: something else"));
  EXPECT_FALSE(waits("NVRM: Continuing with GPU removal for device 0000:10:00.0"));
  EXPECT_TRUE(waits("NVRM: Continuing with GPU removal for device 0000:11:00.0"));
  EXPECT_TRUE(waits("NVRM: Continuing with GPU removal for device "));  // cut off
}

// Linux, kernel/module/main.c: -22 says that the symbol is there, in another version.
TEST(Causes, AMissingSymbolIsOfAModuleThatIsNotLoadedUnlessItsVersionDiffers) {
  const auto command = [](const std::string& line) {
    auto machine = machine_of("coreos-nvidia-ko-not-inserted");
    std::erase_if(machine.kernel_log.lines,
                  [](const LogLine& each) { return contains(each.text, "Unknown symbol"); });
    log(machine, line, 61.22);
    for (const auto& finding : diagnose(machine))
      if (finding.id == "driver-not-loaded") return finding.command.value_or("");
    return std::string("none");
  };
  EXPECT_EQ(command("nvidia: Unknown symbol ipmi_create_user (err 0)"), "modprobe ipmi_devintf");
  EXPECT_EQ(command("nvidia: Unknown symbol ipmi_create_user (err -2)"), "modprobe ipmi_devintf");
  EXPECT_FALSE(contains(command("nvidia: Unknown symbol ipmi_create_user (err -22)"), "ipmi"));
  EXPECT_FALSE(contains(command("nvidia: Unknown symbol other_function (err -2)"), "ipmi"));
}

// amdgpu starts a GPU within seconds of the line that it enables it.
TEST(Causes, ACrashIsOfTheStartOfAGpuThatBeganShortlyBefore) {
  const auto title = [](double after_the_start) {
    auto machine = machine_of("mi210-five-level-page-tables-crash");
    auto& lines = machine.kernel_log.lines;
    const auto crash = std::ranges::find_if(
        lines, [](const LogLine& line) { return contains(line.text, "kernel BUG at"); });
    for (auto line = lines.begin(); line != crash; ++line) line->seconds = 100;
    for (auto line = crash; line != lines.end(); ++line) line->seconds = 100 + after_the_start;
    for (const auto& finding : diagnose(machine))
      if (finding.id == "driver-crashed") return finding.title;
    return std::string();
  };
  const std::string at_start = "The kernel crashed while amdgpu started the GPU",
                    other = "The kernel crashed in its own code";
  EXPECT_EQ(title(-1), other);
  EXPECT_EQ(title(0), at_start);
  EXPECT_EQ(title(29.9), at_start);
  EXPECT_EQ(title(30), other);
}

Machine radeon(const std::vector<std::string>& lines) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.nodes.clear();
  machine.pci[0].vendor_id = 0x1002;
  machine.pci[0].device_id = 0x744c;
  machine.pci[0].driver = "amdgpu";
  machine.gpus[0].vendor = Vendor::amd;
  machine.gpus[0].driver = "amdgpu";
  for (std::size_t i = 0; i < lines.size(); ++i)
    log(machine, lines[i], 10 + static_cast<double>(i));
  return machine;
}

TEST(Causes, AFailedResetOnAnArmBoardIsExplainedByTheBoard) {
  const auto explanation = [](const char* architecture) {
    auto machine = radeon({"amdgpu 0000:10:00.0: amdgpu: GPU reset begin!",
                           "amdgpu 0000:10:00.0: amdgpu: GPU reset(2) failed"});
    machine.system.architecture = architecture;
    for (const auto& finding : diagnose(machine))
      if (contains(finding.evidence[0].quote, "GPU reset")) return finding.explanation;
    return std::string("none");
  };
  EXPECT_TRUE(explanation("aarch64").starts_with(
      "PCI Express of boards like this one is not coherent with the processor's caches"))
      << explanation("aarch64");
  EXPECT_FALSE(contains(explanation("x86_64"), "coherent")) << explanation("x86_64");
  EXPECT_NE(explanation("x86_64"), "none");
}

// Another driver's release takes a restart to run.
TEST(Causes, AFrozenPictureThatADriverIsKnownForIsCuredWithAReboot) {
  unsigned told = 0;
  for (const auto& finding : diagnose(machine_of("healthy-g15-flip-event-timeouts-at-logout"))) {
    if (!finding.title.contains("waited in vain for a page flip")) continue;
    ++told;
    EXPECT_EQ(finding.terms,
              (CureTerms{CureRisk::reboots, CurePlace::here, CureNeeds::free_machine}));
  }
  EXPECT_EQ(told, 1u);
}

// The words of the kernel's driver (mlx5), after those that say that it is about a module.
TEST(Causes, WhyANetworkPortsModuleFailsIsTheLastThatTheLogSays) {
  const auto title = [](std::initializer_list<std::string_view> reasons) -> std::string {
    auto machine = healthy();
    PciDevice adapter;
    adapter.address = address(0x5c);
    adapter.vendor_id = 0x15b3;
    adapter.class_code = 0x020700;
    adapter.driver = "mlx5_core";
    machine.pci.push_back(adapter);
    for (const auto reason : reasons)
      log(machine, fmt::format("mlx5_core 0000:5c:00.0: Port module event{}", reason));
    const auto findings = diagnose(machine);
    return findings.size() == 1 ? findings[0].title : fmt::format("{} findings", findings.size());
  };
  const std::string_view hot = "[error]: module 0, Cable error, High Temperature",
                         power = "[error]: module 0, Cable error, Power budget exceeded",
                         other = "[error]: module 0, Cable error, Bus stuck",
                         plugged = ": module 0, Cable plugged";
  EXPECT_EQ(title({hot}), "A network port's module is too hot");
  EXPECT_EQ(title({power}), "A network port's module needs more power than the port gives");
  EXPECT_EQ(title({hot, power}), title({power}));
  EXPECT_EQ(title({power, hot}), title({hot}));
  EXPECT_EQ(title({power, plugged}), "0 findings");
  EXPECT_NE(title({other}), title({hot}));
  EXPECT_NE(title({other}), title({power}));
}

// Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c: the line names no GPU.
TEST(Causes, AMissingFirmwareWithoutAnAddressIsOfTheOnlyGpuOfAmd) {
  const auto told = [](int count, std::uint16_t vendor_id) {
    auto machine = healthy(count);
    machine.nvidia = {};
    for (auto& device : machine.pci) device.vendor_id = vendor_id, device.driver.reset();
    for (auto& gpu : machine.gpus) {
      gpu.vendor = vendor_id == 0x1002 ? Vendor::amd : Vendor::intel;
      gpu.driver.reset();
    }
    machine.amd.module_loaded = true;
    log(machine, "[drm:amdgpu_pci_probe [amdgpu]] *ERROR* amdgpu requires firmware installed");
    return std::ranges::count(ids(diagnose(machine)), "driver-firmware-missing");
  };
  EXPECT_EQ(told(1, 0x1002), 1);
  EXPECT_EQ(told(2, 0x1002), 0) << "either may be meant";
  EXPECT_EQ(told(1, 0x8086), 0);
}

// Documentation/admin-guide/kernel-parameters.txt of Linux.
TEST(Causes, TheOptionsThatKeepI915OutAreQuoted) {
  auto machine = healthy();
  machine.nvidia = {};
  machine.nodes.clear();
  machine.pci[0].vendor_id = 0x8086;
  machine.pci[0].device_id = 0x46d1;
  machine.pci[0].driver.reset();
  machine.gpus[0].vendor = Vendor::intel;
  machine.gpus[0].driver.reset();
  machine.system.kernel_command_line =
      "quiet nomodeset i915.modeset=0 module_blacklist=i915,nouveau nomodesets xe.force_probe=46d1";
  log(machine,
      "xe 0000:10:00.0: Your graphics device 46d1 is not officially supported by xe driver in this "
      "kernel version.");
  Ids quoted;
  for (const auto& finding : diagnose(machine))
    if (contains(finding.title, "xe does not support this GPU"))
      for (const auto& item : finding.evidence)
        if (item.source == "/proc/cmdline") quoted.push_back(item.quote);
  EXPECT_EQ(quoted, (Ids{"nomodeset", "i915.modeset=0", "module_blacklist=i915,nouveau"}));
}

// SMBIOS 7.4.1: 3 is a desktop, 10 a notebook. Names are those of the PCI ID Repository.
TEST(Causes, ALostGpuOfALaptopThatIsNotNamedAsItsOwnIsInAnEnclosure) {
  struct Row {
    std::optional<std::string> name;
    int chassis;
    std::optional<std::string> hypervisor;
    bool in_enclosure;
  };
  for (const auto& [name, chassis, hypervisor, in_enclosure] :
       {Row{"GA102 [GeForce RTX 3090]", 10, {}, true},
        {"TU106 [GeForce RTX 2070]", 10, {}, true},
        {"GA102 [GeForce RTX 3090]", 3, {}, false},
        {"GA102 [GeForce RTX 3090]", 10, "kvm", false},
        {"GA102 [GeForce RTX 3090]", 3, "kvm", false},
        {"GA104M [GeForce RTX 3070]", 10, {}, false},
        {"GA104 [GeForce RTX 3070 Laptop GPU]", 10, {}, false},
        {"TU104 [GeForce RTX 2080 Mobile]", 10, {}, false},
        {"TU106 [GeForce RTX 2070 Max-Q]", 10, {}, false},
        {"TU117 [GeForce MX450]", 10, {}, false},
        {"GA102", 10, {}, false},
        {" [GeForce RTX 3090]", 10, {}, false},
        {{}, 10, {}, false}}) {
    auto machine = healthy();
    machine.pci[0].name = name;
    machine.system.chassis_type = chassis;
    machine.system.hypervisor = hypervisor;
    drop_from_nvml(machine, 0);
    xid(machine, 79, 0x10, "GPU has fallen off the bus.");
    const auto findings = diagnose(machine);
    ASSERT_EQ(findings.at(0).id, "off-the-bus");
    EXPECT_EQ(contains(findings[0].cure.value_or(""), "Switch the GPU's enclosure off and on"),
              in_enclosure)
        << name.value_or("") << ", " << chassis;
    machine.pci.clear();  // it has left the bus, too, so its name is not known
    EXPECT_FALSE(contains(diagnose(machine).at(0).cure.value_or(""), "enclosure"));
  }
}

// Linux, drivers/pci/setup-bus.c, and NVIDIA's open kernel modules, nv-pci.c.
TEST(Causes, LinesOfMissingRoomAreQuotedOfTheGpusSlotAndOfItsDriver) {
  const auto told = [](std::initializer_list<const char*> lines) {
    auto machine = healthy(2);
    drop_from_nvml(machine, 0);
    log(machine,
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: BAR1 is 0M @ 0x0 "
        "(PCI:0000:10:00.0)");
    double seconds = 20;  // no line goes on in another
    for (const char* line : lines) log(machine, line, ++seconds);
    const auto findings = diagnose(machine);
    const auto found = std::ranges::find_if(findings, [](const Finding& finding) {
      return contains(finding.evidence[0].quote, "I/O region");
    });
    return found == findings.end() ? Finding() : *found;
  };
  const auto quoted = [&](std::initializer_list<const char*> lines) {
    return told(lines).evidence.size() - 1;
  };
  constexpr const char *kOwn = "pci 0000:10:00.0: BAR 1: no space for [mem size 0x2000000000]",
                       *kItsSound = "pci 0000:10:00.1: BAR 0: failed to assign [mem size 0x4000]",
                       *kOther = "pci 0000:11:00.0: BAR 1: no space for [mem size 0x2000000000]",
                       *kNowhere = "pci: BAR 1: no space for [mem size 0x2000000000]",
                       *kDriver = "NVRM: GPU0 Fatal Error while attempting to resize PCIe BARs";
  ASSERT_EQ(told({}).id, "invalid-bar");
  EXPECT_EQ(quoted({}), 0u);
  EXPECT_EQ(quoted({kOwn}), 1u);
  EXPECT_EQ(quoted({kItsSound}), 1u);
  EXPECT_EQ(quoted({kOther}), 0u);
  EXPECT_EQ(quoted({kNowhere}), 0u);
  EXPECT_EQ(quoted({kDriver}), 1u);
  EXPECT_EQ(quoted({kOwn, kItsSound, kOwn}), 3u);
  EXPECT_EQ(quoted({kOwn, kItsSound, kOwn, kItsSound}), 3u) << "four quotes in all";
  EXPECT_EQ(told({kDriver}).title, "The driver could not enlarge the GPU's memory window");
  EXPECT_NE(told({kOwn}).title, told({kDriver}).title);
}

// Linux, drivers/base/power/main.c: "failed to resume".
TEST(Causes, AGpuThatDidNotResumeIsOnTheBusAndDoesNotAnswer) {
  const auto told = [](const char* of, bool answers) {
    auto machine = healthy();
    if (!answers) drop_from_nvml(machine, 0);
    log(machine, fmt::format("nvidia {}: PM: failed to resume async: error -5", of));
    return std::ranges::count(ids(diagnose(machine)), "gpu-not-resumed");
  };
  EXPECT_EQ(told("0000:10:00.0", false), 1);
  EXPECT_EQ(told("0000:10:00.0", true), 0);
  EXPECT_EQ(told("0000:11:00.0", false), 0) << "no device is there";
}

// Linux, drivers/pci/pci.c.
TEST(Causes, AGpuForGuestsIsLostBesideAnotherThatItsDriverLost) {
  auto machine = healthy(2);
  machine.nvidia = {};
  machine.nodes.clear();
  for (auto& device : machine.pci) device.vendor_id = 0x1002;
  for (auto& gpu : machine.gpus) gpu.vendor = Vendor::amd;
  machine.pci[0].driver = machine.gpus[0].driver = "amdgpu";
  machine.pci[1].driver = machine.gpus[1].driver = "vfio-pci";
  log(machine, "amdgpu 0000:10:00.0: amdgpu: device lost from bus!");
  log(machine,
      "vfio-pci 0000:11:00.0: Unable to change power state from D3cold to D0, device inaccessible");
  std::map<PciAddress, Ids> told;
  for (const auto& finding : diagnose(machine))
    for (const auto& address : finding.pci) told[address].push_back(finding.id);
  EXPECT_EQ(told[address(0x10)], Ids{"amd-gpu-lost"});
  EXPECT_EQ(told[address(0x11)], (Ids{"off-the-bus", "passthrough-bound"}));
}

// kernel_rc.c of NVIDIA's open kernel modules.
TEST(Facts, AnXidNamesThePreviousOneThatCausedIt) {
  const auto named = [](const char* end) {
    XidEvent event;
    event.line = fmt::format("NVRM: Xid (PCI:0000:10:00): 45, pid=1, Ch 00000008{}", end);
    return doctor::named_cause(event);
  };
  EXPECT_EQ(named(" caused by previous Xid 145"), 145);
  EXPECT_EQ(named(" caused by previous Xid 79, and more"), 79);
  EXPECT_EQ(named(" caused by previous Xid 100000"), 100'000);
  EXPECT_EQ(named(" caused by previous Xid 100001"), std::nullopt);
  EXPECT_EQ(named(" caused by previous Xid x"), std::nullopt);
  EXPECT_EQ(named(" caused by previous Xid "), std::nullopt);
  EXPECT_EQ(named(""), std::nullopt);
  XidEvent shorter;
  shorter.line = "45";
  EXPECT_EQ(doctor::named_cause(shorter), std::nullopt);
}

// Linux, drivers/firmware/efi/cper.c: cper_severity_str(). A panic is what the kernel makes of a
// fatal error that it does not survive (ghes.c).
TEST(Facts, TheSeverityOfAFirmwaresRecordIsThatOfItsErrors) {
  using doctor::Gravity;
  const auto gravity = [](const char* word) -> std::optional<Gravity> {
    Machine machine;
    log(machine, fmt::format("{{1}}[Hardware Error]: event severity: {}", word));
    log(machine, "{1}[Hardware Error]:   section_type: PCIe error");
    log(machine, "{1}[Hardware Error]:   device_id: 0000:61:00.0");
    const auto errors = doctor::logged_link_errors(machine);
    if (errors.empty()) return std::nullopt;
    return errors.begin()->first.second;
  };
  EXPECT_EQ(gravity("corrected"), Gravity::corrected);
  EXPECT_EQ(gravity("recoverable"), Gravity::nonfatal);
  EXPECT_EQ(gravity("fatal"), Gravity::fatal);
  EXPECT_EQ(gravity("panic"), Gravity::fatal);
  EXPECT_EQ(gravity("info"), std::nullopt);
}

// Linux, drivers/iommu/intel/dmar.c and amd/iommu.c.
TEST(Causes, TheIommusRefusalsAreOfTheGpuThatTheyName) {
  const auto told = [](std::initializer_list<const char*> lines, auto&& change,
                       double seconds = 100) {
    auto machine = healthy(2);
    machine.pci[1].is_gpu = false;
    machine.gpus.pop_back();
    change(machine);
    for (const char* line : lines) log(machine, line, seconds);
    for (const auto& finding : diagnose(machine))
      if (finding.id == "iommu-fault")
        return fmt::format("{}, {} {}", finding.title, to_string(finding.severity),
                           finding.evidence.size());
    return std::string("nothing");
  };
  const auto nothing = [](Machine&) {};
  constexpr const char *kGpu = "DMAR: [DMA Write NO_PASID] Request device [10:00.0] fault addr 0x1",
                       *kOther = "DMAR: [DMA Write NO_PASID] Request device [11:00.0] fault addr 0",
                       *kAbsent =
                           "DMAR: [DMA Write NO_PASID] Request device [33:00.0] fault addr 0",
                       *kOfAmd =
                           "nvidia 0000:10:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT "
                           "domain=0x0019 address=0x0 flags=0x0020]";
  const std::string once = told({kGpu}, nothing);
  EXPECT_TRUE(once.ends_with(" 1")) << once;
  EXPECT_EQ(told({kOfAmd}, nothing), once);
  EXPECT_EQ(told({kGpu, kOther, kAbsent}, nothing), once);
  EXPECT_EQ(told({kOther}, nothing), "nothing");
  EXPECT_EQ(told({kAbsent}, nothing), "nothing");
  EXPECT_TRUE(
      told({kGpu, kGpu, kOfAmd}, nothing).starts_with("The IOMMU refused 3 accesses of the GPU, "));
  EXPECT_EQ(told({kGpu}, [](Machine& machine) { machine.system.iommu_active = true; }), once);
  EXPECT_EQ(told({kGpu}, [](Machine& machine) { machine.system.iommu_active = false; }), "nothing");
  // Until its driver begins a GPU does what the firmware set up; later the log has lost that line.
  constexpr const char* kBegins = "nvidia 0000:10:00.0: enabling device (0000 -> 0003)";
  EXPECT_EQ(told({kGpu, kBegins}, nothing, 59.9), "nothing");
  EXPECT_EQ(told({kGpu, kBegins}, nothing, 60), once);
  EXPECT_EQ(told({kBegins, kGpu}, nothing, 59.9), once);
  EXPECT_TRUE(told({kGpu}, [](Machine& machine) {
                machine.pci[0].driver = machine.gpus[0].driver = "vfio-pci";
              }).ends_with("info 1"));
}

// A crashed probe of NVML may be a container's library that is not its host's; AMD's is the
// container's own.
TEST(Causes, OnlyNvidiasLibrariesCrashForWhatTheContainerWasGiven) {
  const auto cure = [](Vendor vendor, const char* outcome, bool container) {
    auto machine = healthy();
    if (vendor == Vendor::amd) {
      machine.nvidia = {};
      machine.nodes.clear();
      machine.pci[0].vendor_id = 0x1002;
      machine.pci[0].driver = machine.gpus[0].driver = "amdgpu";
      machine.gpus[0].vendor = vendor;
      machine.amd.module_loaded = true;
      machine.amd.outcome = outcome;
    } else {
      machine.nvidia.nvml_outcome = outcome;
      machine.nvidia.nvml_start.reset();
      machine.nvidia.nvml_device_count.reset();
    }
    if (container) machine.container.runtime = "docker";
    for (const auto& finding : diagnose(machine))
      if (finding.id.starts_with("probe-")) return finding.cure.value_or("none");
    return std::string("nothing");
  };
  constexpr std::string_view kRecreate = "Recreate the container";
  EXPECT_TRUE(cure(Vendor::nvidia, "crashed", true).starts_with(kRecreate));
  for (const auto& other :
       {cure(Vendor::amd, "crashed", true), cure(Vendor::nvidia, "crashed", false),
        cure(Vendor::nvidia, "timed_out", true)}) {
    EXPECT_FALSE(contains(other, kRecreate)) << other;
    EXPECT_NE(other, "nothing");
  }
}

TEST(Causes, LinksWithoutASwitchThatAreDownAtSeveralGpusAreCountedTogether) {
  const auto titles = [](std::initializer_list<int> up_of_each, const char* remote) {
    auto machine = healthy(static_cast<int>(up_of_each.size()));
    auto gpu = machine.gpus.begin();
    for (const int up : up_of_each) {
      for (int link = 0; link < 4; ++link) {
        gpu->nvlinks.push_back(link_at(link, link < up));
        gpu->nvlinks.back().remote_kind = remote;
      }
      ++gpu;
    }
    Ids out;
    for (const auto& finding : diagnose(machine)) out.push_back(finding.title);
    return out;
  };
  EXPECT_EQ(titles({4, 4, 4}, "gpu"), Ids{});
  EXPECT_EQ(titles({4, 3, 4}, "gpu"), Ids{"3 of 4 NVLinks are up"});
  EXPECT_EQ(titles({4, 3, 3}, "gpu"), Ids{"3 of 4 NVLinks are up"});
  EXPECT_EQ(titles({4, 3, 2}, "gpu"), Ids{"5 of 8 NVLinks are up"});
  EXPECT_EQ(titles({4, 1, 2}, "gpu"), Ids{"3 of 8 NVLinks are up"});
  EXPECT_EQ(titles({4, 0, 2}, "gpu"), Ids{"2 of 4 NVLinks are up"}) << "one has no bridge";
  EXPECT_EQ(titles({4, 3, 2}, "switch"), (Ids{"3 of 4 NVLinks are up", "2 of 4 NVLinks are up"}));
}

// Linux, drivers/gpu/drm/amd/amdkfd/kfd_device.c: the line names the model.
TEST(Causes, AGpuWithoutAtomicsIsOneOfItsModelThatRocmDoesNotList) {
  const auto told = [](bool first_listed, bool second_known) {
    auto machine = healthy(2);
    machine.nvidia = {};
    machine.nodes.clear();
    for (auto& device : machine.pci)
      device.vendor_id = 0x1002, device.device_id = 0x67df, device.driver = "amdgpu";
    for (auto& gpu : machine.gpus) gpu.vendor = Vendor::amd, gpu.driver = "amdgpu";
    if (first_listed) machine.gpus[0].sources.emplace_back("kfd");
    if (!second_known) machine.gpus.pop_back();
    machine.amd.module_loaded = true;
    log(machine, "kfd kfd: skipped device 1002:67df, PCI rejects atomics");
    for (const auto& finding : diagnose(machine))
      if (finding.id == "amd-no-atomics")
        return std::pair(finding.pci, contains(finding.cure.value_or(""), "the equal GPU"));
    return std::pair(std::vector<PciAddress>(), false);
  };
  const auto first = address(0x10), second = address(0x11);
  EXPECT_EQ(told(false, true), std::pair(std::vector({first, second}), false));
  EXPECT_EQ(told(true, true), std::pair(std::vector({second}), true));
  EXPECT_EQ(told(true, false), std::pair(std::vector({second}), true));
}

TEST(Causes, AGpuThatIsStillOnTheBusIsNotLostFromItsSlot) {
  const auto told = [](const char* line, const char* slot = "0000:0f:01.0") {
    auto machine = healthy();
    log(machine, line);
    log(machine, fmt::format("pcieport {}: pciehp: Slot(7): Link Down", slot));
    return std::ranges::count(ids(diagnose(machine)), "off-the-bus");
  };
  constexpr const char* kAbsent = "nvidia 0000:11:00.0: enabling device (0000 -> 0003)";
  EXPECT_EQ(told(kAbsent), 1);
  EXPECT_EQ(told("nvidia 0000:10:00.0: enabling device (0000 -> 0003)"), 0);
  EXPECT_EQ(told("nvidia: module verification failed: signature missing"), 0);
  EXPECT_EQ(told("i915 0000:11:00.0: enabling device (0000 -> 0003)"), 0)
      << "no GPU's driver of it";
  EXPECT_EQ(told(kAbsent, "0000:09:01.0"), 1) << "eight buses below";
  EXPECT_EQ(told(kAbsent, "0000:08:01.0"), 0);
  EXPECT_EQ(told(kAbsent, "0000:11:01.0"), 0);
  EXPECT_EQ(told(kAbsent, "0001:0f:01.0"), 0);
}

}  // namespace
}  // namespace gpuready::test
