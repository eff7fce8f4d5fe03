// Whatever a user gets into the kernel's log, every machine's diagnosis stays what it is; and a
// line alone neither clears a fault nor condemns a GPU.
#include "unit/forged_log.h"

#include "doctor/diagnose.h"
#include "doctor/facts.h"
#include "machine/system/kernel_drivers.h"
#include "machines.h"

namespace gpuready {
namespace {

using test::machines, test::Named, test::walked, test::log_of, test::with_lines,
    test::drivers_lines;

Json all_of(const Recording& recording) {
  const auto host = make_recorded_host(recording);
  return test::to_json(diagnose(inspect(*host, {.full = true})));
}

TEST(ForgedLog, WhatTheKernelQuotesChangesNoAnswer) {
  test::expect_forged_lines_change_nothing(all_of);
}

TEST(ForgedLog, PiecesOfDriversLinesChangeNoAnswer) {
  test::expect_pieces_of_lines_change_nothing(all_of);
}

// The test's own means find a line that does count.
TEST(ForgedLog, AnXidOfTheDriverItselfDoesChangeTheAnswer) {
  const auto healthy = std::ranges::find(machines(), "base-h100x1", &Named::name);
  ASSERT_NE(healthy, machines().end());
  const auto before = all_of(healthy->recording);
  const std::string line =
      "9999.000000 NVRM: Xid (PCI:0000:17:00): 62, pid=7, name=a, 2027(21a8)\n";
  EXPECT_NE(all_of(with_lines(healthy->recording, {"", "", line})), before);
}

// ---- what must agree

bool tells_error(const Machine& machine, std::string_view id) {
  const auto is = [&](const auto& self, const Finding& finding) -> bool {
    return (finding.id == id && finding.severity == Severity::error) ||
           std::ranges::any_of(finding.explains,
                               [&](const Finding& inner) { return self(self, inner); });
  };
  return std::ranges::any_of(diagnose(machine), [&](const Finding& f) { return is(is, f); });
}

void stop_running(Machine& machine) {
  for (auto& gpu : machine.gpus) {
    gpu.nvml_index.reset();
    gpu.driver.reset();
  }
  for (auto& device : machine.pci)
    if (device.is_gpu && device.vendor_id != 0x10de) device.driver.reset();
}

struct Cleared {
  const char* machine;
  const char* id;  // what the log told before the line that clears it
};

TEST(LogAlone, ClearsNoFault) {
  for (const auto& [name, id] :
       {Cleared{"healthy-after-driver-reload", "off-the-bus"},
        Cleared{"nvswitch-error-before-reload", "nvswitch-error"},
        Cleared{"amd-reset-before-reload", "gpu-reset-failed"},
        Cleared{"amd-ring-timeout-recovered", "gpu-hung"},
        Cleared{"amd-ring-reset-recovered", "gpu-hung"}, Cleared{"amd-mes-recovered", "gpu-hung"},
        Cleared{"healthy-xe-resumed", "gpu-not-resumed"}}) {
    const auto found = std::ranges::find(machines(), name, &Named::name);
    ASSERT_NE(found, machines().end()) << name;
    const auto host = make_recorded_host(found->recording);
    auto machine = inspect(*host, {.full = true});
    EXPECT_FALSE(tells_error(machine, id)) << name;
    stop_running(machine);
    EXPECT_TRUE(tells_error(machine, id)) << name << ": nothing agrees with the line that clears";
  }
}

TEST(LogAlone, AnotherDriversLoadClearsNothing) {
  auto machine = test::healthy();
  test::xid(machine, 62, 0x10, "2027(21a8)");
  test::log(machine, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", 13);
  EXPECT_FALSE(tells_error(machine, "xid-62"));
  test::drop_from_nvml(machine, 0);
  EXPECT_TRUE(tells_error(machine, "xid-62"));
}

TEST(LogAlone, CondemnsNoGpuWhoseDriverIsNotLoaded) {
  auto machine = test::healthy();
  test::xid(machine, 62, 0x10, "2027(21a8)");
  EXPECT_TRUE(tells_error(machine, "xid-62"));
  machine.nvidia.module_loaded = false;
  EXPECT_FALSE(tells_error(machine, "xid-62"));
}

std::set<std::string> errors_of(const Machine& machine) {
  std::set<std::string> ids;
  for (const auto& finding : diagnose(machine))
    if (finding.severity == Severity::error) ids.insert(finding.id);
  return ids;
}

// With those that others explain.
void add_errors(const std::vector<Finding>& findings, std::set<std::string>& ids) {
  for (const auto& finding : findings) {
    if (finding.severity == Severity::error) ids.insert(finding.id);
    add_errors(finding.explains, ids);
  }
}

// All that a driver may say, on machines that have no GPU of its vendor: a third of them for each
// vendor, since the log is long.
TEST(LogAlone, MakesNoErrorWhereTheGpuIsNot) {
  const std::pair<Vendor, std::vector<std::string_view>> vendors[] = {
      {Vendor::nvidia, {"NVRM", "nvidia", "nvgpu", "gk20a", "[drm:nv"}},
      {Vendor::amd, {"amdgpu", "[drm:amdgpu", "kfd", "radeon", "gim "}},
      {Vendor::intel, {"i915", "xe ", "[drm:xe", "[drm:i915", "[drm:intel"}},
  };
  std::size_t tried = 0, first = 0;
  for (const auto& [vendor, writers] : vendors) {
    std::size_t number = first++;
    std::string lines;
    for (double seconds = 90'000; const auto& text : drivers_lines())
      if (std::ranges::any_of(writers, [&](auto writer) { return text.starts_with(writer); }))
        lines += fmt::format("{:.6f} {}\n", seconds += 1, text);
    for (const auto& [name, recording] : walked(machines())) {
      if (number++ % std::size(vendors) != 0 || !log_of(recording)) continue;
      const auto machine = inspect(*make_recorded_host(recording), {.full = true});
      if (doctor::any_gpu(machine, vendor) || module_loaded(machine, vendor)) continue;
      ++tried;
      const auto told =
          inspect(*make_recorded_host(with_lines(recording, {"", "", lines})), {.full = true});
      std::set<std::string> before;
      add_errors(diagnose(machine), before);
      for (const auto& id : errors_of(told)) EXPECT_TRUE(before.contains(id)) << name << ": " << id;
    }
  }
  EXPECT_GT(tried, test::least_walked(100));
}

TEST(LogAlone, TellsNoIommuFaultWhereNoIommuIsOn) {
  const auto found = std::ranges::find(machines(), "iommu-faults", &Named::name);
  ASSERT_NE(found, machines().end());
  auto machine = inspect(*make_recorded_host(found->recording), {.full = true});
  EXPECT_TRUE(contains(test::to_json(diagnose(machine)).dump(), "iommu-fault"));
  machine.system.iommu_active = false;
  EXPECT_FALSE(contains(test::to_json(diagnose(machine)).dump(), "iommu-fault"));
}

TEST(LogAlone, ANameOfAProcessTakesNothingBack) {
  auto machine = test::healthy();
  test::xid(machine, 62, 0x10, "2027(21a8)");
  test::xid(machine, 154, 0x10,
            "pid=1, name=to 0x0 (None), GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
            "Reset Required)");
  EXPECT_TRUE(tells_error(machine, "xid-62"));
  machine = test::healthy();
  test::xid(machine, 149, 0x10, "pid=1, name=Nonfatal, NETIR_LINK_EVT Fatal XC0 i0 Link 00");
  EXPECT_TRUE(tells_error(machine, "xid-149"));
}

}  // namespace
}  // namespace gpuready
