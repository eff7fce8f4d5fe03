#include "cli/health_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>
#include <tuple>

#include "base/units.h"
#include "cli/terminal.h"

namespace gpuready::cli {
namespace {

// "Testing: GPU 0 memory 40%, GPU 1 bandwidth starting": what runs now.
std::string progress_text(const std::vector<const TestJob*>& jobs,
                          const std::map<std::size_t, WorkerProgress>& running) {
  std::string text;
  for (const auto& [index, progress] : running) {
    const TestJob& job = *jobs[index];
    const double share = static_cast<double>(progress.done) /
                         static_cast<double>(std::max<std::uint64_t>(progress.total, 1));
    if (text.empty() && !job.options.selftest_of.empty())
      text = fmt::format("Trying {} with {}:", job.options.selftest_of,
                         job.options.inject ? to_string(job.options.inject->kind) : "no fault");
    else
      text += text.empty() ? "Testing:" : ",";
    text += fmt::format(" {}", job.subject);
    if (job.options.selftest_of.empty()) text += fmt::format(" {}", job.test->name);
    text += progress.total == 0 ? " starting" : " " + format_percent(share, 0);
  }
  return text;
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

std::vector<std::optional<std::string>> busy_now(std::span<const TestJob* const> jobs,
                                                 const LookAgain& look) {
  std::vector<std::optional<std::string>> reasons;
  look_until(look, [&](const Machine& now) {
    reasons.clear();
    for (const TestJob* job : jobs) reasons.push_back(why_busy_now(now, *job));
    return std::ranges::none_of(reasons, [](const auto& why) { return why.has_value(); });
  });
  return reasons;
}

}  // namespace

void add_reserves(const Machine& machine, std::vector<Verdict>& verdicts) {
  for (auto& verdict : verdicts) {
    const Gpu* gpu = verdict.uuid ? machine.find_gpu_by_uuid(*verdict.uuid) : nullptr;
    if (gpu && verdict.coverage) verdict.coverage->reserved_bytes = gpu->memory.reserved_bytes;
  }
}

Machine look_until(const LookAgain& look, const std::function<bool(const Machine&)>& idle) {
  constexpr std::chrono::milliseconds kPatience{2000}, kNap{200};
  const auto start = Clock::now();
  while (true) {
    Machine now = look();
    if (idle(now) || Clock::now() - start >= kPatience || interrupted()) return now;
    std::this_thread::sleep_for(kNap);
  }
}

std::vector<Verdict> run_plan(TestPlan plan, bool quiet, Clock::time_point began,
                              const WorkerLimits& limits, const LookAgain& look) {
  catch_interrupts();
  ProgressLine line(quiet);
  std::vector<const TestJob*> jobs;
  for (const auto& wave : plan.waves)
    for (const TestJob& job : wave) jobs.push_back(&job);
  std::map<std::size_t, WorkerProgress> running;
  WorkerHooks hooks;
  hooks.cancel = &interrupted();
  hooks.began = began;
  if (look)
    hooks.survey = [&](std::span<const TestJob* const> next) { return busy_now(next, look); };
  hooks.progress = [&](const WorkerProgress& progress) {
    // What a device does next takes the place of what it did before.
    std::erase_if(running, [&](const auto& other) {
      const auto& devices = jobs[progress.job]->devices;
      return other.first != progress.job &&
             std::any_of(devices.begin(), devices.end(), [&](const DeviceChoice& device) {
               return std::find(jobs[other.first]->devices.begin(),
                                jobs[other.first]->devices.end(),
                                device) != jobs[other.first]->devices.end();
             });
    });
    running[progress.job] = progress;
    line.show(progress_text(jobs, running));
  };
  std::vector<Verdict> verdicts = std::move(plan.not_run);
  auto more = run_waves(plan.waves, hooks, limits);
  std::move(more.begin(), more.end(), std::back_inserter(verdicts));
  return verdicts;
}

std::vector<Verdict> run_health_tests(const Machine& machine, const PlanOptions& options,
                                      bool quiet, Clock::time_point began,
                                      const WorkerLimits& limits, const LookAgain& look) {
  auto verdicts = run_plan(plan_tests(machine, options), quiet, began, limits,
                           options.survey.busy ? LookAgain{} : look);
  add_reserves(machine, verdicts);
  sort_by_subject(verdicts);
  return verdicts;
}

}  // namespace gpuready::cli
