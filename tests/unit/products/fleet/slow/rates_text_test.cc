#include "fleet/slow/rates_text.h"

#include <gtest/gtest.h>

namespace gpuready::fleet {
namespace {

FleetMap three() { return map_of({"n1", "n2", "n3"}, {}); }

TEST(RatesText, RoundsAreReadAsTheyWereWritten) {
  SlowSearch search{.map = three(), .options = {}, .rounds = {}};
  search.rounds = {{{0, 1, 46.25}}, {{2, 0, std::nullopt}}, {{1, 2, std::nullopt, true}}};
  const std::string text = write_rates(search);
  EXPECT_EQ(text,
            "# gpuready fleet slow: round, node, node, rate\n"
            "1 n1 n2 46.25\n"
            "2 n3 n1 -\n"
            "3 n2 n3 wrong\n");
  const auto rounds = read_rates(text, search.map);
  ASSERT_TRUE(rounds) << rounds.error().message;
  ASSERT_EQ(rounds->size(), 3u);
  EXPECT_EQ((*rounds)[0][0].rate, 46.25);
  EXPECT_EQ((*rounds)[1][0].a, 2u);
  EXPECT_FALSE((*rounds)[1][0].rate);
  EXPECT_FALSE((*rounds)[1][0].wrong_values);
  EXPECT_FALSE((*rounds)[2][0].rate);
  EXPECT_TRUE((*rounds)[2][0].wrong_values);
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

// Without MPI each node runs all of it by itself, so the output has two of everything.
TEST(RatesText, RefusesSeveralRunsOfNcclTests) {
  const std::string rank = "#  Rank  0 Group  0 Pid 4711 on n1 device  0 [0x17] NVIDIA H100\n";
  const std::string other = "#  Rank  1 Group  0 Pid 4712 on n2 device  0 [0x17] NVIDIA H100\n";
  const std::string okay = "# Out of bounds values : 0 OK\n";
  const std::string average = "# Avg bus bandwidth    : 345.0 \n";
  EXPECT_EQ(rate_in(rank + other + okay + average), 345.0);
  const std::string json = R"({"average_bus_bandwidth":{"bandwidth":345.0}})";
  for (const std::string& two : {rank + okay + average + rank + okay + average,
                                 rank + rank + okay + average, average + average, json + json}) {
    const auto rate = rate_in(two);
    ASSERT_FALSE(rate) << two;
    EXPECT_TRUE(rate.error().message.starts_with("its output has 2 runs of nccl-tests")) << two;
    EXPECT_TRUE(rate.error().message.ends_with("built without MPI=1")) << two;
  }
  const std::string wrong = "# Out of bounds values : 2 FAILED\n";
  EXPECT_TRUE(has_wrong_values(okay + average + wrong + average));
  EXPECT_TRUE(has_wrong_values(wrong + average + okay + average));
  EXPECT_FALSE(has_wrong_values(okay + average + okay));
}

TEST(RatesText, NcclTestsThatEndsEarlyHasNoRateAndItsWrongValuesCount) {
  const std::string head =
      "# nThread 1 nGpus 8 minBytes 1073741824\n"
      "#  Rank  0 Group  0 Pid 4711 on n1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n";
  const auto row = [](std::string outer, std::string inner) {
    return " 1073741824  268435456  float  sum  -1  5432.1  197.67  370.63  " + outer +
           "  5430.0  197.70  370.80  " + inner + "\n";
  };
  for (const std::string& text :
       {head, row("0", "0") + "#wrong", head + " 1073741824  268435456  float  sum  -1  5432.1",
        std::string("n1: Test CUDA failure common.cu:892 'out of memory'\n"),
        std::string("n1 pid 4711: Test failure common.cu:1005"),
        std::string(R"({"devices": [80, 81], "out_of_bounds": {"okay": true}, "aver)")}) {
    EXPECT_EQ(rate_in(text).error().message, "nccl-tests ended before its average bus bandwidth")
        << text;
    EXPECT_FALSE(has_wrong_values(text)) << text;
  }
  EXPECT_TRUE(has_wrong_values(head + row("12", "0")));
  EXPECT_TRUE(has_wrong_values("0: " + row("N/A", "1e+03")));
  EXPECT_FALSE(has_wrong_values(row("N/A", "N/A")));
  EXPECT_FALSE(has_wrong_values("1 2 3 4 5 6 7 8 9 10 11 12 13"));
}

TEST(RatesText, ANumberThatCannotBeReadIsNotSkipped) {
  EXPECT_EQ(rate_in("2026 run: 0.1GB/s"), 0.1);
  EXPECT_EQ(rate_in("8 GPUs, 46.9 GB/s on n12 with H100."), 46.9);
  EXPECT_EQ(rate_in("8 GPUs\nrate=46.9."), 46.9);
  EXPECT_EQ(rate_in("5e-1GB/s"), 0.5);
  EXPECT_EQ(rate_in("8 nodes: 46,9").error().message,
            "its last number cannot be read: \"46,9\"; print it as 46.9");
  for (const char* text : {"46,9GB/s", "1,046.9", "46.9 at 12:00:01", "46.9 of 10.0.0.1", "8 0x1p3",
                           "8 GPUs: nan", "8 GPUs: -inf", "8 1e999", "46.9 on 2026-11-27"})
    EXPECT_FALSE(rate_in(text)) << text;
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
