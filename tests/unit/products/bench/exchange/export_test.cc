#include "bench/exchange/export.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "bench/exchange/import.h"
#include "bench/record/result_files.h"
#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

RunRecord three_stacks() {
  RunRecord run = run_of("20260301T120000Z-1a2b3c4d", {2'000'000, 4'000'000});
  run.started_utc = "2026-03-01T12:00:00Z";
  run.stacks[0].repeats[0].memory_peak_bytes = 1 << 20;
  run.stacks[0].repeats.emplace_back().samples_ns = {3'000'000};
  StackResult absent;
  absent.id = "tvm";
  absent.status = StackStatus::unavailable;
  absent.reason = "the module tvm is not installed";
  run.stacks.push_back(absent);
  StackResult other;
  other.id = "xla";
  other.mode = "proxy";
  other.status = StackStatus::different_work;
  other.reason = "it gives no digest";
  other.repeats.emplace_back().status = StackStatus::different_work;
  other.repeats.back().reason = "it said \"no, thanks\", and\nleft";
  run.stacks.push_back(other);
  return run;
}

TEST(BenchExport, CsvHasARowForEachRepeat) {
  const RunRecord run = three_stacks();
  const std::string csv = to_csv(std::span(&run, 1));
  const auto rows = split(csv, "\r");
  // A name row, two repeats and one whose reason has a line break (which is not "\r").
  ASSERT_GE(rows.size(), 4u);
  std::size_t ends = 0;
  for (auto at = csv.find("\r\n"); at != csv.npos; at = csv.find("\r\n", at + 1)) ++ends;
  EXPECT_EQ(ends, 4u) << csv;
  EXPECT_TRUE(contains(rows[0], "run_id,tag,started_utc"));
  EXPECT_TRUE(
      contains(rows[1], ",mlp,batch=64 hidden=2048,bf16,cuda,gpuready,,0,0,ok,,2,0,3000000,"))
      << rows[1];
  EXPECT_TRUE(contains(rows[2], ",gpuready,,1,0,ok,,1,0,3000000,3000000,")) << rows[2];
  EXPECT_TRUE(contains(csv, ",different_work,\"it said \"\"no, thanks\"\", and\nleft\",0,0,,,"))
      << csv;
}

// Texts of others (a stack's reason, its name, a commit) are no formulas; figures stay figures.
TEST(BenchExport, NoCellIsAFormula) {
  for (const std::string begin : {"=", "+", "-", "@", "\t", "\n", "\uff1d"}) {
    RunRecord run = three_stacks();
    run.tag = begin + "HYPERLINK(\"http://x\",A1)";
    run.stacks[0].repeats[0].conditions.gpu_celsius = -5;
    run.stacks[0].repeats[0].reason = begin + "1+1";
    const std::string csv = to_csv(std::span(&run, 1));
    EXPECT_TRUE(contains(csv, "\"'" + begin + "HYPERLINK(\"\"http://x\"\",A1)\"")) << begin;
    EXPECT_FALSE(contains(csv, "," + begin + "1")) << begin;
    EXPECT_TRUE(contains(csv, ",-5,")) << "a figure: " << csv;
  }
}

// Before a formula, too, where a spreadsheet would drop what nobody sees.
TEST(BenchExport, NoCellHoldsControlsOrDirections) {
  RunRecord run = three_stacks();
  run.tag = "\r=1+1\x1b[31m\u202e\u200b";
  const std::string csv = to_csv(std::span(&run, 1));
  EXPECT_TRUE(contains(csv, ",?=1+1?[31m??,")) << csv;
}

TEST(BenchExport, P95OfFewSamplesIsMarked) {
  RunRecord run = three_stacks();
  EXPECT_TRUE(contains(to_pyc_suite(run)["adapters"]["gpuready"]["latency_ms"].dump(),
                       "of fewer than 200 samples"));
  EXPECT_TRUE(contains(to_pyc_markdown(run), "\\* |")) << to_pyc_markdown(run);
  EXPECT_TRUE(contains(to_pyc_markdown(run), "of fewer than 200 samples"));
  run.stacks[0].repeats[0].samples_ns.assign(200, 1e6);
  EXPECT_FALSE(to_pyc_suite(run)["adapters"]["gpuready"]["latency_ms"].contains("p95_note"));
  EXPECT_FALSE(contains(to_pyc_markdown(run), "of fewer than"));
}

TEST(BenchExport, GoogleBenchmarkReadsBackWhatWasTimed) {
  const RunRecord run = three_stacks();
  const Json doc = to_google_benchmark(run);
  ASSERT_EQ(doc["benchmarks"].size(), 3u);
  EXPECT_EQ(doc["benchmarks"][0]["name"], "mlp/batch:64/hidden:2048/bf16/gpuready");
  EXPECT_EQ(doc["benchmarks"][0]["items_per_second"], 64 * 2048 * 1e9 / 3e6);
  const auto back = import_run(dump(doc), "exported.json");
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->stacks.size(), 2u);
  ASSERT_EQ(back->stacks[0].repeats.size(), 2u);
  EXPECT_EQ(back->stacks[0].repeats[0].reported.mean_ns, 3'000'000);
  EXPECT_EQ(back->stacks[1].repeats[0].status, StackStatus::error);
  EXPECT_EQ(back->started_utc, run.started_utc);
}

