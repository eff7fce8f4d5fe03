#include "health/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "health/bandwidth/plan.h"
#include "health/peers/plan.h"

namespace gpuready {
namespace {

std::vector<const HealthTest*> asked_tests(const PlanOptions& options) {
  const auto names = options.tests.empty() ? tests_of(options.survey.test.level) : options.tests;
  std::vector<const HealthTest*> tests;
  for (const HealthTest& test : health_tests())
    if (std::find(names.begin(), names.end(), test.name) != names.end()) tests.push_back(&test);
  return tests;
}

bool runs_on(const HealthTest& test, const DeviceChoice& device) {
  return std::find(test.executors.begin(), test.executors.end(), device.executor) !=
         test.executors.end();
}

// A test of single devices: a job for each target.
std::vector<TestJob> single_jobs(const HealthTest& test, const std::vector<Target>& targets) {
  std::vector<TestJob> jobs;
  for (const Target& target : targets)
    if (runs_on(test, target.device))
      jobs.push_back({&test, target.subject, {target.device}, target.pci_address, target.options});
  return jobs;
}

std::vector<UntestedGpu> untested_gpus(const Survey& survey) {
  std::vector<UntestedGpu> gpus;
  for (const Refused& refused : survey.refused)
    if (refused.gpu) gpus.push_back({refused.gpu, refused.why.reason});
  return gpus;
}

void add_unsupported(const HealthTest& test, const Survey& survey, TestPlan& plan) {
  for (const Refused& refused : survey.refused)
    plan.not_run.push_back(not_run(test, refused.subject, refused.gpu, refused.why));
  for (const Target& target : survey.targets)
    if (target.gpu && !runs_on(test, target.device))
      plan.not_run.push_back(not_run(
          test, target.subject, target.gpu,
          {VerdictStatus::not_supported,
           fmt::format("the {} test does not run through {}", test.name, target.device.executor)}));
}

// What is a trial of `tried` in place of its test.
TestJob trial_of(const SelfTestCase& tried, TestJob job, std::uint64_t trials, std::uint64_t seed) {
  const TestOptions limits = job.options;
  job.test = find_health_test(job.devices.size() == 1 ? "selftest" : "selftest-pair");
  job.options = self_test_options(tried, trials, seed);
  job.options.reserve_free_bytes = limits.reserve_free_bytes;
  job.options.max_launch_ms = limits.max_launch_ms;
  if (!job.options.max_bytes) job.options.max_bytes = limits.max_bytes;
  return job;
}

}  // namespace

TestPlan plan_tests(const Machine& machine, const PlanOptions& options) {
  TestPlan plan;
  const Survey survey = survey_devices(machine, options.survey);
  // All tests of single devices, those first for which devices queue.
  std::vector<TestJob> singles;
  std::vector<std::vector<TestJob>> after;
  for (const HealthTest* test : asked_tests(options)) {
    const std::size_t told = plan.not_run.size();
    auto jobs = single_jobs(*test, survey.targets);
    bool runs = !jobs.empty();
    if (test->devices > 1) {
      auto pairs = plan_pairs(machine, *test, jobs, untested_gpus(survey), options.named);
      runs = !pairs.waves.empty();
      std::move(pairs.waves.begin(), pairs.waves.end(), std::back_inserter(after));
      std::move(pairs.not_run.begin(), pairs.not_run.end(), std::back_inserter(plan.not_run));
    } else {
      add_unsupported(*test, survey, plan);
      auto where = singles.end();
      if (test->name == "bandwidth") {
        auto bandwidth = plan_bandwidth(machine, std::move(jobs));
        jobs = std::move(bandwidth.alone);
        where = singles.begin();
        if (!bandwidth.together.empty()) after.push_back(std::move(bandwidth.together));
      }
      singles.insert(where, std::move_iterator(jobs.begin()), std::move_iterator(jobs.end()));
    }
    if (options.named && !runs && plan.not_run.size() == told)
      plan.not_run.push_back(
          not_run(*test, "this machine", nullptr,
                  {VerdictStatus::not_tested, "no device here that it runs on"}));
  }
  if (!singles.empty()) plan.waves.push_back(std::move(singles));
  std::move(after.begin(), after.end(), std::back_inserter(plan.waves));
  return plan;
}

TestPlan plan_self_tests(const Machine& machine, const SurveyOptions& options,
                         const std::vector<SelfTestCase>& cases, std::uint64_t trials) {
  TestPlan plan;
  const Survey survey = survey_devices(machine, options);
  const HealthTest* self = find_health_test("selftest");
  for (const Refused& refused : survey.refused)
    plan.not_run.push_back(not_run(*self, refused.subject, refused.gpu, refused.why));
  for (const SelfTestCase& tried : cases) {
    const HealthTest& test = *find_health_test(tried.test);
    auto singles = single_jobs(test, survey.targets);
    auto waves = test.devices == 1 ? std::vector<std::vector<TestJob>>{std::move(singles)}
                                   : plan_pairs(machine, test, singles, {}, false).waves;
    for (auto& wave : waves) {
      for (TestJob& job : wave) job = trial_of(tried, std::move(job), trials, *options.test.seed);
      if (!wave.empty()) plan.waves.push_back(std::move(wave));
    }
  }
  return plan;
}

}  // namespace gpuready
