// The line of a series: its last values as heights.
#include "bench/report/history_report.h"

#include <gtest/gtest.h>

#include <string_view>

namespace gpuready {
namespace {

bench::History history_of(const std::vector<double>& values) {
  bench::Series series;
  series.stack = "gpuready";
  for (const double value : values) series.points.emplace_back().value = value;
  bench::History history;
  history.runs = values.size();
  history.series.push_back(std::move(series));
  return history;
}

// From the first height of the series' line on.
std::string heights_of(const std::vector<double>& values, bool unicode = true) {
  const auto text = render_terminal(history_of(values), {.unicode = unicode});
  const auto at = text.find("\u2581");
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(BenchHistoryText, ACurveGoesFromTheLeastToTheMost) {
  EXPECT_EQ(heights_of({1, 2, 3, 4, 5, 6, 7, 8}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(heights_of({1, 2}), "▁█");
  EXPECT_EQ(heights_of({5, 5, 5}), "▁▁▁");
}

TEST(BenchHistoryText, ACurveNeedsTwoRunsAndATerminalThatShowsIt) {
  EXPECT_EQ(heights_of({1}), "");
  EXPECT_EQ(heights_of({1}, false), "");
  for (const char c : render_terminal(history_of({1, 2, 3}), {.unicode = false}))
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(BenchHistoryText, ACurveIsOfTheLast24Runs) {
  std::vector<double> values(23, 1);
  values.push_back(2);
  EXPECT_EQ(heights_of(values), times(23, "▁") + "█");
  values.insert(values.begin(), 1000);
  EXPECT_EQ(heights_of(values), times(23, "▁") + "█");
}

TEST(BenchHistoryText, TheConclusionCountsRunsSeriesAndSteps) {
  const auto concluded = [](std::uint64_t runs, const std::vector<std::size_t>& steps) {
    bench::History history;
    history.runs = runs;
    for (const std::size_t count : steps) history.series.emplace_back().steps.resize(count);
    return conclusion_of(history);
  };
  EXPECT_EQ(concluded(0, {}), "0 runs, 0 series of figures, 0 steps.");
  EXPECT_EQ(concluded(1, {1}), "1 run, 1 series of figures, 1 step.");
  EXPECT_EQ(concluded(2, {0, 2}), "2 runs, 2 series of figures, 2 steps.");
  EXPECT_EQ(concluded(9, {1, 0, 2}), "9 runs, 3 series of figures, 3 steps.");
}

// What an imported run does not know is left out.
TEST(BenchHistoryText, TheWorkIsItsWorkloadDtypeAndDevice) {
  bench::Series series;
  EXPECT_EQ(work_text(series), "");
  series.device = "cuda";
  EXPECT_EQ(work_text(series), "cuda");
  series.workload = "mlp batch=64";
  EXPECT_EQ(work_text(series), "mlp batch=64, cuda");
  series.dtype = "fp16";
  EXPECT_EQ(work_text(series), "mlp batch=64, fp16, cuda");
  bench::History history = history_of({1});
  EXPECT_TRUE(render_terminal(history, {}).starts_with("gpuready\n"));
  history.series[0].workload = "mlp";
  EXPECT_TRUE(render_terminal(history, {}).starts_with("mlp, gpuready\n"));
}

}  // namespace
}  // namespace gpuready
