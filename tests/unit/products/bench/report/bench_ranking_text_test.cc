#include <gtest/gtest.h>

#include "base/text.h"
#include "bench/report/bench_report.h"
#include "bench/report/report_parts.h"
#include "bench/report/run_report.h"
#include "unit/products/bench/runs.h"

namespace gpuready {
namespace {

// Two benchmarks of a file of google/benchmark, which reports means alone.
bench::RunRecord imported_run() {
  bench::RunRecord run = bench::run_of("r", {});
  run.protocol.origin = "google-benchmark";
  run.stacks[0].id = "slow work";
  run.stacks[0].repeats[0].reported.mean_ns = 1000;
  run.stacks.push_back(run.stacks[0]);
  run.stacks[1].id = "fast work";
  run.stacks[1].repeats[0].reported.mean_ns = 10;
  return run;
}

TEST(BenchRankingText, OtherWorkIsShownAndNotRanked) {
  BenchReport report;
  report.runs = {imported_run()};
  report.conclusion = conclusion_of(report);
  const auto terminal = render_terminal(report, TerminalStyle());
  EXPECT_TRUE(contains(terminal, "10.0 ns (mean)")) << terminal;
  const auto page = render_html(report);
  // A page without a script allows none.
  EXPECT_TRUE(contains(page, "content=\"default-src 'none'; style-src 'sha256-"));
  EXPECT_TRUE(contains(page, "'; base-uri 'none'; form-action 'none'\""));
  EXPECT_FALSE(contains(page, "script-src"));
  for (const char* refused : {"unsafe", " style=", "<script"})
    EXPECT_FALSE(contains(page, refused)) << refused;
  for (const auto& text : {terminal, render_markdown(report), page}) {
    EXPECT_TRUE(contains(text, "slow work")) << text;
    EXPECT_FALSE(contains(text, "fastest")) << text;
    EXPECT_TRUE(contains(text, "none is ranked")) << text;
  }
  EXPECT_TRUE(contains(render_terminal(imported_run(), Envelope(), "path", TerminalStyle()),
                       "10.0 ns (mean)"));
}

// No stack is called the fastest if the repeats do not show it; a narrow terminal keeps all columns
// and what their marks mean.
TEST(BenchRankingText, NotToldApartIsNotFastest) {
  bench::RunRecord run = bench::run_of("r", {26356});
  run.stacks.push_back(run.stacks[0]);
  run.stacks[1].id = "slower";
  for (const auto& [stack, ns] : {std::pair(0, 11994213.0), std::pair(1, 8020544.0)})
    run.stacks[static_cast<std::size_t>(stack)].repeats.emplace_back().samples_ns = {ns};
  run.stacks[1].repeats[0].samples_ns = {15867074};
  EXPECT_EQ(
      conclusion_of(run),
      "gpuready has the shortest time of 2 stacks: 6.010 ms (p50). The repeats do not tell it "
      "apart from slower.");
  BenchReport report;
  report.runs = {run};
  report.conclusion = conclusion_of(report);
  TerminalStyle style;
  style.columns = 50;
  const auto text = render_terminal(report, style);
  for (const char* part : {"p95", "ms*", "* of fewer"}) EXPECT_TRUE(contains(text, part)) << text;
  EXPECT_TRUE(
      contains(render_markdown(report), "1.987; too few repeats for an interval (2 of at least "))
      << render_markdown(report);
  EXPECT_FALSE(contains(text, "fastest of 2"));
}

// Three stacks; the other two are slower than the first.
bench::Ranking three_stacks() {
  bench::Ranking ranking;
  for (const char* id : {"a", "b", "c"}) {
    bench::RankedStack& stack = ranking.ranked.emplace_back();
    stack.id = id;
    stack.latency.p50_ns = 1000;
    stack.ratio = 1.5;
    stack.low = 1.25;
    stack.high = 1.75;
    stack.told_apart = true;
  }
  return ranking;
}

TEST(BenchRankingText, TheFirstIsTheFastestOnlyWhereAllOthersAreToldApart) {
  auto ranking = three_stacks();
  const auto rank = [&](std::size_t i) { return rank_text(ranking, ranking.ranked[i]); };
  const auto ratio = [&](std::size_t i) { return ratio_text(ranking, ranking.ranked[i]); };
  const auto fastest = [&] { return fastest_text(ranking, "a", "", "1 us"); };
  EXPECT_EQ(rank(0), "fastest");
  EXPECT_EQ(rank(1), "slower");
  EXPECT_EQ(ratio(0), "1");
  EXPECT_EQ(ratio(1), "1.500 (1.250 to 1.750)");
  EXPECT_EQ(fastest(), "a is the fastest of 3 stacks: 1 us");
  EXPECT_EQ(states_text(ranking), "");
  for (const std::size_t i : {1u, 2u}) ranking.ranked[i].told_apart = false;
  ranking.ranked[1].repeats = 1;
  ranking.ranked[1].repeats_for_interval = 2;
  EXPECT_EQ(rank(0), "shortest time");
  EXPECT_EQ(rank(1), "not told apart");
  EXPECT_EQ(ratio(1), "1.500; too few repeats for an interval (1 of at least 2)");
  EXPECT_EQ(fastest(),
            "a has the shortest time of 3 stacks: 1 us. The repeats do not tell it apart from b, "
            "c");
  ranking.ranked[2].repeats = 3;
  ranking.ranked[2].repeats_for_states = 5;
  const std::string few =
      "too few repeats to tell a difference from a machine with two states (3 of at least 5)";
  EXPECT_EQ(fastest(),
            "a has the shortest time of 3 stacks: 1 us. The repeats do not tell it apart from b, "
            "c: " +
                few);
  EXPECT_EQ(states_text(ranking), "Of c: " + few + ".");
  ranking.same_work = false;
  for (const std::size_t i : {0u, 1u, 2u}) {
    EXPECT_EQ(rank(i), "");
    EXPECT_EQ(ratio(i), "");
  }
}

TEST(BenchRankingText, ATimeIsTheMedianOrElseTheMeanAsSuch) {
  bench::Latency latency;
  EXPECT_EQ(typical_text(latency), "");
  latency.mean_ns = 2000;
  EXPECT_EQ(typical_text(latency), "2.000 us (mean)");
  latency.p50_ns = 1000;
  EXPECT_EQ(typical_text(latency), "1.000 us");
  latency.mean_ns.reset();
  EXPECT_EQ(typical_text(latency), "1.000 us");
}

TEST(BenchRankingText, AP95OfFewSamplesIsMarkedAndTheMarkExplained) {
  auto ranking = three_stacks();
  EXPECT_EQ(p95_text(ranking.ranked[0]), "");
  ranking.ranked[0].p95_counts = true;
  for (auto& stack : ranking.ranked) stack.latency.p95_ns = 1100;
  ranking.ranked[1].p95_counts = true;
  EXPECT_EQ(p95_text(ranking.ranked[0]), "1.100 us");
  EXPECT_EQ(p95_text(ranking.ranked[2]), "1.100 us*");
  EXPECT_EQ(p95_note(ranking), "* of fewer than 200 samples: no figure to compare");
  ranking.ranked.pop_back();
  EXPECT_EQ(p95_note(ranking), "");
}

TEST(BenchRankingText, WhatIsNotRankedSaysWhy) {
  EXPECT_EQ(unranked_text({"tvm", "error", "boom", {}}), "tvm: error: boom");
  EXPECT_EQ(unranked_text({"tvm", "skipped", "", {}}), "tvm: skipped");
  EXPECT_EQ(unranked_text({"tvm", "unverified", "no digest", 1000.0}),
            "tvm: 1.000 us, unverified: no digest");
}

TEST(BenchRankingText, OfTheSurroundingsOnlyWhatIsKnownIsTold) {
  auto run = bench::run_of("r", {40});
  run.environment.variables = {{"OMP_NUM_THREADS", "4"}, {"EMPTY", ""}};
  run.git_commit = "0123abc";
  run.git_dirty = true;
  using Texts = std::vector<std::pair<std::string, std::string>>;
  Texts expected = {{"GPU", "NVIDIA H200 GPU-1"},
                    {"driver", "580.65.06"},
                    {"OMP_NUM_THREADS", "4"},
                    {"commit", "0123abc with changes"},
                    {"fingerprint", run.environment.fingerprint()}};
  EXPECT_EQ(environment_texts(run), expected);
  run.git_dirty = false;
  expected[3].second = "0123abc";
  EXPECT_EQ(environment_texts(run), expected);
}

TEST(BenchRankingText, SmallTimesHaveFittingUnitsAndQuietIsTheConclusion) {
  bench::RunRecord run = bench::run_of("r", {40, 41});
  run.workload.flops = 8;
  EXPECT_EQ(conclusion_of(run), "gpuready: 40.5 ns (p50).");
  run.stacks.insert(run.stacks.begin(), run.stacks[0]);
  run.stacks[0].id = "missing";
  run.stacks[0].status = bench::StackStatus::unavailable;
  run.stacks[1].reference = true;
  EXPECT_EQ(conclusion_of(run),
            "gpuready: 40.5 ns (p50). It is not ranked: it is made to be checked against.");
  run.stacks[1].reference = false;
  run.stacks.erase(run.stacks.begin());
  run.stacks.push_back(run.stacks[0]);
  run.stacks[1].id = "tvm";
  run.stacks[1].status = bench::StackStatus::error;
  run.stacks[1].reason = "boom";
  Envelope envelope;
  envelope.conclusion = conclusion_of(run);
  TerminalStyle style;
  EXPECT_FALSE(contains(render_terminal(run, envelope, "path", style), "0.00"));
  style.quiet = true;
  const auto quiet = render_terminal(run, envelope, "path", style);
  EXPECT_TRUE(contains(quiet, "boom")) << quiet;
  EXPECT_TRUE(contains(quiet, "gpuready: 40.5 ns (p50).")) << quiet;
  EXPECT_FALSE(contains(quiet, "samples")) << quiet;
  EXPECT_FALSE(contains(quiet, "Kept as")) << quiet;
}

// Medians 100 times apart: a power of ten every half of the 450 columns from 150 on.
TEST(BenchRankingText, StacksThatAreFarApartHaveALogarithmicAxis) {
  BenchReport report;
  report.runs = {bench::run_of("r", {1000, 1000})};
  bench::RunRecord& run = report.runs[0];
  run.stacks.push_back(run.stacks[0]);
  run.stacks[1].id = "a_stack_with_a_name_of_thirty_9";
  const auto page_with = [&](double ns) {
    for (auto& repeat : run.stacks[1].repeats) repeat.samples_ns = {ns, ns};
    return render_html(report);
  };
  EXPECT_FALSE(contains(page_with(4900), "logarithmic"));
  const auto page = page_with(100'000);
  EXPECT_TRUE(contains(page, "time of an iteration, logarithmic"));
  for (const char* tick :
       {"x=\"150.0\" y=\"84.0\"", "x=\"375.0\" y=\"84.0\"", "x=\"600.0\" y=\"84.0\""})
    EXPECT_TRUE(contains(page, tick)) << tick;
  EXPECT_TRUE(contains(page, "lengthAdjust=\"spacingAndGlyphs\">a_stack_with_a_name_of_thirty_9<"));
}

}  // namespace
}  // namespace gpuready
