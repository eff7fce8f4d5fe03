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

}  // namespace
}  // namespace gpuready
