#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/deliver_report.h"
#include "cli/health_tests.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "report/exit_rules.h"
#include "report/selftest_report.h"

namespace gpuready::cli {
namespace {

struct SelftestOptions {
  Globals globals;
  std::vector<std::string> faults, tests;
  std::uint64_t trials = 100;
  std::optional<std::uint64_t> seed;
  bool busy = false;
};

std::vector<std::string> case_names() {
  std::vector<std::string> names = {"none"};
  for (const FaultClass kind : all_fault_classes()) names.emplace_back(to_string(kind));
  return names;
}

std::vector<SelfTestCase> chosen_cases(const SelftestOptions& options) {
  auto cases = self_test_cases();
  const auto is_asked = [](const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  std::erase_if(cases, [&](const SelfTestCase& tried) {
    return !is_asked(options.tests, tried.test) ||
           !is_asked(options.faults, tried.fault ? to_string(*tried.fault) : "none");
  });
  return cases;
}

// Those that something can be injected into.
std::vector<std::string> tried_tests() {
  std::vector<std::string> names;
  for (const SelfTestCase& tried : self_test_cases())
    if (std::ranges::find(names, tried.test) == names.end()) names.emplace_back(tried.test);
  return names;
}

std::optional<std::uint64_t> count(const Verdict& verdict, std::string_view name) {
  for (const Metric& metric : verdict.metrics)
    if (metric.name == name) return static_cast<std::uint64_t>(metric.value);
  return std::nullopt;
}

SelfTestRow row_of(const TestJob& job, const Verdict& verdict) {
  SelfTestRow row;
  row.subject = job.subject;
  row.executor = verdict.executor;
  row.test = job.options.selftest_of;
  if (const auto& fault = job.options.inject) {
    row.fault = to_string(fault->kind);
    row.faults = fault->count;
  }
  row.status = verdict.status;
  row.reason = verdict.reason;
  row.trials = count(verdict, "trials").value_or(0);
  row.detected = count(verdict, "detected").value_or(0);
  row.placed = count(verdict, "placed");
  row.duration_ms = verdict.duration_ms;
  return row;
}

SelfTestRow untried(const Verdict& verdict) {
  SelfTestRow row;
  row.subject = verdict.subject;
  row.test = "all";
  row.status = verdict.status;
  row.reason = verdict.reason;
  return row;
}

Result<int> run_selftest(const SelftestOptions& options) {
  const auto start = Clock::now();
  auto host = TRY(open_host(options.globals));
  const auto machine = TRY(inspect_as_asked(*host, options.globals, {.full = true}));
  auto devices = TRY(unique_devices(options.globals.devices, machine));

  SelfTestReport report;
  static_cast<Envelope&>(report) = begin_envelope("selftest");
  report.seed = options.seed.value_or(random_u64());
  SurveyOptions asked;
  asked.busy = options.busy;
  asked.devices = std::move(devices);
  asked.test.seed = report.seed;
  TestPlan plan = plan_self_tests(machine, asked, chosen_cases(options), options.trials);
  for (const Verdict& verdict : plan.not_run) report.rows.push_back(untried(verdict));
  plan.not_run.clear();
  const auto verdicts = run_plan(plan, options.globals.quiet);
  auto verdict = verdicts.begin();
  for (const auto& wave : plan.waves)
    for (const TestJob& job : wave) report.rows.push_back(row_of(job, *verdict++));
  conclude(report);
  return deliver_report(report, report, start, options.globals);
}

}  // namespace

void declare_selftest(CommandSpec& command) {
  auto options = std::make_shared<SelftestOptions>();
  command.run = [options] { return run_selftest(*options); };
  add_globals(command, options->globals, false);
  command.add({
      device_option(options->globals),
      {.name = "--inject",
       .value = &options->faults,
       .help = "Only these fault classes",
       .type = "FAULT,...",
       .one_of = case_names(),
       .commas = true},
      {.name = "--only",
       .value = &options->tests,
       .help = "Only these tests",
       .type = "TEST,...",
       .one_of = tried_tests(),
       .commas = true},
      {.name = "--trials",
       .value = &options->trials,
       .help = "Trials of each fault class and test (default: 100)",
       .type = "N",
       .range = Range{1, 1e6}},
      {.name = "--seed",
       .value = &options->seed,
       .help = "Seed of the places (default: random)",
       .type = "N"},
      {.name = "--busy", .value = &options->busy, .help = "Also on GPUs that others use"},
  });
}

}  // namespace gpuready::cli
