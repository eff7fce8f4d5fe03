#include "cli/health_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "cli/terminal.h"
#include "health/worker.h"

namespace gpuready::cli {
namespace {

std::string progress_text(const std::vector<TestJob>& jobs,
                          const std::vector<WorkerProgress>& state) {
  const TestJob& first = jobs.front();
  std::string text = fmt::format("Testing {}:", first.test->name);
  if (!first.options.selftest_of.empty())
    text = fmt::format("Trying {} with {}:", first.options.selftest_of,
                       first.options.inject ? to_string(first.options.inject->kind) : "no fault");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& progress = state[i];
    const std::string done =
        progress.total == 0
            ? "starting"
            : format_percent(
                  static_cast<double>(progress.done) / static_cast<double>(progress.total), 0);
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", jobs[i].subject, done);
  }
  return text;
}

// A wave that is not run any more.
std::vector<Verdict> interrupted_wave(const std::vector<TestJob>& jobs) {
  std::vector<Verdict> verdicts;
  for (const TestJob& job : jobs) {
    Verdict verdict;
    verdict.test = job.test->name;
    verdict.subject = job.subject;
    verdict.executor = job.devices.front().executor;
    if (verdict.executor == "cuda") verdict.uuid = job.devices.front().id;
    verdict.pci_address = job.pci_address;
    verdict.reason = "interrupted before it began";
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<Verdict> run_wave(const std::vector<TestJob>& jobs, Clock::time_point began,
                              ProgressLine& line) {
  std::vector<WorkerProgress> state(jobs.size());
  WorkerHooks hooks;
  hooks.cancel = &interrupted();
  hooks.began = began;
  hooks.progress = [&](const WorkerProgress& progress) {
    state[progress.job] = progress;
    line.show(progress_text(jobs, state));
  };
  return run_workers(jobs, hooks);
}

// By subject, and each subject's tests in the order of the table.
void sort_by_subject(std::vector<Verdict>& verdicts) {
  std::sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    const auto order = [](const Verdict& v) {
      return std::tuple(v.subject.size(), v.subject, find_health_test(v.test));
    };
    return order(a) < order(b);
  });
}

// NVML alone tells what the driver keeps for itself; the workers ask CUDA.
void add_reserves(const Machine& machine, std::vector<Verdict>& verdicts) {
  for (auto& verdict : verdicts) {
    const Gpu* gpu = verdict.uuid ? machine.find_gpu_by_uuid(*verdict.uuid) : nullptr;
    if (gpu && verdict.coverage) verdict.coverage->reserved_bytes = gpu->memory.reserved_bytes;
  }
}

}  // namespace

std::vector<Verdict> run_plan(TestPlan plan, bool quiet, Clock::time_point began) {
  catch_interrupts();
  ProgressLine line(quiet);
  std::vector<Verdict> verdicts = std::move(plan.not_run);
  for (const auto& wave : plan.waves) {
    auto more = interrupted().load() ? interrupted_wave(wave) : run_wave(wave, began, line);
    std::move(more.begin(), more.end(), std::back_inserter(verdicts));
  }
  return verdicts;
}

std::vector<Verdict> run_health_tests(const Machine& machine, const PlanOptions& options,
                                      bool quiet, Clock::time_point began) {
  auto verdicts = run_plan(plan_tests(machine, options), quiet, began);
  add_reserves(machine, verdicts);
  sort_by_subject(verdicts);
  return verdicts;
}

}  // namespace gpuready::cli