TEST(BenchExport, GoogleBenchmarksContextNamesTheMachineAsFarAsItIsKnown) {
  RunRecord run = three_stacks();
  run.tool_version = "1.2";
  run.environment.cpu_model = "EPYC";
  Json expected = {{"date", run.started_utc}, {"executable", "mlp"},    {"library_version", "1.2"},
                   {"gpuready_run", run.id},  {"gpuready_tag", "test"}, {"gpu", "NVIDIA H200"},
                   {"driver", "580.65.06"},   {"cpu", "EPYC"}};
  EXPECT_EQ(to_google_benchmark(run)["context"], expected);
  run.environment.gpus.clear();
  run.environment.driver_version = run.environment.cpu_model = "";
  for (const char* key : {"gpu", "driver", "cpu"}) expected.erase(key);
  EXPECT_EQ(to_google_benchmark(run)["context"], expected);
}

TEST(BenchExport, WhatWasImportedKeepsItsNames) {
  RunRecord run = three_stacks();
  run.stacks[2].repeats[0].status = StackStatus::unavailable;
  const auto once = import_run(dump(to_google_benchmark(run)), "once");
  ASSERT_TRUE(once);
  const Json doc = to_google_benchmark(*once);
  EXPECT_FALSE(doc["benchmarks"][0].contains("iterations"));
  const auto twice = import_run(dump(doc), "twice");
  ASSERT_TRUE(twice);
  ASSERT_EQ(once->stacks.size(), twice->stacks.size());
  for (std::size_t i = 0; i < once->stacks.size(); ++i) {
    EXPECT_EQ(once->stacks[i].id, twice->stacks[i].id);
    EXPECT_EQ(once->stacks[i].status, twice->stacks[i].status);
  }
  EXPECT_EQ(twice->stacks[1].status, StackStatus::unavailable);
}

TEST(BenchExport, PycSuitesReadersFindTheirFields) {
  const RunRecord run = three_stacks();
  const Json doc = to_pyc_suite(run);
  EXPECT_EQ(doc["meta"]["batch"], 64);
  EXPECT_EQ(doc["meta"]["tag"], "test");
  EXPECT_EQ(doc["gpu"]["gpus"][0]["driver_version"], "580.65.06");
  const Json& ours = doc["adapters"]["gpuready"];
  EXPECT_EQ(ours["status"], "ok");
  EXPECT_EQ(ours["mode"], "native");
  EXPECT_EQ(ours["latency_ms"]["mean"], 3.0);
  EXPECT_EQ(ours["samples_ms"], Json::array({2.0, 4.0, 3.0}));
  EXPECT_EQ(ours["peak_memory_bytes"], 1 << 20);
  EXPECT_DOUBLE_EQ(ours["throughput_tokens_per_sec"], 64 * 2048 * 1e9 / 3e6);
  // What its summaries and plots read without asking whether it is there.
  for (const char* key : {"python", "git_head", "git_dirty", "created_utc", "adapter_plan"})
    EXPECT_TRUE(doc["meta"].contains(key)) << key;
  for (const char* key : {"memory_total", "compute_capability"})
    EXPECT_TRUE(doc["gpu"]["gpus"][0].contains(key)) << key;
  EXPECT_EQ(ours["batch"], 64);
  EXPECT_EQ(doc["adapters"]["tvm"]["reason"], "the module tvm is not installed");
  EXPECT_EQ(doc["adapters"]["xla"]["error"], "different_work: it gives no digest");
  EXPECT_FALSE(doc["adapters"]["xla"].contains("latency_ms"));

  const std::string text = to_pyc_markdown(run);
  for (const char* part :
       {"## GPU", "## Native", "## Proxy", "## Unavailable\n\n- tvm: the module",
        "## Errors\n\n- xla: it gives no digest", "| gpuready | 3.0000 | 3.0000 |"})
    EXPECT_TRUE(contains(text, part)) << part << " in " << text;
}

TEST(BenchExport, PycSuitesOfARunOnTheCpuSayThatItUsedNoGpu) {
  RunRecord run = three_stacks();
  EXPECT_EQ(to_pyc_suite(run)["gpu"]["available"], true);
  EXPECT_FALSE(to_pyc_suite(run)["gpu"].contains("reason"));
  EXPECT_TRUE(contains(to_pyc_markdown(run), "## GPU\n\n- NVIDIA H200, driver 580.65.06\n"));
  run.environment.gpus.clear();
  EXPECT_EQ(to_pyc_suite(run)["gpu"],
            Json({{"available", false}, {"reason", "the run used no GPU"}}));
  EXPECT_TRUE(contains(to_pyc_markdown(run), "## GPU\n\n- none\n"));
}

