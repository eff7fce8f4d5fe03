#include "bench/record/run_record.h"

#include <gtest/gtest.h>

#include "bench/record/fields_run.h"
#include "unit/products/bench/runs.h"
#include "unit/value/fill.h"

namespace gpuready::bench {
namespace {

RunRecord filled_run() {
  auto run = value::filled<RunRecord>();
  run.stacks[0].repeats[0].throttled = {};
  return run;
}

TEST(BenchRun, EveryFieldSurvivesADocument) {
  const RunRecord run = filled_run();
  const Json written = to_json(run);
  const auto read = run_from_json(written, "a run");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), written);
  EXPECT_EQ(dump(written).find("null"), std::string::npos);
}

TEST(BenchRun, WhatNobodyReportedIsAbsent) {
  const Json written = to_json(run_of("r", {}));
  const Json& repeat = written["stacks"][0]["repeats"][0];
  for (const char* key : {"samples_ns", "latency", "reported", "energy_mj", "memory_peak_bytes",
                          "flops_done", "digest", "reason"})
    EXPECT_FALSE(repeat.contains(key)) << key;
  EXPECT_FALSE(written["stacks"][0].contains("latency"));
}

std::string refusal(const std::function<void(RunRecord&)>& spoil) {
  RunRecord run = run_of("r", {100, 101});
  spoil(run);
  const auto read = run_from_json(to_json(run), "r.json");
  return read ? "" : read.error().message;
}

TEST(BenchRun, NonsenseIsRefusedByName) {
  EXPECT_EQ(refusal([](RunRecord&) {}), "");
  EXPECT_EQ(refusal([](RunRecord& run) { run.stacks.push_back(run.stacks[0]); }),
            "r.json: it contains the stack gpuready twice");
  EXPECT_EQ(refusal([](RunRecord& run) { run.stacks[0].repeats[0].samples_ns[1] = 0; }),
            "r.json: repeat 0 of gpuready has a sample that is not greater than 0");
  EXPECT_EQ(refusal([](RunRecord& run) { run.stacks[0].repeats[0].throttled = {2}; }),
            "r.json: repeat 0 of gpuready marks sample 2 of 2 as throttled");
  EXPECT_EQ(refusal([](RunRecord& run) { run.stacks[0].repeats[0].energy_mj = -1; }),
            "r.json: repeat 0 of gpuready reports a negative energy");
}

// Expected values are numpy's: numpy.percentile([1, 2, 4, 8], [50, 95]).
TEST(BenchRun, PercentilesAreNumpys) {
  EXPECT_DOUBLE_EQ(*percentile({8, 1, 4, 2}, 0.5), 3);
  EXPECT_DOUBLE_EQ(*percentile({8, 1, 4, 2}, 0.95), 7.4);
  EXPECT_DOUBLE_EQ(*percentile({5}, 0.95), 5);
  EXPECT_FALSE(percentile({}, 0.5));
}

TEST(BenchRun, SamplesUnderThrottlingDoNotCount) {
  RunRecord run = run_of("r", {100, 900, 102});
  run.stacks[0].repeats[0].throttled = {1};
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).mean_ns, 101);
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).max_ns, 102);
  // All dropped: no figure, and not what the stack says of itself.
  run.stacks[0].repeats[0].throttled = {0, 1, 2};
  run.stacks[0].repeats[0].reported.mean_ns = 100;
  EXPECT_FALSE(latency_of(run.stacks[0]).mean_ns);
}

TEST(BenchRun, ABadRepeatDoesNotCarryTheStack) {
  RunRecord run = run_of("r", {100});
  for (const double ns : {101.0, 5000.0, 1.0})
    run.stacks[0].repeats.emplace_back().samples_ns = {ns};
  run.stacks[0].repeats[3].status = StackStatus::different_work;
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).p50_ns, 101);
}

// numpy.percentile([100] * 18 + [200, 300], 95) is 205; of the repeats it is 100 and 255, in the
// middle 177.5.
TEST(BenchRun, P95IsOfTheSamplesOfAllRepeats) {
  RunRecord run = run_of("r", std::vector<double>(10, 100));
  auto& repeats = run.stacks[0].repeats;
  repeats.push_back(repeats[0]);
  repeats[1].samples_ns[8] = 200;
  repeats[1].samples_ns[9] = 300;
  EXPECT_NEAR(*p95_of(run.stacks[0]), 205, 1e-9);
  EXPECT_NEAR(*latency_of(run.stacks[0]).p95_ns, 177.5, 1e-9);
  // Of what stacks say without samples, the median.
  for (auto& repeat : repeats) repeat.samples_ns.clear();
  repeats[0].reported.p95_ns = 10;
  repeats[1].reported.p95_ns = 30;
  EXPECT_DOUBLE_EQ(*p95_of(run.stacks[0]), 20);
}

TEST(BenchRun, FingerprintIsOfTheMachineAndNotOfItsMoods) {
  Environment here;
  here.gpus = {{"NVIDIA H200", "GPU-1"}, {"NVIDIA H200", "GPU-2"}};
  here.driver_version = "580.65.06";
  Environment same = here;
  std::swap(same.gpus[0], same.gpus[1]);
  same.variables["CUDA_LAUNCH_BLOCKING"] = "1";
  EXPECT_EQ(here.fingerprint(), same.fingerprint());
  EXPECT_EQ(here.fingerprint().size(), 16u);
  for (const auto field :
       {&Environment::driver_version, &Environment::cuda_version, &Environment::kernel_release,
        &Environment::os_name, &Environment::cpu_model}) {
    Environment other = here;
    other.*field += "x";
    EXPECT_NE(here.fingerprint(), other.fingerprint());
  }
  // A text that moves from one field to the next is another machine.
  Environment a, b;
  a.driver_version = "12";
  b.cuda_version = "12";
  EXPECT_NE(a.fingerprint(), b.fingerprint());
}

}  // namespace
}  // namespace gpuready::bench
