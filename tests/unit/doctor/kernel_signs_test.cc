#include "doctor/kernel_signs.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/sxid.h"
#include "machines.h"

namespace gpuready::doctor {
namespace {

Machine radeons(int count) {
  Machine machine;
  machine.kernel_log.readable = true;
  for (int i = 0; i < count; ++i) {
    auto& device = machine.pci.emplace_back();
    device.address = test::address(0x03 + i);
    device.vendor_id = 0x1002;
    device.class_code = 0x030000;
    device.driver = "amdgpu";
    device.is_gpu = true;
    auto& gpu = machine.gpus.emplace_back();
    gpu.index = i;
    gpu.vendor = Vendor::amd;
    gpu.pci = device.address;
    gpu.driver = device.driver;
  }
  return machine;
}

Step last_step(Machine& machine) {
  const auto stories = gpu_stories(machine);
  return stories.size() == 1 ? stories[0].last : Step::started;
}

TEST(KernelSigns, TheLastLineDecides) {
  auto machine = radeons(1);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", 1);
  EXPECT_EQ(last_step(machine), Step::hung);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) failed", 2);
  EXPECT_EQ(last_step(machine), Step::failed);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", 3);
  EXPECT_EQ(last_step(machine), Step::failed) << "a further try is no recovery";
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset(3) succeeded!", 4);
  EXPECT_EQ(last_step(machine), Step::recovered);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: device lost from bus!", 5);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -19", 6);
  EXPECT_EQ(last_step(machine), Step::lost);
  test::log(machine, "[drm] Initialized amdgpu 3.64.0 for 0000:03:00.0 on minor 1", 7);
  EXPECT_TRUE(gpu_stories(machine).empty());
}

TEST(KernelSigns, ALineWithoutAnAddressIsAboutTheGpuThatIsNamedNext) {
  auto machine = radeons(2);
  test::log(machine,
            "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted "
            "seq=3",
            100);
  test::log(machine, "amdgpu 0000:04:00.0: GPU reset begin!", 100.1);
  const auto stories = gpu_stories(machine);
  ASSERT_EQ(stories.size(), 1u);
  EXPECT_EQ(stories[0].pci, test::address(0x04));
  EXPECT_EQ(stories[0].quotes.size(), 2u);
}

TEST(KernelSigns, HangsAreCounted) {
  auto machine = radeons(1);
  for (int i = 0; i < 5; ++i) {
    test::log(machine, "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1", i);
    test::log(machine, "amdgpu 0000:03:00.0: amdgpu: Ring gfx_0.0.0 reset succeeded", i + 0.5);
  }
  const auto stories = gpu_stories(machine);
  ASSERT_EQ(stories.size(), 1u);
  EXPECT_EQ(stories[0].hangs, 5u);
  EXPECT_EQ(stories[0].last, Step::recovered);
}

TEST(KernelSigns, OneHangInSeveralLinesIsCountedOnce) {
  auto machine = radeons(1);
  for (int i = 0; i < 22; ++i) {
    const double at = 100.0 * i;
    test::log(machine, "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1", at);
    test::log(machine, "amdgpu 0000:03:00.0: amdgpu: Ring gfx_0.0.0 reset succeeded", at + 0.1);
    test::log(machine, "amdgpu 0000:03:00.0: [drm] device wedged, but recovered through reset",
              at + 0.2);
  }
  const auto stories = gpu_stories(machine);
  ASSERT_EQ(stories.size(), 1u);
  EXPECT_EQ(stories[0].hangs, 22u);
}

// Four answers in a row that are late, over five seconds; half a minute without one ends the row.
TEST(KernelSigns, AGpuHangsWhoseAnswersStayAway) {
  const auto step = [](std::initializer_list<double> seconds) {
    auto machine = radeons(1);
    machine.pci[0].vendor_id = 0x8086;
    machine.gpus[0].vendor = Vendor::intel;
    machine.pci[0].driver = machine.gpus[0].driver = "xe";
    for (const double at : seconds)
      test::log(machine, "xe 0000:03:00.0: [drm] GT0: TLB invalidation fence timeout, seqno=1", at);
    return last_step(machine);
  };
  EXPECT_EQ(step({10, 13, 15}), Step::recovered);
  EXPECT_EQ(step({10, 11, 12, 14.9}), Step::recovered);
  EXPECT_EQ(step({10, 11, 12, 15}), Step::hung);
  EXPECT_EQ(step({10, 40, 70, 100}), Step::hung);
  EXPECT_EQ(step({10, 11, 12, 42.5}), Step::recovered);
}

TEST(KernelSigns, NoRecoveryOfAGpuThatItsDriverDoesNotHold) {
  auto machine = radeons(1);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) failed", 2);
  test::log(machine, "amdgpu 0000:03:00.0: amdgpu: GPU reset(3) succeeded!", 4);
  EXPECT_EQ(last_step(machine), Step::recovered);
  machine.pci[0].driver.reset();
  EXPECT_EQ(last_step(machine), Step::failed);
}

