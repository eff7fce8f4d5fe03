#include "bench/report/compare_report.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "bench/report/exit_rules.h"
#include "unit/products/bench/runs.h"

namespace gpuready {
namespace {

bench::Side compared_side(std::string name, double factor, const std::vector<std::size_t>& places) {
  std::vector<double> ns;
  for (const double one : {1000, 1003, 998, 1001, 999, 1002}) ns.push_back(one * factor);
  return {std::move(name), bench::runs_at(ns, places)};
}

bench::Comparison comparison_of(bench::StackStatus base_status, bench::StackStatus status) {
  bench::Side base = compared_side("base", 1, bench::base_places(6));
  bench::Side candidate = compared_side("candidate", 0.9, bench::candidate_places(6));
  for (auto* side : {&base, &candidate})
    for (auto& run : side->runs) {
      run.stacks.push_back(run.stacks[0]);
      run.stacks[1].id = "tvm";
      run.stacks[1].status = side == &base ? base_status : status;
      run.stacks[1].reason = "boom";
    }
  const auto result = bench::compare(base, candidate, {});
  EXPECT_TRUE(result);
  return result.value_or(bench::Comparison());
}

using enum bench::StackStatus;

TEST(BenchCompareReport, TellsAStackThatTheCandidateLost) {
  const auto lost = comparison_of(ok, error);
  EXPECT_EQ(exit_of(lost), Exit::unhealthy);
  EXPECT_EQ(conclusion_of(lost),
            "Of 2 stacks 1 faster, 0 slower, 0 the same and 0 inconclusive; candidate lost tvm.");
  for (const bool quiet : {false, true}) {
    TerminalStyle style;
    style.quiet = quiet;
    const auto text = render_terminal(lost, Envelope(), style);
    EXPECT_TRUE(contains(text, "boom")) << text;
    EXPECT_EQ(contains(text, "throughput"), !quiet) << text;
  }
  EXPECT_TRUE(contains(render_markdown(lost, Envelope()), "**lost: no run of the candidate"));
  EXPECT_TRUE(contains(dump(to_json(lost, Envelope())), "\"outcome\": \"lost\""));
}

TEST(BenchCompareReport, AStackWithoutABaseIsNotDecided) {
  EXPECT_EQ(exit_of(comparison_of(error, ok)), Exit::unknown);
  EXPECT_EQ(exit_of(comparison_of(unavailable, unavailable)), Exit::ok);
}

bench::KpiComparison kpi_of(bench::Kpi kpi, std::optional<double> base,
                            std::optional<double> candidate) {
  bench::KpiComparison made;
  made.kpi = kpi;
  made.base_value = base;
  made.candidate_value = candidate;
  made.base_runs = made.candidate_runs = 3;
  return made;
}

bench::Comparison all_kinds() {
  using bench::Outcome;
  bench::Comparison comparison;
  comparison.base = {"base_1", {"a", "b", "c"}};
  comparison.candidate = {"candidate", {"d"}};
  comparison.margin_percent = 1.5;
  comparison.differences = {{"driver", "570_1", "580.65.06", true}, {"flags", "-O2", "-O3"}};
  auto& stack = comparison.stacks.emplace_back();
  stack.base_stack = "tvm_1", stack.candidate_stack = "xla";
  stack.outcome = Outcome::faster;
  stack.reason = "better in p50";
  auto p50 = kpi_of(bench::Kpi::p50, 999.94, 123'456);
  p50.outcome = Outcome::faster;
  p50.gain_percent = 12.34, p50.low_percent = -3.456, p50.high_percent = 2e5;
  p50.p = 0.001, p50.design = "paired", p50.method = "t";
  p50.learned = "30 earlier runs of this machine";
  auto p95 = kpi_of(bench::Kpi::p95, {}, {});
  p95.reason = "no run has it; it needs 100 samples a run";
  auto throughput = kpi_of(bench::Kpi::throughput, 2.5e9, 999);
  throughput.outcome = Outcome::slower;
  throughput.gain_percent = -9.994, throughput.low_percent = -90, throughput.high_percent = 900;
  throughput.runs_for_interval = 5;
  throughput.p = 0.002, throughput.design = "mixed", throughput.method = "t";
  throughput.learned = p50.learned;
  auto energy = kpi_of(bench::Kpi::energy, 1.5, {});
  energy.reason = "no run of the candidate has it";
  auto memory = kpi_of(bench::Kpi::memory, {}, 3 << 20);
  memory.reason = "no run of the base has it";
  memory.learned = "the other stacks of these runs";
  stack.kpis = {p50, p95, throughput, energy, memory};
  stack.base_losses.reasons = {"1 of 3 runs failed: exit_9"};
  stack.candidate_losses.reasons = {"it was throttled"};
  auto& lost = comparison.stacks.emplace_back();
  lost.base_stack = lost.candidate_stack = "torch";
  lost.outcome = Outcome::lost;
  lost.reason = "no run of the candidate has a figure of it: boom_1";
  auto& missing = comparison.stacks.emplace_back();
  missing.base_stack = missing.candidate_stack = "jax";
  missing.reason = "no run of either side has a figure of it: boom";
  return comparison;
}

TEST(BenchCompareReport, ShowsAllThatWasCompared) {
  constexpr const char* kHead =
      "Benchmark comparison\n"
      "  base       base_1: 3 runs\n"
      "  candidate  candidate: 1 run\n"
      "\n";
  constexpr const char* kDiffer =
      "  These runs differ\n"
      "  [x] driver: 570_1 against 580.65.06\n"
      "  [!] flags: -O2 against -O3\n"
      "\n"
      "  tvm_1 (base) against xla\n";
  constexpr const char* kFigures =
      "    KPI              base   candidate    gain                                        "
      "interval  verdict\n"
      "    p50          999.9 ns  123.456 us  +12.3%                            -3.46% to > "
      "+100000%  faster\n"
      "    throughput  2.500 G/s  999.000 /s  -9.99%  too few runs for an interval (3 of at least "
      "5)  less\n"
      "    energy       1.500 mJ                                                                   "
      "   not compared\n"
      "    memory                      3 MiB                                                       "
      "   not compared\n"
      "    energy: no run of the candidate has it\n"
      "    memory: no run of the base has it\n";
  constexpr const char* kLosses =
      "    [!] base: 1 of 3 runs failed: exit_9\n"
      "    [!] candidate: it was throttled\n";
  constexpr const char* kHow =
      "    Runs alternated: pairs are compared.\n"
      "    How far runs vary in p50, throughput was also learned from 30 earlier runs of this "
      "machine.\n"
      "    How far runs vary in memory was also learned from the other stacks of these runs.\n";
  constexpr const char* kOthers =
      "\n"
      "  torch\n"
      "    [x] lost: no run of the candidate has a figure of it: boom_1\n"
      "\n"
      "  jax\n"
      "    [!] not compared: no run of either side has a figure of it: boom\n"
      "\n"
      "[x] These runs cannot be compared: they differ in driver.\n"
      "  Give --allow driver to compare all the same.\n";
  Envelope envelope;
  envelope.command = "bench compare";
  envelope.exit = Exit::unhealthy;
  TerminalStyle style;
  style.columns = 120;
  EXPECT_EQ(render_terminal(all_kinds(), envelope, style),
            std::string(kHead) + kDiffer + kFigures + kLosses + kHow + kOthers);
  style.quiet = true;
  EXPECT_EQ(render_terminal(all_kinds(), envelope, style),
            std::string(kDiffer) + kLosses + kOthers);
}

TEST(BenchCompareReport, MarkdownHoldsAllThatWasCompared) {
  EXPECT_EQ(render_markdown(all_kinds(), Envelope()),
            "# Benchmark comparison\n"
            "\n"
            "**These runs cannot be compared: they differ in driver.**\n"
            "\n"
            "- base: base\\_1: 3 runs\n"
            "- candidate: candidate: 1 run\n"
            "- differs (refused): driver: 570\\_1 against 580.65.06\n"
            "- differs: flags: -O2 against -O3\n"
            "\n"
            "## tvm\\_1 (base) against xla\n"
            "\n"
            "| KPI | base | candidate | gain | interval | verdict |\n"
            "|---|---:|---:|---:|---|---|\n"
            "| p50 | 999.9 ns | 123.456 us | +12.3% | -3.46% to > +100000% | faster |\n"
            "| throughput | 2.500 G/s | 999.000 /s | -9.99% | too few runs for an interval (3 of "
            "at least 5) | less |\n"
            "| energy | 1.500 mJ |  |  |  | not compared |\n"
            "| memory |  | 3 MiB |  |  | not compared |\n"
            "\n"
            "How far runs vary in p50, throughput was also learned from 30 earlier runs of this "
            "machine.\n"
            "\n"
            "How far runs vary in memory was also learned from the other stacks of these runs.\n"
            "\n"
            "- does not count: base: 1 of 3 runs failed: exit\\_9\n"
            "- does not count: candidate: it was throttled\n"
            "\n"
            "Runs alternated: pairs are compared.\n"
            "\n"
            "## torch\n"
            "\n"
            "**lost: no run of the candidate has a figure of it: boom\\_1**\n"
            "\n"
            "\n"
            "\n"
            "## jax\n"
            "\n"
            "**not compared: no run of either side has a figure of it: boom**\n"
            "\n"
            "\n");
}

TEST(BenchCompareReport, SaysHowRunsWereHeldAgainstEachOther) {
  const std::pair<const char*, const char*> designs[] = {
      {"paired", "Runs alternated: pairs are compared."},
      {"mixed", "Runs do not alternate: the means of the sides are compared."},
      {"regular", "The same side ran first in each pair: "},
      {"in_blocks", "All runs of one side come before those of the other: "}};
  for (const auto& [design, text] : designs) {
    auto comparison = all_kinds();
    comparison.stacks[0].kpis[0].method = "";  // it was not tested
    comparison.stacks[0].kpis[2].design = design;
    EXPECT_TRUE(contains(render_markdown(comparison, Envelope()), "\n\n" + std::string(text)))
        << design;
  }
}

}  // namespace
}  // namespace gpuready
