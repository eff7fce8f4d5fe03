#include "bench/exchange/import.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "bench/record/result_files.h"
#include "unit/products/bench/runs.h"

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

// As hyperfine writes it; newer ones tell memory_usage_byte.
TEST(BenchImport, HyperfinesTimesAreRepeats) {
  const RunRecord run = imported(R"({"results": [
    {"command": "sort a", "mean": 0.002, "stddev": 0.001, "median": 0.002, "user": 0.001,
     "system": 0.0, "min": 0.001, "max": 0.003, "times": [0.001, 0.003, 0.002, 0.004],
     "memory_usage_byte": [4096, 8192, 4096, 4096], "exit_codes": [0, 0, 1, null]},
    {"command": "sort b", "mean": 0.5, "stddev": null, "median": 0.25, "min": 0.1, "max": 1}]})");
  EXPECT_EQ(run.protocol.origin, "hyperfine");
  ASSERT_EQ(run.stacks.size(), 2u);
  ASSERT_EQ(run.stacks[0].repeats.size(), 4u);
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).p50_ns, 2e6);  // of the two that succeeded
  EXPECT_EQ(run.stacks[0].repeats[1].memory_peak_bytes, 8192);
  EXPECT_EQ(run.stacks[0].repeats[2].reason, "exit code 1");
  EXPECT_EQ(run.stacks[0].repeats[3].reason, "a signal ended it");
  EXPECT_EQ(run.stacks[0].status, StackStatus::ok);
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[1]).p50_ns, 0.25e9);
}

TEST(BenchImport, PycsSuite) {
  const RunRecord run = imported(R"({
    "meta": {"timestamp_utc": "2026-01-05T10:00:00+00:00", "host": "h", "os": "Linux",
      "python": "3.12", "device": "cuda", "batch": 64, "hidden": 2048, "iters": 80, "warmup": 20,
      "repeats": 1, "tag": "latest", "adapters": ["torch_eager", "tvm", "glow", "pyc"],
      "run_id": "r", "git_head": "abc", "git_dirty": true},
    "gpu": {"available": true, "gpus": [{"name": "RTX 3090", "driver_version": "550.1",
      "memory_total": "24576 MiB", "compute_capability": "8.6"}]},
    "adapters": {
      "torch_eager": {"status": "ok", "display_name": "PyTorch", "mode": "native",
        "latency_ms": {"mean": 9, "p50": 9, "p95": 9, "min": 9, "max": 9},
        "peak_memory_bytes": 1024, "samples_ms": [0.15, 0.25, 0.2]},
      "pyc": {"status": "ok", "mode": "native",
        "latency_ms": {"mean": 0.1753, "p50": 0.17, "p95": 0.2, "min": 0.1, "max": NaN}},
      "tvm": {"status": "unavailable", "reason": "no module"},
      "glow": {"status": "error", "error": "exit 1"}}})");
  EXPECT_EQ(run.started_utc, "2026-01-05T10:00:00Z");
  EXPECT_EQ(run.workload.name, "mlp");
  EXPECT_EQ(run.workload.shape.at("hidden"), 2048u);
  EXPECT_EQ(run.environment.gpus.at(0).memory_total, "24576 MiB");
  EXPECT_EQ(run.environment.driver_version, "550.1");
  ASSERT_EQ(run.stacks.size(), 4u);
  EXPECT_DOUBLE_EQ(*latency_of(*run.stack("torch_eager")).p50_ns, 0.2e6);
  EXPECT_FALSE(run.stack("torch_eager")->is_verified());
  EXPECT_DOUBLE_EQ(*latency_of(*run.stack("pyc")).mean_ns, 0.1753e6);
  EXPECT_FALSE(latency_of(*run.stack("pyc")).max_ns);
  EXPECT_EQ(run.stack("tvm")->status, StackStatus::unavailable);
  EXPECT_EQ(run.stack("tvm")->reason, "no module");
  EXPECT_EQ(run.stack("glow")->status, StackStatus::error);
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
  EXPECT_EQ(run.stacks[0].id, "llama 7B Q4_0 n_prompt=512 n_gen=0");
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[0]).p50_ns, 102);
}

std::vector<std::string> ids_of(const RunRecord& run) {
  std::vector<std::string> ids;
  for (const auto& stack : run.stacks) ids.push_back(stack.id);
  return ids;
}