// The only GPU of a machine, and what one finding says of it.
struct Wording {
  const char *driver, *lines;  // without the device's name, separated by line breaks
  const char* id;
  Severity severity;
  Action action;
  bool bound = true, guest = false;
};

TEST(KernelSigns, WordingsOfDriversAreKnown) {
  constexpr Wording kWordings[] = {
      {"amdgpu", "Unable to change power state from D3hot to D0, device inaccessible",
       "amd-gpu-lost", Severity::error, Action::power_cycle},
      {"amdgpu", "WARN: GPU thermal throttling temperature reached, expect performance decrease.",
       "hardware-slowdown", Severity::info, Action::none},
      {"amdgpu",
       "amdgpu: Failed to get gpu_info firmware \"cyan_skillfish_gpu_info.bin\"\n"
       "amdgpu: Fatal error during GPU init",
       "driver-firmware-missing", Severity::error, Action::configure, false},
      {"amdgpu", "amdgpu: PSP load kdb failed!\namdgpu: Fatal error during GPU init",
       "gpu-firmware-failed", Severity::error, Action::configure, false},
      {"amdgpu", "amdgpu: PSP load kdb failed!\namdgpu: Fatal error during GPU init",
       "gpu-firmware-failed", Severity::error, Action::ask_host, false, true},
      {"i915", "[drm] Resetting rcs0 for hang on rcs0", "gpu-hung", Severity::warning,
       Action::check_again},
      {"i915", "[drm] Resetting rcs0 for preemption time out", "gpu-hung", Severity::warning,
       Action::check_again},
  };
  for (const auto& wording : kWordings) {
    auto machine = radeons(1);
    const std::string driver = wording.driver;
    auto& device = machine.pci[0];
    device.vendor_id = driver == "i915" ? 0x8086 : 0x1002;
    machine.gpus[0].vendor = driver == "i915" ? Vendor::intel : Vendor::amd;
    machine.amd.module_loaded = driver == "amdgpu";
    machine.intel.i915_loaded = driver == "i915";
    device.driver = machine.gpus[0].driver = driver;
    if (!wording.bound) device.driver.reset(), machine.gpus[0].driver.reset();
    if (wording.guest) machine.system.hypervisor = "kvm";
    double seconds = 10;
    for (const auto line : split(wording.lines, "\n"))
      test::log(machine, driver + " 0000:03:00.0: " + std::string(line), seconds++);
    const auto findings = diagnose(machine);
    ASSERT_FALSE(findings.empty()) << wording.lines;
    EXPECT_EQ(findings[0].id, wording.id) << wording.lines;
    EXPECT_EQ(findings[0].severity, wording.severity) << wording.lines;
    EXPECT_EQ(findings[0].action, wording.action) << wording.lines;
  }
}

TEST(Sxid, TheLineIsRead) {
  const auto event = parse_sxid(
      "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 sourcetrack timeout error "
      "(First)");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->code, 24007);
  EXPECT_EQ(event->kind, SxidKind::fatal);
  EXPECT_EQ(event->pci, (PciAddress{0, 0xc1, 0, 0}));
  EXPECT_EQ(event->link, 44);
  EXPECT_EQ(event->name, "sourcetrack timeout error (First)");
  for (const char* line :
       {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Severity 1 Engine instance 44",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): xyz, Fatal, Link 1", "SXid (PCI:",
        "SXid (PCI:):", "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."})
    EXPECT_FALSE(parse_sxid(line)) << line;
}

TEST(Sxid, ItsDataAreReadAsSuch) {
  const auto event =
      parse_sxid("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 23001, Data {0x50610002}");
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->data);
  EXPECT_EQ(event->kind, SxidKind::fabric) << "the code says it without the line";
}

TEST(Sxid, KindsAreThoseOfTheGuide) {
  const auto kind = [](const std::string& code, const char* word) {
    return parse_sxid("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): " + code + ", " + word +
                      ", Link 05 something")
        ->kind;
  };
  EXPECT_EQ(kind("11012", "Non-fatal"), SxidKind::corrected);
  EXPECT_EQ(kind("12028", "Non-fatal"), SxidKind::nonfatal);
  EXPECT_EQ(kind("20034", "Fatal"), SxidKind::fatal);
  EXPECT_EQ(kind("23001", "Fatal"), SxidKind::fabric);
  EXPECT_EQ(kind("22013", "Non-fatal"), SxidKind::harmless);
  EXPECT_EQ(kind("99999", "Fatal"), SxidKind::fatal) << "an unknown code: the line says it";
}

}  // namespace
}  // namespace gpuready::doctor
