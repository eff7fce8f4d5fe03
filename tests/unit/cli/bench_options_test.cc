#include "bench/cli/bench_options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gpuready::cli {
namespace {

using bench::Kpi;

TEST(BenchOptions, FiguresAreThoseThatAreNamedInTheirOrder) {
  EXPECT_EQ(kpis_of({}), std::vector<Kpi>{});
  EXPECT_EQ(kpis_of({"energy", "p50"}), (std::vector{Kpi::energy, Kpi::p50}));
  EXPECT_EQ(kpis_of({"p50", "p95", "throughput", "energy", "memory"}),
            std::vector<Kpi>(std::begin(bench::kKpis), std::end(bench::kKpis)));
  EXPECT_EQ(kpis_of({"speed"}), std::vector<Kpi>{});
}

// docs/bench.md: a gain of 1% at a risk of 1%, and what each figure may lose.
TEST(BenchOptions, ARuleIsInPercent) {
  RuleOptions options;
  bench::PromoteOptions rule;
  ASSERT_TRUE(options.set(rule));
  EXPECT_DOUBLE_EQ(rule.least_gain, 0.01);
  EXPECT_DOUBLE_EQ(rule.risk, 0.01);
  EXPECT_TRUE(rule.compare.learn);
  EXPECT_EQ(rule.allowances, (bench::Allowances{{Kpi::p50, 0.02},
                                                {Kpi::p95, 0.1},
                                                {Kpi::throughput, 0.05},
                                                {Kpi::energy, 0.1},
                                                {Kpi::memory, 0.05}}));
  options.least_gain_percent = 5;
  options.risk_percent = 2.5;
  options.alone = true;
  options.losses = {"energy=12.5", "p95=none", "p50=0"};
  ASSERT_TRUE(options.set(rule));
  EXPECT_DOUBLE_EQ(rule.least_gain, 0.05);
  EXPECT_DOUBLE_EQ(rule.risk, 0.025);
  EXPECT_FALSE(rule.compare.learn);
  EXPECT_EQ(
      rule.allowances,
      (bench::Allowances{
          {Kpi::p50, 0.0}, {Kpi::throughput, 0.05}, {Kpi::energy, 0.125}, {Kpi::memory, 0.05}}));
}

TEST(BenchOptions, ALossIsAFigureAndAPercentage) {
  for (const char* wrong : {"", "energy", "energy=", "energy=-1", "energy=x", "energy=1%",
                            "energy=None", "speed=3", "=3", "energy=nan"}) {
    RuleOptions options;
    options.losses = {"p50=1", wrong};
    bench::PromoteOptions rule;
    const auto set = options.set(rule);
    ASSERT_FALSE(set) << wrong;
    EXPECT_EQ(set.error().kind, ErrorKind::bad_input) << wrong;
    EXPECT_TRUE(set.error().message.starts_with("--allow-loss " + std::string(wrong) + ": "))
        << set.error().message;
  }
}

TEST(BenchOptions, AVariableThatIsEmptyIsSet) {
  ::setenv("GPUREADY_TEST_IDEA", "1", 1);
  EXPECT_EQ(variable("GPUREADY_TEST_IDEA"), "1");
  ::setenv("GPUREADY_TEST_IDEA", "", 1);
  EXPECT_EQ(variable("GPUREADY_TEST_IDEA"), "");
  ::unsetenv("GPUREADY_TEST_IDEA");
  EXPECT_EQ(variable("GPUREADY_TEST_IDEA"), std::nullopt);
}

}  // namespace
}  // namespace gpuready::cli