std::string llama_test(std::string_view fields, int ns, std::string_view model = "llama") {
  return fmt::format(
      R"({{"model_type": "{2}", "n_prompt": 8, "test_time": "2025-01-02T03:04:0{0}Z",
          "avg_ns": {0}, "avg_ts": {0}.5, "samples_ns": [{0}]{1}}})",
      ns, fields, model);
}

TEST(BenchImport, LlamaBenchOfOtherTestsIsNotPooled) {
  const auto two = [](const char* a, const char* b) {
    return ids_of(imported("[" + llama_test(a, 1) + "," + llama_test(b, 2) + "]"));
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(two(R"(, "split_mode": "row")", R"(, "split_mode": "layer")"),
            (Ids{"llama n_prompt=8 split_mode=row", "llama n_prompt=8 split_mode=layer"}));
  EXPECT_EQ(two(R"(, "use_mmap": true)", ""),
            (Ids{"llama n_prompt=8 use_mmap=true", "llama n_prompt=8"}));
  EXPECT_EQ(two(R"(, "gpu_info": "A")", R"(, "gpu_info": "B")"),
            (Ids{"llama n_prompt=8 gpu_info=A", "llama n_prompt=8 gpu_info=B"}));
  // What is told apart already needs no more.
  EXPECT_EQ(two(R"(, "n_gen": 1, "build_commit": "a")", R"(, "n_gen": 2, "build_commit": "b")"),
            (Ids{"llama n_prompt=8 n_gen=1", "llama n_prompt=8 n_gen=2"}));
  // A fact of the whole run is in an id only if nothing else distinguishes the tests.
  for (const char* field : {"cpu_info", "gpu_info", "backends", "build_commit", "build_number"}) {
    const auto item = [&](const char* value, const char* mode) {
      return fmt::format(R"(, "{}": "{}", "split_mode": "{}")", field, value, mode);
    };
    EXPECT_EQ(two(item("A", "row").c_str(), item("B", "layer").c_str()),
              (Ids{"llama n_prompt=8 split_mode=row", "llama n_prompt=8 split_mode=layer"}))
        << field;
    EXPECT_EQ(two(item("A", "row").c_str(), item("B", "row").c_str()),
              (Ids{fmt::format("llama n_prompt=8 {}=A", field),
                   fmt::format("llama n_prompt=8 {}=B", field)}))
        << field;
  }
  const auto same = imported("[" + llama_test("", 1) + "," + llama_test("", 2) + "]");
  ASSERT_EQ(same.stacks.size(), 1u);
  EXPECT_EQ(same.stacks[0].repeats.size(), 2u);
  ASSERT_EQ(same.notes.size(), 1u);
  EXPECT_TRUE(contains(same.notes[0], "llama n_prompt=8")) << same.notes[0];
  const auto models = imported("[" + llama_test(R"(, "gpu_info": "A")", 1) + "," +
                               llama_test(R"(, "gpu_info": "B")", 2, "qwen") + "]");
  EXPECT_EQ(ids_of(models), (Ids{"llama n_prompt=8", "qwen n_prompt=8"}));
  EXPECT_EQ(models.workload.name, "llama, qwen");
  ASSERT_EQ(models.environment.gpus.size(), 2u);
  EXPECT_EQ(models.environment.gpus[1].name, "B");
}

TEST(BenchImport, LlamaBenchByLinesIsAsItsArray) {
  const auto line = [](int gen, int ns) {
    auto text = llama_test(fmt::format(R"(, "n_gen": {})", gen), ns);
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  const auto one = line(1, 1), two = line(2, 2);
  EXPECT_EQ(ids_of(imported(one + "\n" + two + "\n")),
            ids_of(imported("[" + one + "," + two + "]")));
  EXPECT_EQ(ids_of(imported(one)), ids_of(imported("[" + one + "]")));
  EXPECT_FALSE(import_run(one + "\n{\"n_prompt\"", "f"));
}

std::string google_rows(std::string_view rows) {
  return fmt::format(R"({{"context": {{}}, "benchmarks": [{}]}})", rows);
}

TEST(BenchImport, GoogleBenchmarksOfOneNameAreTwo) {
  const RunRecord run = imported(google_rows(R"(
    {"name": "A", "run_name": "A", "run_type": "iteration", "family_index": 0,
     "per_family_instance_index": 0, "repetition_index": 0, "real_time": 10},
    {"name": "A", "run_name": "A", "run_type": "iteration", "family_index": 0,
     "per_family_instance_index": 0, "repetition_index": 1, "real_time": 11},
    {"name": "A", "run_name": "A", "run_type": "iteration", "family_index": 1,
     "per_family_instance_index": 0, "repetition_index": 0, "real_time": 1000},
    {"name": "B", "run_name": "B", "run_type": "iteration", "family_index": 2,
     "per_family_instance_index": 0, "real_time": 5})"));
  EXPECT_EQ(ids_of(run),
            (std::vector<std::string>{"A family=0 instance=0", "A family=1 instance=0", "B"}));
  EXPECT_EQ(run.stacks[0].repeats.size(), 2u);
}

TEST(BenchImport, GoogleBenchmarkKeepsAggregatesBesideIterations) {
  const RunRecord run = imported(google_rows(R"(
    {"name": "A", "run_name": "A", "run_type": "iteration", "real_time": 50},
    {"name": "B_mean", "run_name": "B", "run_type": "aggregate", "aggregate_name": "mean",
     "real_time": 101},
    {"name": "B_median", "run_name": "B", "run_type": "aggregate", "aggregate_name": "median",
     "real_time": 100},
    {"name": "C_median", "run_name": "C", "run_type": "aggregate", "aggregate_name": "median",
     "real_time": 7},
    {"name": "A_BigO", "run_name": "A", "run_type": "aggregate", "aggregate_name": "BigO"})"));
  EXPECT_EQ(ids_of(run), (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[1]).mean_ns, 101);
  EXPECT_EQ(run.stacks[2].status, StackStatus::no_valid_samples);
}

TEST(BenchImport, AggregatesOfOldGoogleBenchmarksAreNoBenchmarks) {
  const RunRecord run = imported(google_rows(R"(
    {"name": "A", "real_time": 5}, {"name": "A", "real_time": 7},
    {"name": "A_mean", "real_time": 6}, {"name": "A_median", "real_time": 6},
    {"name": "A_stddev", "real_time": 1},
    {"name": "B_mean", "real_time": 9}, {"name": "B_stddev", "real_time": 1},
    {"name": "harmonic_mean", "real_time": 3})"));
  EXPECT_EQ(ids_of(run), (std::vector<std::string>{"A", "B", "harmonic_mean"}));
  EXPECT_EQ(run.stacks[0].repeats.size(), 2u);
  EXPECT_DOUBLE_EQ(*latency_of(run.stacks[1]).mean_ns, 9);
}

TEST(BenchImport, GoogleBenchmarkSaysWhyThereIsNoFigure) {
  const RunRecord run = imported(google_rows(R"(
    {"name": "A", "run_type": "iteration", "skipped": true, "skip_message": "no GPU",
     "real_time": 0},
    {"name": "B", "run_type": "iteration", "real_time": 5, "time_unit": "fortnights"},
    {"name": "C", "run_type": "iteration", "real_time": 0}, {"name": "D", "real_time": 1})"));
  EXPECT_EQ(run.stacks[0].status, StackStatus::unavailable);
  EXPECT_EQ(run.stacks[0].reason, "no GPU");
  EXPECT_EQ(run.stacks[1].status, StackStatus::error);
  EXPECT_EQ(run.stacks[1].reason, "its time_unit is \"fortnights\"; ns, us, ms and s are known");
  EXPECT_EQ(run.stacks[2].reason, "its time is not a positive number");
}

// As asv 0.6 writes them: trailing columns may be missing, samples only where they were recorded.
constexpr std::string_view kAsv =
    R"({"commit_hash": "1a2b3c", "env_name": "virtualenv-py3.12-numpy",
  "date": 1700000000000, "params": {"arch": "x86_64", "cpu": "EPYC", "machine": "box", "num_cpu": "8",
  "os": "Linux 6.1", "ram": "64", "python": "3.12", "numpy": ""}, "python": "3.12",
  "requirements": {"numpy": "2.1", "any": ""}, "env_vars": {"OMP_NUM_THREADS": "2"},
  "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a",
    "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"],
  "results": {
    "suite.Keys.time_sort": [[0.001, NaN, null, 0.004], [["10", "'a'"], ["True", "False"]], "v",
      1709294460500, 1.5],
    "suite.time_one": [[0.0025], [], "v", 1709294400250, 1.5, [0.0024], [0.0026], [0.0024], [0.0026],
      [10], [3], [[0.0024, 0.0025, 0.0026]]],
    "suite.TimeOld": [[1e-9], []],
    "suite.time_broken": [null, []],
    "suite.peakmem_one": [[1048576], []], "suite.track_timeouts": [[3], []]},
  "durations": {"<build>": 3.2}, "version": 2})";

TEST(BenchImport, AsvTimesAreStacks) {
  const RunRecord run = imported(kAsv);
  EXPECT_EQ(run.protocol.origin, "asv");
  EXPECT_EQ(run.git_commit, "1a2b3c");
  EXPECT_EQ(run.started_utc, "2024-03-01T12:00:00Z");
  EXPECT_EQ(run.environment.cpu_model, "EPYC");
  EXPECT_EQ(run.environment.cpu_cores, 8u);
  EXPECT_EQ(run.environment.variables.at("OMP_NUM_THREADS"), "2");
  ASSERT_EQ(ids_of(run), (std::vector<std::string>{
                             "suite.Keys.time_sort(10, True)", "suite.Keys.time_sort(10, False)",
                             "suite.Keys.time_sort('a', True)", "suite.Keys.time_sort('a', False)",
                             "suite.time_one", "suite.TimeOld", "suite.time_broken"}));
  EXPECT_EQ(latency_of(run.stacks[0]).p50_ns, 1e6);
  EXPECT_EQ(run.stacks[1].status, StackStatus::error);
  EXPECT_EQ(run.stacks[1].reason, "it failed, or its suite skipped it");
  EXPECT_EQ(run.stacks[3].repeats[0].reported.p50_ns, 4e6);
  EXPECT_EQ(run.stacks[6].status, StackStatus::error);
  EXPECT_EQ(run.stacks[4].repeats[0].samples_ns, (std::vector<double>{2.4e6, 2.5e6, 2.6e6}));
  EXPECT_EQ(run.stacks[4].versions,
            (std::map<std::string, std::string>{{"numpy", "2.1"}, {"python", "3.12"}}));
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_TRUE(run.notes[0].ends_with(": 2 of 6 benchmarks.")) << run.notes[0];
}

// Of a result and its samples, one that is above 0 is enough.
TEST(BenchImport, AsvTimesAreAboveZero) {
  const RunRecord run =
      imported(R"({"version": 2, "result_columns": ["result", "params", "samples"],
    "results": {"time_zero": [[0], [], [[0, 0]]], "time_samples": [[0], [], [[0, 0.001]]],
      "time_result": [[0.002], [], [[0]]], "time_only": [[0.003]], "time_less": [[-1]]}})");
  ASSERT_EQ(ids_of(run), (std::vector<std::string>{"time_zero", "time_samples", "time_result",
                                                   "time_only", "time_less"}));
  for (const std::size_t without : {0u, 4u}) {
    EXPECT_EQ(run.stacks[without].status, StackStatus::no_valid_samples);
    EXPECT_EQ(run.stacks[without].reason, "its time is not greater than 0");
  }
  const std::pair<std::size_t, double> timed[] = {{1, 1e6}, {2, 2e6}, {3, 3e6}};
  for (const auto& [stack, ns] : timed) {
    EXPECT_EQ(run.stacks[stack].status, StackStatus::ok) << run.stacks[stack].id;
    EXPECT_EQ(latency_of(run.stacks[stack]).p50_ns, ns) << run.stacks[stack].id;
  }
}

TEST(BenchImport, AsvFilesOfOtherVersionsAreRefused) {
  std::string old(kAsv);
  old.replace(old.rfind("2}"), 1, "1");
  const auto run = import_run(old, "f");
  ASSERT_FALSE(run);
  EXPECT_TRUE(contains(run.error().message, "version 1; version 2 is read")) << run.error().message;
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
            "f is not a document of gpuready, google/benchmark, nvbench, llama-bench, hyperfine, "
            "asv or PyC's GPU suite");
}

TEST(BenchImport, AFileWithHalfOfAFormatIsOfNone) {
  for (const char* text :
       {R"({"meta": {"task": "mlp"}})", R"({"adapters": {"pyc": {"status": "ok"}}})",
        R"({"meta": {"task": "mlp"}, "adapters": ["pyc"]})",
        R"({"version": 2, "result_columns": ["result"]})",
        R"({"version": 2, "results": {"time_a": [[1]]}})",
        R"({"version": 2, "result_columns": "result", "results": {"time_a": [[1]]}})",
        R"({"version": 2, "result_columns": ["result"], "results": "time_a"})",
        R"({"meta": ["mlp"], "adapters": {"pyc": {"status": "ok"}}})"}) {
    const auto run = import_run(text, "f");
    ASSERT_FALSE(run) << text;
    EXPECT_TRUE(run.error().message.starts_with("f is not a document of")) << run.error().message;
  }
}

TEST(BenchImport, NonNumbersInTextStay) {
  EXPECT_EQ(without_non_numbers(R"({"NaN": "-inf \" nan", "a": -Infinity, "b": [nan, 1e5, true]})"),
            R"({"NaN": "-inf \" nan", "a": null, "b": [null, 1e5, true]})");
  EXPECT_EQ(without_non_numbers("\"\\"), "\"\\");
}

