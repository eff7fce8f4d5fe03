// What must hold on every machine: those under tests/machines, and each of them with something
// changed at random. GPUREADY_MUTANTS=N tries N changes of each machine instead of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "doctor/diagnose.h"
#include "health/plan/survey.h"
#include "machine/inspect.h"
#include "report/conclude.h"
#include "report/summary.h"
#include "unit/doctor/place_rules.h"
#include "unit/machine_folders.h"
#include "unit/report/mutants.h"

namespace gpuready {
namespace {

using test::walked;

bool is_error(const Finding& finding) {
  return finding.id != kExpectedGpuCount &&
         (finding.severity == Severity::error || std::ranges::any_of(finding.explains, is_error));
}

bool any_failed(const Report& report) {
  return report.verdicts && std::ranges::any_of(*report.verdicts, [](const Verdict& verdict) {
           return verdict.status == VerdictStatus::failed;
         });
}

Report report_of(std::string command, Machine machine, std::optional<int> required) {
  Report report;
  report.command = std::move(command);
  report.machine = std::move(machine);
  if (report.command != "detect")
    report.findings = diagnose(report.machine, {.expected_gpus = required});
  if (report.command == "check") {  // whatever may be tested passes
    Machine live = report.machine;
    live.source = "live";
    report.verdicts.emplace();
    for (const Target& target : survey_devices(live, {}).targets) {
      for (const char* test : {"memory", "compute", "clocks"}) {
        Verdict& verdict = report.verdicts->emplace_back();
        verdict.test = test;
        verdict.subject = target.subject;
        if (target.gpu != nullptr) verdict.uuid = target.gpu->uuid;
        verdict.pci_address = target.pci_address;
        verdict.executor = target.device.executor;
        verdict.status = VerdictStatus::passed;
        const auto total = target.gpu != nullptr ? target.gpu->memory.total_bytes : std::nullopt;
        if (total) verdict.coverage = Coverage{*total, *total, *total, {}};
      }
    }
  }
  conclude(report, {.required_gpus = required});
  return report;
}

int usable(const Report& report) {
  const auto access = usability(report);
  return static_cast<int>(std::ranges::count(access, GpuUse::usable, &GpuAccess::use));
}

void expect_a_cause(const Report& report) {
  if (report.exit != Exit::unhealthy) return;
  const std::string& headline = *report.conclusion;
  EXPECT_FALSE(contains(headline, "0 errors")) << headline;
  const bool named = report.findings ? std::ranges::any_of(*report.findings, is_error) ||
                                           any_failed(report) || contains(headline, " degraded: ")
                                     : contains(headline, "GPU ") && contains(headline, ": ");
  EXPECT_TRUE(named) << headline;
}

void expect_reasons(const Report& report) {
  const Summary summary = summarize(report);
  for (const GpuSummary& gpu : summary.gpus) {
    if (gpu.state != GpuState::not_ready) continue;
    EXPECT_FALSE(gpu.reason.empty()) << gpu.gpu->index;
    EXPECT_NE(report.exit, Exit::ok) << gpu.reason;
  }
}

void expect_requirement(const Machine& machine, const std::string& command) {
  const Report asked_nothing = report_of(command, machine, std::nullopt);
  const int have = usable(asked_nothing);
  if (have > 0) {
    EXPECT_NE(report_of(command, machine, have).exit, Exit::required_absent) << have;
  }
  const Report more = report_of(command, machine, have + 1);
  // A display-only GPU is at fault once compute is asked of it.
  const bool unhealthy = asked_nothing.exit == Exit::unhealthy ||
                         (more.findings && std::ranges::any_of(*more.findings, is_error));
  EXPECT_EQ(more.exit, unhealthy ? Exit::unhealthy : Exit::required_absent) << *more.conclusion;
  EXPECT_FALSE(more.conclusion->starts_with("Nothing is wrong")) << *more.conclusion;
}

Machine inspected(const Recording& recording, bool full) {
  const auto host = make_recorded_host(recording);
  return inspect(*host, {.full = full});
}

void expect_all(const Recording& recording) {
  const Machine full = inspected(recording, true), quick = inspected(recording, false);
  test::expect_possible(full, diagnose(full));
  for (const std::string command : {"detect", "doctor", "check"}) {
    SCOPED_TRACE(command);
    const Machine& machine = command == "detect" ? quick : full;
    const Report report = report_of(command, machine, std::nullopt);
    ASSERT_TRUE(report.conclusion);
    EXPECT_NE(report.exit, Exit::required_absent);
    if (report.exit != Exit::ok) {
      EXPECT_FALSE(contains(*report.conclusion, "Nothing is wrong"));
    }
    expect_a_cause(report);
    expect_reasons(report);
    expect_requirement(machine, command);
  }
}

std::string answer(const Recording& recording) {
  const Report report = report_of("doctor", inspected(recording, true), std::nullopt);
  std::string out = *report.conclusion;
  for (const Finding& finding : *report.findings) out += "\n" + finding.id;
  return out;
}

TEST(EveryMachine, SaysWhyItIsNotReady) {
  EXPECT_GT(test::machines().size(), 80u);
  for (const auto& [name, recording] : walked(test::machines())) {
    SCOPED_TRACE(name);
    expect_all(recording);
  }
}

TEST(EveryMachine, SaysWhyItIsNotReadyWhenChangedAtRandom) {
  const char* asked = std::getenv("GPUREADY_MUTANTS");
  constexpr std::uint64_t kUsual = 1;
  const std::uint64_t mutants = asked == nullptr ? kUsual : parse_uint(asked).value_or(kUsual);
  std::uint64_t seed = 0;
  auto all = walked(test::machines());
  std::vector<std::string> logs;
  for (const auto& [name, recording] : all)
    if (recording.kernel_log)
      if (const auto* text = std::get_if<std::string>(&*recording.kernel_log))
        logs.push_back(*text);
  std::size_t tried = 0, answered_otherwise = 0;
  for (const auto& [name, recording] : all) {
    const std::string before = answer(recording);
    for (std::uint64_t i = 0; i < mutants; ++i, ++seed, ++tried) {
      SCOPED_TRACE(name + ", seed " + std::to_string(seed));
      const Recording mutant = test::Mutator(seed, logs).mutate(recording);
      expect_all(mutant);
      answered_otherwise += answer(mutant) != before;
      if (testing::Test::HasFailure() && asked == nullptr) return;  // one is enough to start with
    }
  }
  // What changes nothing proves nothing.
  EXPECT_GT(answered_otherwise, tried / 4) << "of " << tried;
}

}  // namespace
}  // namespace gpuready
