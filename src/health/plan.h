// Which tests may run on which GPUs, and how far, on this machine. Pure: "do no harm" is decided
// here.
#pragma once

#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "health/job.h"
#include "health/selftest.h"

namespace gpuready {

struct PlanOptions {
  TestOptions test = {};                  // what every job starts from
  std::vector<std::string> tests = {};    // names; empty: those of the level
  bool busy = false;                      // test GPUs that others use, too, leaving memory to them
  std::vector<std::string> devices = {};  // --device; empty: all
};

struct TestPlan {
  // Each wave ends before the next begins; its jobs run at the same time.
  std::vector<std::vector<TestJob>> waves;
  std::vector<Verdict> not_run;  // with the reason
};

// Without GPU hardware here (or where "cpu" is named) the host's memory and processor are tested.
TestPlan plan_tests(const Machine& machine, const PlanOptions& options);

// A wave a case, with a job for each device that the case's test runs on. options.test.seed is set.
TestPlan plan_self_tests(const Machine& machine, const PlanOptions& options,
                         const std::vector<SelfTestCase>& cases, std::uint64_t trials);

// Does the list name this GPU, by index, PCI address, UUID or a UUID's unambiguous beginning? A
// list that names no GPU but executors only ("cuda") means every GPU.
bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu);

}  // namespace gpuready