// A file beside the folder of results, as `bench import` gets it.
class BenchImportFile : public ::testing::Test {
 protected:
  BenchImportFile() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~BenchImportFile() override { std::filesystem::remove_all(folder_); }
  Result<RunRecord> import(const std::string& tag = "") {
    return import_file(*make_live_host(), file_, folder_ + "/results", tag, 1'772'366'400);
  }
  void write(std::string_view text) { std::ofstream(file_) << text; }
  void keep(const RunRecord& run) {
    ASSERT_TRUE(save_run(
        folder_ + "/results", run,
        dump(
            Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}})));
  }
  std::string refused(const std::string& tag = "") {
    const auto run = import(tag);
    if (run) return "imported as " + run->tag;
    EXPECT_EQ(run.error().kind, ErrorKind::bad_input);
    return run.error().message;
  }
  std::string folder_ = std::string(GPUREADY_BINARY_DIR) + "/importXXXXXX";
  std::string file_ = "result.v2.json";
  void SetUp() override { file_ = folder_ + "/" + file_; }
};

constexpr std::string_view kTimed = R"({"context": {"date": "2024-05-01T14:00:00+02:00"},
  "benchmarks": [{"name": "A", "run_type": "iteration", "real_time": 2, "time_unit": "ms"}]})";

TEST_F(BenchImportFile, HasTheTagThatIsGivenOrTheFilesName) {
  write(kTimed);
  const auto run = import();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->tag, "result.v2");
  EXPECT_EQ(run->started_utc, "2024-05-01T12:00:00Z");
  EXPECT_TRUE(run->notes.empty());
  EXPECT_EQ(refused("mine"), "imported as mine");
  EXPECT_TRUE(refused("a b").starts_with("a b is not a tag: ")) << refused("a b");
}

