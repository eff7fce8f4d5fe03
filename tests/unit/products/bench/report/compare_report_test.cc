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

}  // namespace
}  // namespace gpuready
