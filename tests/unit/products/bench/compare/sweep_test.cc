#include "bench/compare/sweep.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "bench/report/bench_report.h"
#include "bench/report/history_report.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

RunRecord run_at(std::map<std::string, std::uint64_t> shape, double ns,
                 std::string started_utc = "2026-03-01T12:00:00Z") {
  RunRecord run = run_of("r", {ns});
  run.workload.shape = std::move(shape);
  run.started_utc = std::move(started_utc);
  return run;
}
RunRecord batch(std::uint64_t size, double ns) {
  return run_at({{"batch", size}, {"hidden", 2048}}, ns);
}

TEST(BenchSweep, TablesThatDifferInOneSizeAreACurve) {
  auto far = batch(64, 400);
  far.stacks[0].status = StackStatus::error;  // no time here, and the size stays
  const auto sweeps = sweeps_of({far, batch(4, 200), batch(1, 100)});
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].axis, "batch");
  EXPECT_EQ(sweeps[0].workload.shape, (std::map<std::string, std::uint64_t>{{"hidden", 2048}}));
  EXPECT_EQ(sweeps[0].sizes, (std::vector<std::uint64_t>{1, 4, 64}));
  ASSERT_EQ(sweeps[0].stacks.size(), 1u);
  ASSERT_EQ(sweeps[0].stacks[0].points.size(), 2u);
  EXPECT_EQ(sweeps[0].stacks[0].points[1].size, 4u);
  EXPECT_EQ(sweeps[0].stacks[0].points[1].p50_ns, 200);
}

TEST(BenchSweep, WhatDiffersInMoreOrTooLittleIsNone) {
  EXPECT_TRUE(sweeps_of({batch(1, 1), batch(2, 2)}).empty());
  EXPECT_TRUE(sweeps_of({batch(1, 1), batch(2, 2), batch(2, 3)}).empty());
  for (const auto change : std::vector<void (*)(RunRecord&)>{
           [](RunRecord& run) { run.workload.shape["hidden"] = 1024; },
           [](RunRecord& run) { run.workload.dtype = "fp16"; },
           [](RunRecord& run) { run.workload.device = "cpu"; },
           [](RunRecord& run) { run.workload.name = "attention"; },
           [](RunRecord& run) { run.environment.driver_version = "590.10"; },
           [](RunRecord& run) { run.protocol.origin = "pyc"; },
           [](RunRecord& run) { run.interrupted = true; }}) {
    std::vector<RunRecord> runs{batch(1, 1), batch(2, 2), batch(4, 4)};
    ASSERT_EQ(sweeps_of(runs).size(), 1u);
    change(runs[2]);
    EXPECT_TRUE(sweeps_of(runs).empty());
  }
}

TEST(BenchSweep, SizesMayGrowTogether) {
  struct {
    std::vector<std::string> sizes;
    const char* axis;
  } const kCases[] = {{{"m"}, "m"}, {{"m", "n"}, "m = n"}, {{"m", "n", "k"}, "k = m = n"}};
  for (const auto& [names, axis] : kCases) {
    std::vector<RunRecord> runs;
    for (const std::uint64_t size : {512, 1024, 2048}) {
      std::map<std::string, std::uint64_t> shape;
      for (const auto& name : names) shape[name] = size;
      runs.push_back(run_at(shape, 100));
    }
    const auto sweeps = sweeps_of(runs);
    ASSERT_EQ(sweeps.size(), 1u) << axis;
    EXPECT_EQ(sweeps[0].axis, axis);
    EXPECT_EQ(sweeps[0].workload.shape, (std::map<std::string, std::uint64_t>{})) << axis;
    EXPECT_EQ(sweeps[0].older, 0u) << axis;
  }
}

TEST(BenchSweep, OfOneSizeTheLatestCounts) {
  auto old = batch(4, 999);
  old.started_utc = "2026-02-01T12:00:00Z";
  for (const auto& runs : {std::vector{batch(1, 1), old, batch(4, 4), batch(8, 8)},
                           std::vector{batch(1, 1), batch(4, 4), old, batch(8, 8)}}) {
    const auto sweeps = sweeps_of(runs);
    ASSERT_EQ(sweeps.size(), 1u);
    EXPECT_EQ(sweeps[0].stacks[0].points[1].p50_ns, 4);
    EXPECT_EQ(sweeps[0].older, 1u);
  }
}

// From 80 to 624 columns and from 250 up to 10 rows: equal factors are equal distances.
TEST(BenchSweep, IsDrawnOnLogarithmicAxes) {
  BenchReport report;
  report.runs = {batch(1, 1000), batch(4, 10'000), batch(16, 100'000)};
  const auto page = render_html(report);
  EXPECT_TRUE(contains(page, "d=\"M80.0 250.0L352.0 130.0L624.0 10.0\"")) << page;
  EXPECT_TRUE(contains(page, "mlp hidden 2048, bf16, cuda by batch"));
  EXPECT_TRUE(contains(render_markdown(report), "| 4 | 10.000 us |"));
  EXPECT_TRUE(contains(render_terminal(report, TerminalStyle()), "   16  100.000 us"));
}

TEST(BenchHistoryPage, AStepStandsAtItsRunAndIsToldWithItsCommit) {
  Series series{.workload = "mlp batch=64 hidden=2048",
                .dtype = "bf16",
                .device = "cuda",
                .stack = "<b>",
                .fingerprint = "f00d",
                .kpi = Kpi::p50,
                .points = {},
                .steps = {}};
  for (int i = 0; i < 5; ++i)
    series.points.push_back({fmt::format("run-{}", i), "t", second(static_cast<std::size_t>(i)),
                             i < 2 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb", i < 2 ? 100. : 200.});
  series.steps.push_back({"run-2", second(2), "bbbbbbbbbbbbbbbb", 100, 200, -50});
  History history;
  history.series = {series};
  Envelope envelope;
  envelope.command = "bench history";
  const auto page = render_html(history, envelope);
  EXPECT_TRUE(contains(page, "<h2>History of mlp batch=64 hidden=2048, bf16, cuda</h2>")) << page;
  EXPECT_TRUE(contains(page, "-50.0%: 100.0 ns to 200.0 ns from run run-2, commit bbbbbbbbbb"));
  // Columns 88 to 632: the third of five dots, and under it its commit.
  EXPECT_TRUE(contains(page, "<path d=\"M360.0 8V110\" stroke=\"var(--bad)\""));
  EXPECT_TRUE(contains(page, "<text x=\"356.0\" y=\"126.0\""));
  EXPECT_FALSE(contains(page, "<b>"));
}

}  // namespace
}  // namespace gpuready::bench
