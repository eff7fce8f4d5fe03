#include "bench/import.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready::bench {
namespace {

RunRecord imported(std::string_view text) {
  const auto run = import_run(text, "file.json");
  EXPECT_TRUE(run) << run.error().message;
  return run ? *run : RunRecord{};
}

// As google/benchmark 1.8 writes it, with what strict readers of JSON refuse.
constexpr std::string_view kGoogle = R"({
  "context": {"date": "2024-05-01T14:00:00+02:00", "host_name": "box", "executable": "./b/bm_copy",
    "num_cpus": 8, "mhz_per_cpu": 2400, "caches": [], "load_avg": [0.5],
    "library_build_type": "release", "json_schema_version": 1},
  "benchmarks": [
    {"name": "BM_Copy/64", "run_name": "BM_Copy/64", "run_type": "iteration", "repetitions": 2,
     "repetition_index": 0, "threads": 1, "iterations": 1000, "real_time": 1.25e+01,
     "cpu_time": NaN, "time_unit": "us", "bytes_per_second": Infinity},
    {"name": "BM_Copy/64", "run_name": "BM_Copy/64", "run_type": "iteration",
     "repetition_index": 1, "real_time": 13.5, "time_unit": "us"},
    {"name": "BM_Copy/64_mean", "run_name": "BM_Copy/64", "run_type": "aggregate",
     "aggregate_name": "mean", "real_time": 99, "time_unit": "us"},
    {"name": "BM_Bad", "run_name": "BM_Bad", "run_type": "iteration", "error_occurred": true,
     "error_message": "no memory", "real_time": -Infinity, "time_unit": "ns"}]})";

TEST(BenchImport, GoogleBenchmark) {
  const RunRecord run = imported(kGoogle);
  EXPECT_EQ(run.protocol.origin, "google-benchmark");
  EXPECT_EQ(run.started_utc, "2024-05-01T12:00:00Z");
  EXPECT_EQ(run.workload.name, "bm_copy");
  ASSERT_EQ(run.stacks.size(), 2u);
  ASSERT_EQ(run.stacks[0].repeats.size(), 2u);
  EXPECT_DOUBLE_EQ(*run.stacks[0].repeats[0].reported.mean_ns, 12'500);
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).mean_ns, 13'000);
  EXPECT_FALSE(latency_of(run.stacks[0]).p50_ns);
  EXPECT_EQ(run.stacks[1].status, StackStatus::error);
  EXPECT_EQ(run.stacks[1].reason, "no memory");
}

TEST(BenchImport, GoogleBenchmarkOfAggregatesAlone) {
  const RunRecord run = imported(R"({"context": {}, "benchmarks": [
    {"name": "A_mean", "run_name": "A", "run_type": "aggregate", "aggregate_name": "mean",
     "real_time": 2, "time_unit": "ms"},
    {"name": "A_stddev", "run_name": "A", "run_type": "aggregate", "aggregate_name": "stddev",
     "real_time": 1, "time_unit": "ms"}]})");
  ASSERT_EQ(run.stacks.size(), 1u);
  ASSERT_EQ(run.stacks[0].repeats.size(), 1u);
  EXPECT_DOUBLE_EQ(*run.stacks[0].repeats[0].reported.mean_ns, 2e6);
}

TEST(BenchImport, NvbenchNumbersAreText) {
  const RunRecord run = imported(R"({
    "meta": {"argv": ["/x/copy_bench", "--json", "f"], "version": {"nvbench": {"string": "1.0.0"}}},
    "devices": [{"id": 0, "name": "NVIDIA H200", "sm_version": 900}],
    "benchmarks": [{"name": "copy", "axes": [], "states": [
      {"name": "s", "device": 0,
       "axis_values": [{"name": "Bytes", "type": "int64", "value": "9007199254740993"}],
       "summaries": [
         {"tag": "nv/cold/sample_size", "data": [{"name": "value", "type": "int64", "value": "70"}]},
         {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "0.00125"}]},
         {"tag": "nv/cold/time/gpu/min", "data": [{"name": "value", "type": "float64", "value": "nan"}]}],
       "is_skipped": false},
      {"name": "t", "device": 0, "axis_values": [{"name": "Bytes", "value": "1"}],
       "summaries": null, "is_skipped": true, "skip_reason": "too small"}]}]})");
  EXPECT_EQ(run.environment.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(run.workload.name, "copy_bench");
  EXPECT_EQ(run.tool_version, "1.0.0");
  ASSERT_EQ(run.stacks.size(), 2u);
  EXPECT_EQ(run.stacks[0].id, "copy Bytes=9007199254740993");
  EXPECT_DOUBLE_EQ(*run.stacks[0].repeats[0].reported.mean_ns, 1.25e6);
  EXPECT_FALSE(run.stacks[0].repeats[0].reported.min_ns);
  EXPECT_EQ(run.stacks[1].status, StackStatus::unavailable);
  EXPECT_EQ(run.stacks[1].reason, "too small");
}

TEST(BenchImport, LlamaBenchGivesItsSamples) {
  const RunRecord run = imported(R"([{"build_commit": "abc123", "build_number": 4000,
    "cpu_info": "EPYC", "gpu_info": "NVIDIA H200", "backends": "CUDA", "model_type": "llama 7B Q4_0",
    "n_prompt": 512, "n_gen": 0, "test_time": "2025-01-02T03:04:05Z", "avg_ns": 102, "stddev_ns": nan,
    "samples_ns": [100, 104], "samples_ts": [5.1, inf]}])");
  EXPECT_EQ(run.git_commit, "abc123");
  EXPECT_EQ(run.workload.device, "cuda");
  ASSERT_EQ(run.stacks.size(), 1u);
  EXPECT_EQ(run.stacks[0].id, "n_prompt=512 n_gen=0");
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).p50_ns, 102);
}

TEST(BenchImport, IdsFollowFromTheContent) {
  EXPECT_EQ(imported(kGoogle).id, imported(kGoogle).id);
  std::string other(kGoogle);
  other.replace(other.find("13.5"), 4, "13.6");
  EXPECT_NE(imported(kGoogle).id, imported(other).id);
}

TEST(BenchImport, OtherFilesAreRefused) {
  for (const char* text :
       {"", "{", "null", "[]", "{}", "[1]", R"({"benchmarks": []})",
        R"({"context": {}, "benchmarks": []})", R"({"context": {}, "benchmarks": [{}]})",
        R"({"schema": "other"})", R"([{"samples_ns": []}])"})
    EXPECT_FALSE(import_run(text, "f")) << text;
  EXPECT_EQ(import_run("{}", "f").error().message,
            "f is no document of gpuready, google/benchmark, nvbench or llama-bench");
}

TEST(BenchImport, NonNumbersInTextStay) {
  EXPECT_EQ(without_non_numbers(R"({"NaN": "-inf \" nan", "a": -Infinity, "b": [nan, 1e5, true]})"),
            R"({"NaN": "-inf \" nan", "a": null, "b": [null, 1e5, true]})");
  EXPECT_EQ(without_non_numbers("\"\\"), "\"\\");
}

}  // namespace
}  // namespace gpuready::bench
