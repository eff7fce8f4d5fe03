// When the kernel logged what a finding quotes, and for which processes.
#include <gtest/gtest.h>

#include "doctor/diagnose.h"
#include "machine/system/kernel_log.h"
#include "machines.h"
#include "unit/machine_folders.h"

namespace gpuready::test {
namespace {

constexpr const char* kThrice =
    "100.25 NVRM: Xid (PCI:0000:10:00): 48, pid=41, name=python3, DBE on GPU 0x1\n"
    "250.5 NVRM: Xid (PCI:0000:11:00): 95, pid=43, name=other, DBE on GPU 0x1\n"
    "300.5 NVRM: Xid (PCI:0000:10:00): 48, pid=42, name=train, v2, DBE on GPU 0x2\n"
    "400.5 usb 1-1: new device\n";

Finding of_log(Machine machine, const char* text, std::string_view id) {
  machine.kernel_log = parse_kernel_log(text);
  for (auto& finding : diagnose(machine))
    if (finding.id == id) return finding;
  return {};
}

TEST(LogTimes, AreTheFirstAndTheLastOfTheGpusLines) {
  auto machine = healthy(2);
  machine.system.unix_seconds = 1'000'000'000;
  machine.system.uptime_seconds = 1000;
  machine.kernel_log = parse_kernel_log(kThrice);
  std::vector<LoggedProcess> told;
  bool first_gpu = false;
  for (const auto& finding : diagnose(machine)) {
    if (finding.gpus != std::vector{0}) continue;
    first_gpu = true;
    ASSERT_TRUE(finding.logged) << finding.id;
    EXPECT_EQ(finding.logged->first_seconds, 100.25);
    EXPECT_EQ(finding.logged->last_seconds, 300.5);
    EXPECT_EQ(finding.logged->first_unix_seconds, 999'999'100);
    EXPECT_EQ(finding.logged->last_unix_seconds, 999'999'301);
    told = finding.logged->processes;
  }
  EXPECT_TRUE(first_gpu);
  EXPECT_EQ(told, (std::vector<LoggedProcess>{{41, "python3"}, {42, "train"}}));
}

TEST(LogTimes, AHangNamesTheProcessWhoseWorkHung) {
  for (const auto& [name, process] :
       {std::pair<const char*, LoggedProcess>{"7900xtx-gfx-ring-timeout", {2318, "kwin_wayland"}},
        {"i915-video-engine-stuck", {1337, "ffmpeg"}},
        {"log-b70-timed-out-job", {4711, "VLLM::Worker"}}}) {
    const auto findings = diagnose(machine_of(name));
    EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.logged && std::ranges::find(finding.logged->processes, process) !=
                                   finding.logged->processes.end();
    })) << name;
  }
}

TEST(LogTimes, HaveNoDateWhereTheMachineSlept) {
  auto machine = healthy(1);
  machine.system.unix_seconds = 1'000'000'000;
  machine.system.uptime_seconds = 1000;
  machine.kernel_log = parse_kernel_log(
      "90.0 PM: suspend exit\n"
      "100.25 NVRM: Xid (PCI:0000:10:00): 48, pid=41, name=python3, DBE on GPU 0x1\n");
  const auto findings = diagnose(machine);
  ASSERT_FALSE(findings.empty());
  ASSERT_TRUE(findings[0].logged);
  EXPECT_EQ(findings[0].logged->first_seconds, 100.25);
  EXPECT_FALSE(findings[0].logged->first_unix_seconds);
}

TEST(LogTimes, AMessageOfSeveralLinesHasTheTimeOfItsFirst) {
  auto machine = healthy(1);
  machine.gpus[0].nvml_index.reset();
  // The first is the beginning of what is quoted, and another message.
  const auto finding = of_log(machine,
                              "5.5 NVRM: GPU 0000:10:00.0: RmInitAdapter\n"
                              "12.5 NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x26:0x56:1)\n"
                              "12.6 NVRM: rm_init_adapter failed, device minor number 0\n"
                              "72.5 NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x26:0x56:1)\n",
                              "gpu-init-failed");
  ASSERT_TRUE(finding.logged) << finding.id;
  EXPECT_EQ(finding.logged->first_seconds, 12.5);
  EXPECT_EQ(finding.logged->last_seconds, 72.5);
}

TEST(LogTimes, AreAbsentWithoutALog) {
  auto machine = healthy(1);
  machine.system.unix_seconds = 1'000'000'000;
  machine.system.uptime_seconds = 1000;
  machine.gpus[0].ecc.since_boot.uncorrected = 3;
  const auto findings = diagnose(machine);
  ASSERT_FALSE(findings.empty());
  EXPECT_FALSE(findings[0].logged);
  // A log without times.
  const auto finding = of_log(
      machine, "NVRM: Xid (PCI:0000:10:00): 48, pid='<unknown>', name=<unknown>, DBE\n", "x");
  EXPECT_FALSE(finding.logged);
}

}  // namespace
}  // namespace gpuready::test