TEST_F(BenchImportFile, WithoutATimeHasThatOfItsImport) {
  write(R"({"context": {}, "benchmarks": [
    {"name": "A", "run_type": "iteration", "real_time": 2, "time_unit": "ms"}]})");
  const auto run = import();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->started_utc, "2026-03-01T12:00:00Z");
  EXPECT_EQ(run->notes,
            std::vector<std::string>{"The file holds no time; it was imported at the one given."});
}

TEST_F(BenchImportFile, WithoutAMeasurementIsRefusedWithTheCauseOfTheFirst) {
  write(R"({"context": {}, "benchmarks": [
    {"name": "A", "run_type": "iteration", "error_occurred": true, "error_message": "no memory",
     "real_time": 0, "time_unit": "ms"}]})");
  EXPECT_EQ(refused(), "no result of " + file_ + " has a measurement: A: no memory");
  RunRecord run = run_of("r1", {});
  write(dump(Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}}));
  EXPECT_EQ(refused(), "no result of " + file_ + " has a measurement: gpuready: it has no time");
  run.stacks.clear();
  write(dump(Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}}));
  EXPECT_EQ(refused(), "no result of " + file_ + " has a measurement: it holds none");
}

TEST_F(BenchImportFile, IsImportedOnceWhateverTheTag) {
  write(kTimed);
  const auto run = import("mine");
  ASSERT_TRUE(run);
  keep(*run);
  for (const char* tag : {"mine", "other"})
    EXPECT_EQ(refused(tag),
              file_ + " was imported already: " + folder_ + "/results/" + run->id + "__mine.json");
}

TEST_F(BenchImportFile, IsOfTheTagsWork) {
  write(kTimed);
  keep(run_of("r1", {1}));  // its tag is "test"
  EXPECT_EQ(refused("test"),
            "the tag test holds runs of mlp batch 64 hidden 2048, bf16, cuda (r1), and this one is "
            "of , cpu: give it another tag");
  EXPECT_EQ(refused("other"), "imported as other");
}

}  // namespace
}  // namespace gpuready::bench
