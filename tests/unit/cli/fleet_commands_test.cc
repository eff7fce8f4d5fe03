// `fleet merge` and `fleet slow`, run in this process: what is read, and what their documents hold.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/text.h"
#include "unit/cli/run_command.h"
#include "unit/test_folder.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

class FleetCommands : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path(name); }

 private:
  TestFolder folder_;
};

test::Ran fleet(std::vector<std::string> args) {
  return test::run_command("fleet", std::move(args));
}

// A device such as /dev/zero may never end. /dev/null, as jobs have it, and a pipe that no process
// writes to hold no report.
TEST_F(FleetCommands, MergeReadsNoDeviceButNull) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/null"), at("pipe")}) {
    const auto empty = fleet({"merge", path});
    ASSERT_EQ(empty.exit, 4) << empty.err;
    EXPECT_TRUE(contains(empty.out, "0 nodes: 0 ready")) << empty.out;
  }
  const auto zero = fleet({"merge", "/dev/zero"});
  EXPECT_EQ(zero.exit, 2);
  EXPECT_TRUE(contains(zero.err, "/dev/zero: a device; give a file, a folder or a pipe"))
      << zero.err;
}

TEST_F(FleetCommands, MergeKeepsInTheHistoryWhatItReads) {
  const std::string machine =
      std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/healthy-intel-arc/machine.json";
  const std::string report = "--json=" + at("n.json"), history = at("history");
  ASSERT_EQ(test::run_command("doctor", {"--replay", machine, report}).exit, 0);
  auto live = parse_json(test::read_file(at("n.json")), "n.json").value_or(Json::object());
  live["machine"]["source"] = "live";
  live["machine"]["system"]["host_name"] = "n1";
  std::ofstream(at("n.json")) << dump(live);
  const auto merge = [&](const std::string& forget = "") {
    std::vector<std::string> args = {"merge", at("n.json"), "--history", history};
    if (!forget.empty()) args.insert(args.end(), {"--forget", forget});
    return fleet(args);
  };
  const auto first = merge();
  EXPECT_EQ(first.exit, 0) << "a history begins with the first report: " << first.err;
  const std::string text = test::read_file(history);
  const auto kept = lines(text);
  ASSERT_EQ(kept.size(), 2u) << text;
  EXPECT_TRUE(contains(kept[1], "\"n1\"")) << kept[1];
  EXPECT_EQ(merge("n1").exit, 0) << "it is known from the first";
  const auto unknown = merge("absent");
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_EQ(unknown.err, "gpuready: --forget absent: " + history + " does not know this node\n");
  std::ofstream(history) << "damaged\n";
  const auto damaged = merge();
  EXPECT_EQ(damaged.exit, 2);
  EXPECT_TRUE(contains(damaged.err, history)) << damaged.err;
  EXPECT_EQ(test::read_file(history), "damaged\n");
}

TEST_F(FleetCommands, SlowGoesOnAfterTheRoundsThatAreKept) {
  std::ofstream(at("rates.txt")) << "1 n1 n2 100\n";
  const std::vector<std::string> search = {"slow", "--nodes",   "n1,n2,n3",        "--rounds",
                                           "1",    "--command", "echo {a} {b} 100"};
  const auto document = [&](std::vector<std::string> more) {
    auto args = search;
    for (auto& each : more) args.push_back(std::move(each));
    args.push_back("--json=" + at("found.json"));
    const auto ran = fleet(args);
    EXPECT_EQ(ran.err, "");
    return parse_json(test::read_file(at("found.json")), "found.json").value_or(Json::object());
  };
  const Json goes_on = document({"--results", at("rates.txt")});
  ASSERT_EQ(goes_on.value("notes", Json::array()).size(), 1u) << goes_on.dump();
  EXPECT_TRUE(contains(goes_on["notes"][0].get<std::string>(),
                       "Nothing was measured now, because this search has ended: 1 round"));
  const Json fresh = document({"--results", at("new.txt")});
  EXPECT_EQ(fresh.value("notes", Json::array()).size(), 0u) << fresh.dump();
  EXPECT_TRUE(fs::exists(at("new.txt")));
  EXPECT_EQ(document({}).value("notes", Json::array()).size(), 0u);
}

// Of two bad results the worse one is the exit code.
TEST(LostOutputs, HideNoUnhealthyGpu) {
  const auto ran = [](const std::string& machine, const std::string& json) {
    return test::run_command("doctor", {"--replay",
                                        std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" +
                                            machine + "/machine.json",
                                        "--json=" + json})
        .exit;
  };
  constexpr const char *kWell = "healthy-intel-arc", *kSick = "driver-not-loaded",
                       *kFull = "/dev/full", *kNull = "/dev/null";
  EXPECT_EQ(ran(kWell, kNull), 0);
  EXPECT_EQ(ran(kWell, kFull), 2);
  EXPECT_EQ(ran(kSick, kNull), 1);
  EXPECT_EQ(ran(kSick, kFull), 1);
}

}  // namespace
}  // namespace gpuready::cli
