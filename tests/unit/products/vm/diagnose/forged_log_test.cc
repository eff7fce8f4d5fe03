// Whatever a user gets into the kernel's log, a host's answer stays what it is.
#include "unit/forged_log.h"

#include "vm/diagnose/host.h"
#include "vm/operations.h"
#include "vm/readiness.h"

namespace gpuready::vm {
namespace {

Json answer(const Recording& recording) {
  const auto host = make_recorded_host(recording);
  const auto machine = inspect(*host, {.libraries = false, .kernel_log = true});
  const auto state = read_state(*host, kJournalFolder, {.all = false, .named = {}});
  if (!state) return nullptr;
  auto devices = passable_ones(state->inventory);
  const auto settings = read_host_settings(*host, *state, devices);
  return test::to_json(diagnose_host({machine, *state, std::move(devices), settings}));
}

// One for each finding that the log gives, about the GPU of the machine below.
const std::vector<std::string> kHostsLines = {
    "vfio_iommu_type1_attach_group: No interrupt remapping support.  Use the module param",
    "pci 0000:17:00.0: BAR 5: no space for [mem size 0x00020000]",
    "vfio-pci 0000:17:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    "vfio-pci 0000:17:00.0: not ready 65535ms after bus reset; giving up",
    "vfio-pci 0000:17:00.0: vfio_bar_restore: reset recovery - restoring BARs",
    "vfio-pci 0000:17:00.0: BAR 1: can't reserve [mem 0xc0000000-0xcfffffff 64bit pref]",
    "DMAR: [DMA Read NO_PASID] Request device [17:00.0] fault addr 0x7f000 [fault reason 0x06]",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=17:00.0 domain=0x0013 address=0xdead]",
    "arm-smmu-v3 arm-smmu-v3.1.auto: event: F_TRANSLATION client: 0000:17:00.0 sid: 0x1700",
};

TEST(ForgedHostLog, WhatTheKernelQuotesChangesNoAnswer) {
  test::expect_forged_lines_change_nothing(answer, kHostsLines);
}

TEST(ForgedHostLog, PiecesOfDriversLinesChangeNoAnswer) {
  test::expect_pieces_of_lines_change_nothing(answer);
}

// What a driver quotes of a user within a line of its own.
TEST(ForgedHostLog, ANameOfAProcessWithinADriversLineChangesNoAnswer) {
  std::vector<std::string> forged;
  for (const char* name : {"IO_PAGE_FAULT", "; giving up", "can't reserve [", ": BAR 1: [mem "})
    for (const char* line : {"amdgpu 0000:17:00.0: amdgpu:  Process {} pid 1 thread {} pid 2",
                             "xe 0000:17:00.0: [drm] Timedout job: seqno=1, in {} [77]",
                             "NVRM: Xid (PCI:0000:17:00): 31, pid=7, name={}, Ch 00000008"})
      forged.push_back(fmt::format(fmt::runtime(line), name, name));
  test::expect_no_change(answer, {{forged}});
}

TEST(ForgedHostLog, TheKernelsOwnLinesDoChangeTheAnswer) {
  const auto host = std::ranges::find(test::machines(), "vm-host-h100", &test::Named::name);
  ASSERT_NE(host, test::machines().end());
  const auto before = answer(host->recording);
  for (const auto& line : kHostsLines)
    EXPECT_NE(answer(test::with_lines(host->recording, {"", "", "9999.000000 " + line + "\n"})),
              before)
        << line;
}

}  // namespace
}  // namespace gpuready::vm
