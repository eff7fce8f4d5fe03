#include "bench/cli/bench_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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

std::vector<std::string> words_of_option(const char* name, auto* value,
                                         std::optional<Range> range = {},
                                         const char* if_bare = nullptr) {
  return as_words({.name = name, .value = value, .help = "", .range = range, .if_bare = if_bare});
}

// What another machine's bench run is given.
TEST(BenchOptions, WordsOfAnOptionGiveItsValueAgain) {
  using Words = std::vector<std::string>;
  bool yes = true, no = false;
  EXPECT_EQ(words_of_option("--roofline", &yes), Words{"--roofline"});
  EXPECT_EQ(words_of_option("--roofline", &no), Words{});

  std::string text = "a b", empty;
  EXPECT_EQ(words_of_option("--idea", &text), (Words{"--idea", "a b"}));
  EXPECT_EQ(words_of_option("--idea", &empty), Words{});

  std::vector<std::string> stacks{"a", "b=c"}, none;
  EXPECT_EQ(words_of_option("--stack", &stacks), (Words{"--stack", "a,b=c"}));
  EXPECT_EQ(words_of_option("--stack", &none), Words{});

  double seconds = 0.05;
  EXPECT_EQ(words_of_option("--timeout", &seconds), (Words{"--timeout", "0.05"}));

  std::optional<std::uint64_t> number;
  std::optional<double> percent;
  EXPECT_EQ(words_of_option("--repeats", &number), Words{});
  EXPECT_EQ(words_of_option("--until", &percent), Words{});
  number = 12, percent = 2.5;
  EXPECT_EQ(words_of_option("--repeats", &number), (Words{"--repeats", "12"}));
  EXPECT_EQ(words_of_option("--until", &percent), (Words{"--until", "2.5"}));
  EXPECT_EQ(words_of_option("--lock-clocks", &number, {}, "0"), Words{"--lock-clocks=12"});
}

// Such as a size of 0, which leaves it to the task.
TEST(BenchOptions, ANumberOutsideItsRangeWasNotGiven) {
  using Words = std::vector<std::string>;
  for (const auto& [value, given] :
       {std::pair<std::uint64_t, bool>{0, false}, {1, true}, {9, true}, {10, false}}) {
    std::uint64_t size = value;
    const auto words = words_of_option("--m", &size, Range{1, 9});
    EXPECT_EQ(words, given ? (Words{"--m", std::to_string(value)}) : Words{});
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

class BenchSides : public ::testing::Test {
 protected:
  BenchSides() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    for (const char* name : {"r1__a", "r2__a", "r3__b"}) {
      bench::RunRecord run;
      run.id = std::string(name, 2);
      run.tag = std::string(name + 4);
      EXPECT_TRUE(bench::save_run(folder_, run,
                                  dump(Json{{"schema", "gpuready.bench-run"},
                                            {"schema_version", 1},
                                            {"run", bench::to_json(run)}})));
    }
  }
  ~BenchSides() override { std::filesystem::remove_all(folder_); }
  std::string found(const std::string& base, const std::string& candidate) {
    const auto sides = find_sides(*make_live_host(), folder_, base, candidate);
    if (!sides) return sides.error().message;
    std::string text;
    for (const auto* side : {&sides->base, &sides->candidate}) {
      text += side->name + ":";
      for (const auto& run : side->runs) text += " " + run.id;
      text += ";";
    }
    return text;
  }
  std::string folder_ = std::string(GPUREADY_BINARY_DIR) + "/sidesXXXXXX";
};

TEST_F(BenchSides, AreWhatTheirNamesFind) {
  EXPECT_EQ(found("a", "b"), "a: r1 r2;b: r3;");
  EXPECT_EQ(found("r1", "r2,b"), "r1: r1;r2,b: r2 r3;");
  EXPECT_TRUE(found("c", "b").starts_with("c is neither "));
  EXPECT_TRUE(found("a", "c").starts_with("c is neither "));
}

// It would be evidence that nothing changed.
TEST_F(BenchSides, NoRunIsOnBoth) {
  EXPECT_EQ(found("a", "b,r2"),
            "the run r2 is on both sides, a and b,r2: name other runs on one side, by another tag "
            "or by a comma-separated list of ids");
}

// So that no output replaces one of them.
TEST_F(BenchSides, OfTheResultsFolderItsOwnFilesAreRead) {
  for (const char* name : {"latest", "history.json", "adapters-1", "notes.md", "old-adapters-1",
                           "latest.md", "r4_c.json"})
    std::ofstream(folder_ + "/" + name) << "x";
  std::string folder = folder_;
  std::vector<std::string> read = results_option(folder).files_of(folder_);
  std::ranges::sort(read);
  std::vector<std::string> expected;
  for (const char* name :
       {"adapters-1", "history.json", "latest", "r1__a.json", "r2__a.json", "r3__b.json"})
    expected.push_back(folder_ + "/" + name);
  EXPECT_EQ(read, expected);
}

}  // namespace
}  // namespace gpuready::cli
