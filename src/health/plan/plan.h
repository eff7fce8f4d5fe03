// Which tests run on which devices, in which order. Pure.
#pragma once

#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "health/plan/survey.h"
#include "health/selftest.h"
#include "health/worker/job.h"

namespace gpuready {

struct PlanOptions {
  SurveyOptions survey = {};
  std::vector<std::string> tests = {};  // names; empty: those of the level
  bool named = false;  // the user named them: also what is impossible here is reported
};

struct TestPlan {
  // For run_waves(), which sees to it that the jobs of one device follow each other.
  std::vector<std::vector<TestJob>> waves;
  std::vector<Verdict> not_run;  // with the reason
};

TestPlan plan_tests(const Machine& machine, const PlanOptions& options);

// A wave a case, with a job for each device that the case's test runs on. survey.test.seed is set.
TestPlan plan_self_tests(const Machine& machine, const SurveyOptions& options,
                         const std::vector<SelfTestCase>& cases, std::uint64_t trials);

}  // namespace gpuready