// By the rules that tests/bench/pyc_rules.py holds the program to: two repeats of 3 and 5 ms.
TEST(BenchExport, PycSuitesDerivedFiguresAreThoseMeasured) {
  RunRecord run = run_of("r", {2'000'000, 4'000'000});
  run.workload.flops = 6'000'000'000;
  run.protocol.iters = 10;
  StackResult& stack = run.stacks[0];
  stack.repeats.emplace_back().samples_ns = {5'000'000};
  stack.repeats[0].setup_ms = 30, stack.repeats[0].compile_ms = 20,
  stack.repeats[0].first_run_ms = 13;
  stack.repeats[1].setup_ms = 50, stack.repeats[1].compile_ms = 40,
  stack.repeats[1].first_run_ms = 7;
  stack.repeats[1].memory_peak_bytes = 1u << 29;
  const Json ours = to_pyc_suite(run)["adapters"]["gpuready"];
  EXPECT_EQ(ours["repeat_mean_ms_values"], Json::array({3.0, 5.0}));
  EXPECT_EQ(ours["repeat_mean_ms_stdev"], 1.0);
  // 13 - 3 beyond the 20 ms of compilation, and 7 - 5 beyond 40 ms.
  const std::pair<const char*, double> start[] = {{"setup", 40},
                                                  {"compile", 30},
                                                  {"first_step", 10},
                                                  {"total", 50},
                                                  {"compile_overhead_estimate", 36}};
  for (const auto& [name, value] : start) EXPECT_EQ(ours["startup_ms"].value(name, -1.0), value);
  EXPECT_EQ(ours["startup_ms"].size(), std::size(start));
  const Json& derived = ours["derived"];
  const double mean = 4, p50 = 4, p95 = ours["latency_ms"]["p95"].get<double>();
  const std::pair<const char*, double> wanted[] = {
      {"jitter_ms_p95_minus_p50", p95 - p50},
      {"jitter_pct_of_p50", (p95 - p50) / p50 * 100},
      {"sample_stdev_ms", std::sqrt(14.0) / 3},  // of 2, 4 and 5
      {"sample_cv_pct", std::sqrt(14.0) / 11 * 100},
      {"repeat_mean_stdev_ms", 1},
      {"repeat_mean_cv_pct", 25},
      {"tokens_per_iter", 64 * 2048},
      {"tokens_total", 64 * 2048 * 10},
      {"peak_memory_gib", 0.5},
      {"throughput_tokens_per_sec_per_peak_gib", 64 * 2048 / mean * 1e3 / 0.5},
      {"estimated_flops_per_iter", 6e9},
      {"estimated_tflops_per_sec", 1.5},
      {"startup_total_ms", 50},
      {"compile_overhead_ms_estimate", 36},
      {"compile_overhead_pct_of_mean_latency", 900},
      {"compile_overhead_pct_of_startup", 72},
  };
  for (const auto& [name, value] : wanted)
    EXPECT_NEAR(derived.value(name, -1.0), value, 1e-9 * (1 + value)) << name;
  EXPECT_EQ(derived.size(), std::size(wanted));
}

// A 0 would be a figure.
TEST(BenchExport, PycSuitesDerivedFiguresThatWereNotMeasuredAreAbsent) {
  RunRecord run = run_of("r", {});
  run.stacks[0].repeats[0].reported.mean_ns = 3e6;
  const Json ours = to_pyc_suite(run)["adapters"]["gpuready"];
  EXPECT_EQ(ours["startup_ms"], Json::object());
  EXPECT_FALSE(ours.contains("repeat_mean_ms_stdev"));
  for (const auto& [name, value] : ours["derived"].items())
    EXPECT_EQ(name, "tokens_per_iter") << value;
}

// Each call fails once, or all from it on: the tag's files are the old ones or the new ones, and
// the suite's is new only when all that belong to it are there.
TEST(BenchExport, PycSuitesFilesAreWholeWhateverFails) {
  RunRecord old = run_of("r1", {1}), run = run_of("r2", {2});
  for (const auto kind :
       {StorageFault::Kind::once, StorageFault::Kind::from_then_on, StorageFault::Kind::killed})
    for (std::size_t at = 1;; ++at) {
      MemoryStorage memory;
      ASSERT_TRUE(save_as_pyc_suite("/a/r", old, memory));
      FailingStorage storage(memory, {at, kind, ENOSPC}, {});
      const auto saved = save_as_pyc_suite("/a/r", run, storage);
      const auto now = memory.content("/a/r/test.json");
      const bool is_new = now == dump(to_pyc_suite(run));
      EXPECT_TRUE(is_new || now == dump(to_pyc_suite(old))) << at;
      if (is_new) {
        EXPECT_EQ(memory.content("/a/r/r2__test.json"), now);
        EXPECT_EQ(memory.content("/a/r/test.md"), to_pyc_markdown(run));
      }
      if (saved) {
        EXPECT_TRUE(is_new);
      }
      if (storage.calls() < at) break;
    }
}

}  // namespace
}  // namespace gpuready::bench
