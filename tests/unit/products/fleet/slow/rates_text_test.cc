#include "fleet/slow/rates_text.h"

#include <gtest/gtest.h>

namespace gpuready::fleet {
namespace {

FleetMap three() { return map_of({"n1", "n2", "n3"}, {}); }

TEST(RatesText, RoundsAreReadAsTheyWereWritten) {
  SlowSearch search{.map = three(), .options = {}, .rounds = {}};
  search.rounds = {{{0, 1, 46.25}}, {{2, 0, std::nullopt}}};
  const std::string text = write_rates(search);
  EXPECT_EQ(text,
            "# gpuready fleet slow: round, node, node, rate\n"
            "1 n1 n2 46.25\n"
            "2 n3 n1 -\n");
  const auto rounds = read_rates(text, search.map);
  ASSERT_TRUE(rounds) << rounds.error().message;
  ASSERT_EQ(rounds->size(), 2u);
  EXPECT_EQ((*rounds)[0][0].rate, 46.25);
  EXPECT_EQ((*rounds)[1][0].a, 2u);
  EXPECT_FALSE((*rounds)[1][0].rate);
}

TEST(RatesText, ErrorsNameTheLine) {
  const auto message = [](std::string_view text) {
    const auto rounds = read_rates(text, three());
    return rounds ? "accepted" : rounds.error().message;
  };
  EXPECT_EQ(message("1 n1 n2 5\n\n1 n2 n3 5\n"), "line 3: n2 is in this round twice");
  EXPECT_EQ(message("1 n1 n1 5"), "line 1: n1 is in this round twice");
  EXPECT_EQ(message("1 n1 n9 5"), "line 1: n9 is not one of the nodes");
  EXPECT_EQ(message("1 n1 n2"), "line 1: it is not \"ROUND NODE NODE RATE\"");
  EXPECT_EQ(message("2 n1 n2 5\n1 n1 n2 5"), "line 2: rounds are numbered from 1, and in order");
  EXPECT_EQ(message("0 n1 n2 5"), "line 1: rounds are numbered from 1, and in order");
  for (const char* rate : {"0", "-3", "nan", "inf", "x"})
    EXPECT_EQ(message(std::string("1 n1 n2 ") + rate), "line 1: its rate is not a positive number");
  EXPECT_EQ(message("7 n1 n2 5 # late\n"), "accepted");
}

// The forms are those of nccl-tests 2.19 (src/util.cu).
TEST(RatesText, FindsTheRateOfNcclTests) {
  const std::string text =
      "#  1073741824     268435456     float     sum      -1  5834.1  184.04  345.08      0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 345.082 \n#\n"
      "# Collective test concluded: all_reduce_perf2\n";
  EXPECT_EQ(rate_in(text), 345.082);
  std::string wrong = text;
  wrong.replace(wrong.find("0 OK"), 4, "3 FAILED");
  EXPECT_EQ(rate_in(wrong).error().message, "nccl-tests found wrong values in its results");
  const std::string json =
      R"({"version":3,"results":[{"size":1073741824,"in_place":{"bus_bw":346.1,"nwrong":0}}],)"
      R"("out_of_bounds":{"count":0,"okay":true},)"
      R"("average_bus_bandwidth":{"bandwidth":345.5,"okay":"unchecked"},"end_time":"12:00"})";
  EXPECT_EQ(rate_in(json), 345.5);
  EXPECT_EQ(rate_in("# Writing JSON output to a.json\n" + text + json + "\n"), 345.5);
  std::string not_okay = json;
  not_okay.replace(not_okay.find("true"), 4, "false");
  EXPECT_FALSE(rate_in(not_okay));
  std::string not_a_number = json;
  not_a_number.replace(not_a_number.find("345.5"), 5, "\"nan\"");
  EXPECT_EQ(rate_in(not_a_number).error().message, "its rate is not a positive number");
}

TEST(RatesText, TakesTheLastNumberOfOtherPrograms) {
  EXPECT_EQ(rate_in("round 3\nbandwidth: 46.5 GB/s\n"), 46.5);
  EXPECT_EQ(rate_in(R"({"latency_us": 3.5, "rate": 46.5})"), 46.5);
  EXPECT_EQ(rate_in("no number here").error().message, "its output has no number");
  EXPECT_EQ(rate_in("rate: -2").error().message, "its rate is not a positive number");
  EXPECT_FALSE(rate_in(""));
  EXPECT_FALSE(rate_in("{\"average_bus_bandwidth\": {"));
}

}  // namespace
}  // namespace gpuready::fleet
