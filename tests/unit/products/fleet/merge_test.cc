#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fleet/fleet.h"
#include "fleet/history.h"

namespace gpuready::fleet {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;

NodeReport report(std::string name) {
  NodeReport out;
  out.name = out.claimed = std::move(name);
  out.machine_id = out.name;
  out.created_unix_seconds = kNow - 60;
  out.exit = Exit::ok;
  out.tested = true;
  out.product = "DGX";
  out.model = "H100";
  out.gpus = 8;
  out.facts = {{"GPUs", -1, "8"}};
  return out;
}
std::vector<NodeReport> nodes(std::size_t count) {
  std::vector<NodeReport> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(report("n" + std::to_string(i)));
  return out;
}
Fleet merged(const std::vector<NodeReport>& reports, History* history = nullptr) {
  return merge(reports, {.expected = {}, .now_unix_seconds = kNow}, history);
}
NodeState state_of(const Fleet& fleet, const std::string& name) {
  for (const Node& node : fleet.nodes)
    if (node.name == name) return node.state;
  ADD_FAILURE() << name;
  return NodeState::ready;
}

TEST(FleetStates, FollowTheExitCodeAndWhatWasTested) {
  const auto state = [](Exit exit, bool tested, std::string reason = "") {
    auto one = report("n0");
    one.exit = exit;
    one.tested = tested;
    one.gpu_reason = std::move(reason);
    return state_of(merged({one}), "n0");
  };
  EXPECT_EQ(state(Exit::ok, true), NodeState::ready);
  EXPECT_EQ(state(Exit::ok, false), NodeState::not_tested);
  EXPECT_EQ(state(Exit::ok, true, "GPU 1 is in use"), NodeState::not_tested);
  EXPECT_EQ(state(Exit::unhealthy, true), NodeState::bad);
  EXPECT_EQ(state(Exit::required_absent, true), NodeState::absent);
  for (const Exit exit : {Exit::usage, Exit::unknown, Exit::interrupted})
    EXPECT_EQ(state(exit, true), NodeState::unknown);
}

// A report that contradicts itself is not believed.
TEST(FleetStates, AnErrorInAReportCountsWhateverItsExitCodeSays) {
  for (const Exit exit : {Exit::ok, Exit::unknown, Exit::interrupted}) {
    auto one = report("n0");
    one.exit = exit;
    one.bad_gpu = true;
    EXPECT_EQ(state_of(merged({one}), "n0"), NodeState::bad);
    one.bad_gpu = false;
    one.causes = {{.id = "xid-79", .title = "gone", .cure = "", .severity = Severity::warning}};
    EXPECT_NE(state_of(merged({one}), "n0"), NodeState::bad);
    one.causes[0].severity = Severity::error;
    EXPECT_EQ(state_of(merged({one}), "n0"), NodeState::bad);
  }
}

// As of eight tasks of one step, each with a GPU; a later run replaces an earlier one.
TEST(FleetStates, OfReportsAtTheSameTimeTheWorstCounts) {
  auto good = report("n0"), bad = report("n0");
  bad.exit = Exit::unhealthy;
  const auto state = [&](std::int64_t later, std::int64_t good_takes, std::int64_t bad_takes) {
    good.duration_seconds = good_takes;
    bad.duration_seconds = bad_takes;
    bad.created_unix_seconds = good.created_unix_seconds - later;
    const auto one = merged({good, bad}), other = merged({bad, good});
    EXPECT_EQ(one.notes, other.notes);
    EXPECT_EQ(one.notes.size(), state_of(one, "n0") == NodeState::bad && later >= 0 ? 1u : 0u);
    EXPECT_EQ(state_of(one, "n0"), state_of(other, "n0"));
    return state_of(one, "n0");
  };
  EXPECT_EQ(state(0, 0, 0), NodeState::bad);
  EXPECT_EQ(state(20, 5, 20), NodeState::bad);
  EXPECT_EQ(state(20, 5, 19), NodeState::ready);  // it had ended: the good one is a repeat
  EXPECT_EQ(state(-5, 3, 0), NodeState::bad);     // later than the good one
}

TEST(FleetStates, OnlyAReportOfNowCounts) {
  const auto state = [](std::int64_t age) {
    auto one = report("n0");
    one.created_unix_seconds = kNow - age;
    return state_of(merged({one}), "n0");
  };
  EXPECT_EQ(state(0), NodeState::ready);
  EXPECT_EQ(state(25 * 3600), NodeState::ready);
  EXPECT_EQ(state(25 * 3600 + 1), NodeState::unknown);
  EXPECT_EQ(state(-300), NodeState::ready);
  EXPECT_EQ(state(-301), NodeState::unknown);
}

TEST(FleetStates, TheLatestReportOfAMachineCounts) {
  auto old = report("n0"), latest = report("n0");
  old.exit = Exit::unhealthy;
  old.created_unix_seconds -= 100;
  EXPECT_EQ(state_of(merged({latest, old}), "n0"), NodeState::ready);
  EXPECT_EQ(state_of(merged({old, latest}), "n0"), NodeState::ready);
  old.machine_id = "another";
  EXPECT_EQ(state_of(merged({old, latest}), "n0"), NodeState::unknown);
  old.created_unix_seconds -= 26 * 3600;  // a machine that was replaced
  EXPECT_EQ(state_of(merged({old, latest}), "n0"), NodeState::ready);
}

// With `odd` of `all` nodes different, are they named?
std::size_t differences(std::size_t odd, std::size_t all) {
  auto reports = nodes(all);
  for (std::size_t i = 0; i < all; ++i)
    reports[i].facts.push_back({"VBIOS", 0, i < odd ? "b" : "a"});
  return merged(reports).differences.size();
}
TEST(FleetSiblings, TheOddOnesAreNamedAmongThreeAndUpToAThird) {
  EXPECT_EQ(differences(0, 9), 0u);
  EXPECT_EQ(differences(1, 2), 0u);
  EXPECT_EQ(differences(1, 3), 1u);
  EXPECT_EQ(differences(3, 9), 1u);
  EXPECT_EQ(differences(4, 9), 0u);
}

TEST(FleetSiblings, MachinesOfAnotherProductAreNone) {
  auto reports = nodes(4);
  for (auto& one : reports) one.facts.push_back({"VBIOS", 0, "a"});
  reports[0].facts.back().value = "b";
  EXPECT_EQ(merged(reports).differences.size(), 1u);
  reports[0].product = "HGX";
  EXPECT_EQ(merged(reports).differences.size(), 0u);
}

TEST(FleetSiblings, ANodeThatLostGpusIsBad) {
  auto reports = nodes(4);
  reports[1].gpus = 7;
  reports[1].facts[0].value = "7";
  reports[2].gpus = 0;
  reports[2].model.clear();
  reports[2].facts[0].value = "0";
  EXPECT_EQ(merged(reports).count(NodeState::bad), 2u);  // two of three siblings have more
  for (auto& one : nodes(8)) {
    one.name += "x";
    reports.push_back(one);
  }
  const Fleet fleet = merged(reports);
  EXPECT_EQ(state_of(fleet, "n1"), NodeState::bad);
  EXPECT_EQ(state_of(fleet, "n2"), NodeState::bad);
  EXPECT_EQ(fleet.count(NodeState::ready), 10u);
  // More than the others is odd, and not bad.
  reports[1].gpus = 9;
  reports[1].facts[0].value = "9";
  EXPECT_EQ(state_of(merged(reports), "n1"), NodeState::ready);
}

TEST(FleetSiblings, MostMeansMoreThanHalfOfTheOthers) {
  const auto bad = [](std::vector<std::size_t> gpus) {
    auto reports = nodes(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) reports[i].gpus = gpus[i];
    return merged(reports).count(NodeState::bad);
  };
  EXPECT_EQ(bad({8, 0}), 1u);
  EXPECT_EQ(bad({8, 8, 8, 7, 7}), 2u);
  EXPECT_EQ(bad({8, 8, 7, 7, 7}), 0u);  // two of four others
  EXPECT_EQ(bad({8, 4, 4}), 0u);
}

// Names and GPUs of reports must fit together: of what does not fit nothing is known.
TEST(FleetStates, AGpuIsInOneMachineAndANameIsOfOne) {
  auto one = report("n0"), other = report("n1");
  one.gpu_ids = {"GPU-a", "GPU-b"};
  other.gpu_ids = {"GPU-b"};
  EXPECT_EQ(merged({one, other}).count(NodeState::unknown), 2u);
  // One of the two is bad in either case, and its cause is not lost.
  auto bad = other;
  bad.exit = Exit::unhealthy;
  bad.causes = {{.id = "xid-79", .title = "gone", .cure = ""}};
  for (const auto& both : {std::vector{one, bad}, std::vector{bad, one}}) {
    const auto fleet = merged(both);
    EXPECT_EQ(state_of(fleet, "n0"), NodeState::unknown);
    EXPECT_EQ(state_of(fleet, "n1"), NodeState::bad);
    EXPECT_EQ(fleet.causes.size(), 1u);
    EXPECT_EQ(fleet.notes, std::vector<std::string>{"n1 reports the same GPU as n0."});
  }
  other.gpu_ids = {"GPU-c"};
  EXPECT_EQ(merged({one, other}).count(NodeState::ready), 2u);
  other.name = "n0";
  for (const char* id : {"", "n0", "n1"}) {
    other.machine_id = id;
    EXPECT_EQ(state_of(merged({one, other}), "n0"), NodeState::unknown) << id;
    bad = other;
    bad.claimed = "n0", bad.exit = Exit::unhealthy;
    const auto fleet = merged({one, bad});
    EXPECT_EQ(state_of(fleet, "n0"), NodeState::bad) << id;
    EXPECT_EQ(fleet.notes.size(), 2u) << id;  // of the worst that counts, and of the machines
  }
  // The later report may be of the machine that replaced the bad one; its error is quoted.
  bad.machine_id = "another", bad.created_unix_seconds -= 600;
  bad.causes = {{.id = "xid-79", .title = "gone", .cure = "", .severity = Severity::error}};
  const auto later = merged({one, bad});
  EXPECT_EQ(state_of(later, "n0"), NodeState::unknown);
  EXPECT_EQ(later.nodes[0].reason, "2 machines report under this name. An earlier one says: gone");
  other.machine_id = one.machine_id;
  other.gpu_ids = {"GPU-a", "GPU-c"};
  EXPECT_EQ(state_of(merged({one, other}), "n0"), NodeState::ready);
}

TEST(FleetStates, AnErrorStaysUntilATestHasPassed) {
  auto bad = report("n0"), later = report("n0");
  bad.exit = Exit::unhealthy;
  bad.created_unix_seconds -= 100;
  EXPECT_EQ(state_of(merged({bad, later}), "n0"), NodeState::ready);
  later.tested = false;
  EXPECT_EQ(state_of(merged({bad, later}), "n0"), NodeState::unknown);
  auto tested = report("n0");
  tested.created_unix_seconds -= 50;
  EXPECT_EQ(state_of(merged({bad, tested, later}), "n0"), NodeState::not_tested);
  bad.created_unix_seconds -= 30 * 3600;  // too old to count
  EXPECT_EQ(state_of(merged({bad, later}), "n0"), NodeState::not_tested);
}

// Nine values of which the first is `value`; the others are 100 with a deviation (MAD) of `noise`.
std::size_t slow(double value, double noise, std::size_t count = 9) {
  auto reports = nodes(count);
  for (std::size_t i = 0; i < count; ++i)
    reports[i].rates.push_back(
        {"memory: write", "B/s", 0, i == 0 ? value : 100 + (i % 2 == 0 ? noise : -noise)});
  return merged(reports).slow.size();
}
TEST(FleetSiblings, TheLimitIsLearned) {
  EXPECT_EQ(slow(97.1, 0), 0u);
  EXPECT_EQ(slow(96.9, 0), 1u);
  // The median of {v, 99 x4, 101 x4} is 99, from which half are at most 0 away... so with noise 2
  // around 100: {v, 98 x4, 102 x4}: median 98, deviations {98-v, 0 x4, 4 x4}: MAD 4, limit 98
  // - 35.6.
  EXPECT_EQ(slow(63, 2), 0u);
  EXPECT_EQ(slow(62, 2), 1u);
  EXPECT_EQ(slow(1, 0, 4), 0u);  // too few
  EXPECT_EQ(slow(1, 0, 5), 1u);
}

TEST(FleetSiblings, ANodeWithoutGpusIsOnlyBadAmongMachinesThatHaveOneModel) {
  auto reports = nodes(11);
  for (std::size_t i = 5; i < 10; ++i) reports[i].model = "A100";
  reports[10].gpus = 0;
  reports[10].model.clear();
  reports[10].facts[0].value = "0";
  EXPECT_EQ(state_of(merged(reports), "n10"), NodeState::no_gpu);
  for (auto& one : reports)
    if (one.gpus > 0) one.model = "H100";
  EXPECT_EQ(state_of(merged(reports), "n10"), NodeState::bad);
}

TEST(FleetNotes, AreLimited) {
  MergeOptions options{.expected = {}, .now_unix_seconds = kNow};
  options.faults.assign(20, "broken");
  EXPECT_EQ(merge({}, options).notes.size(), 20u);
  options.faults.push_back("broken");
  EXPECT_EQ(merge({}, options).notes.size(), 21u);
  auto reports = nodes(30);
  for (auto& one : reports) one.claimed = "other";
  EXPECT_EQ(merged(reports).notes.size(), 21u);
}

TEST(FleetCauses, AreGroupedAndTheWorstIsFirst) {
  auto reports = nodes(3);
  NodeCause warning, error;
  warning.id = "slow-link";
  warning.severity = Severity::warning;
  error.id = "xid-79";
  error.gpus = 1;
  for (auto& one : reports) one.causes = {warning};
  reports[1].causes.push_back(error);
  reports[1].causes.push_back(error);
  const Fleet fleet = merged(reports);
  ASSERT_EQ(fleet.causes.size(), 2u);
  EXPECT_EQ(fleet.causes[0].id, "xid-79");
  EXPECT_EQ(fleet.causes[0].nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(fleet.causes[0].gpus, 2u);
  EXPECT_EQ(fleet.causes[1].nodes.size(), 3u);
}

// A title that says more than a node's own report would be wrong there.
TEST(FleetCauses, OfOtherSeverityHaveTheirOwnTitle) {
  auto reports = nodes(3);
  for (auto& one : reports) {
    NodeCause cause;
    cause.id = "row-remap";
    cause.title = "A row is to be remapped";
    cause.severity = Severity::warning;
    one.causes = {cause};
  }
  reports[1].causes[0].title = "A row cannot be remapped";
  reports[1].causes[0].severity = Severity::error;
  const Fleet fleet = merged(reports);
  ASSERT_EQ(fleet.causes.size(), 2u);
  EXPECT_EQ(fleet.causes[0].title, "A row cannot be remapped");
  EXPECT_EQ(fleet.causes[0].nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(fleet.causes[1].title, "A row is to be remapped");
  EXPECT_EQ(fleet.causes[1].nodes, (std::vector<std::string>{"n0", "n2"}));
}

TEST(FleetHistory, ARateIsComparedWithTheNodesOwn) {
  History history;
  auto one = report("n0");
  const auto slow_at = [&](double value) {
    one.created_unix_seconds += 1;
    one.rates = {{"memory: write", "B/s", 0, value}};
    return merged({one}, &history).slow.size();
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(slow_at(100), 0u) << i;
  EXPECT_EQ(slow_at(97.5), 0u);
  EXPECT_EQ(slow_at(90), 1u);
  EXPECT_EQ(slow_at(90), 1u);  // what is slow does not become the usual
  // Other GPUs have other rates.
  one.gpu_ids = {"GPU-b"};
  EXPECT_EQ(slow_at(90), 1u);  // the first that names its GPUs
  one.gpu_ids = {"GPU-c"};
  EXPECT_EQ(slow_at(90), 0u);
}

TEST(FleetHistory, TheUsualFollowsWhatIsMeasured) {
  History history;
  auto one = report("n0");
  // The mean of the first five is 98.3 and their mean deviation 1.1: 96 is within six deviations.
  for (const double value : {100.0, 99.0, 98.0, 97.5, 97.0, 96.0}) {
    one.created_unix_seconds += 1;
    one.rates = {{"memory: write", "B/s", 0, value}};
    EXPECT_EQ(merged({one}, &history).slow.size(), 0u) << value;
  }
}

// A mean over all values would follow ever less.
TEST(FleetHistory, TheUsualIsThatOfTheLast16Values) {
  History history;
  auto one = report("n0");
  const auto fleet_at = [&](double value) {
    one.created_unix_seconds += 1;
    one.rates = {{"memory: write", "B/s", 0, value}};
    return merged({one}, &history);
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(fleet_at(100).slow.empty()) << i;
  EXPECT_TRUE(fleet_at(98).slow.empty());
  const Fleet fleet = fleet_at(50);
  ASSERT_EQ(fleet.slow.size(), 1u);
  EXPECT_EQ(fleet.slow[0].compared, 16u);
  EXPECT_DOUBLE_EQ(fleet.slow[0].median, 100 - 2.0 / 16);
  EXPECT_EQ(fleet.slow[0].value, 50);
  EXPECT_EQ(fleet.slow[0].siblings, "its own history");
}

TEST(FleetHistory, ANodeIsBadUntilATestHasPassed) {
  History history;
  auto one = report("n0");
  const auto state = [&](Exit exit, bool tested) {
    one.created_unix_seconds += 1;
    one.exit = exit;
    one.tested = tested;
    const Fleet fleet = merged({one}, &history);
    return std::pair(fleet.nodes[0].state, fleet.repairs.size());
  };
  EXPECT_EQ(state(Exit::ok, false), std::pair(NodeState::not_tested, std::size_t{0}));
  EXPECT_EQ(state(Exit::unhealthy, true), std::pair(NodeState::bad, std::size_t{0}));
  EXPECT_EQ(state(Exit::ok, false), std::pair(NodeState::unknown, std::size_t{1}));
  EXPECT_EQ(state(Exit::unknown, true), std::pair(NodeState::unknown, std::size_t{1}));
  EXPECT_EQ(state(Exit::ok, true), std::pair(NodeState::ready, std::size_t{1}));
  EXPECT_EQ(state(Exit::ok, false), std::pair(NodeState::not_tested, std::size_t{0}));
}

TEST(FleetHistory, ATestBeforeTheFaultProvesNoRepair) {
  History history;
  auto before = report("n0"), bad = report("n0");
  before.created_unix_seconds -= 10;
  bad.exit = Exit::unhealthy;
  merged({bad}, &history);
  const Fleet fleet = merged({before}, &history);
  EXPECT_EQ(state_of(fleet, "n0"), NodeState::unknown);
  ASSERT_EQ(fleet.repairs.size(), 1u);
  EXPECT_FALSE(fleet.repairs[0].proven);
}

TEST(FleetHistory, ATestOfTheFaultsOwnSecondProvesNoRepair) {
  for (const auto& [later, proven] : {std::pair{0, false}, {1, true}}) {
    History history;
    auto bad = report("n0"), after = report("n0");
    bad.exit = Exit::unhealthy;
    after.created_unix_seconds += later;
    merged({bad}, &history);
    const Fleet fleet = merged({after}, &history);
    EXPECT_EQ(state_of(fleet, "n0"), proven ? NodeState::ready : NodeState::unknown) << later;
    ASSERT_EQ(fleet.repairs.size(), 1u);
    EXPECT_EQ(fleet.repairs[0].proven, proven) << later;
  }
}

// A failed test of n0, and a report without a test from after it.
std::pair<NodeReport, NodeReport> failed_and_seen_since() {
  auto bad = report("n0"), later = report("n0");
  bad.exit = Exit::unhealthy;
  bad.created_unix_seconds -= 100;
  later.tested = false;
  return {bad, later};
}

TEST(FleetHistory, AnErrorThatArrivesLateCounts) {
  History history;
  auto [bad, later] = failed_and_seen_since();
  EXPECT_EQ(state_of(merged({later}, &history), "n0"), NodeState::not_tested);
  EXPECT_EQ(state_of(merged({bad}, &history), "n0"), NodeState::bad);
  later.created_unix_seconds += 1;
  EXPECT_EQ(state_of(merged({later}, &history), "n0"), NodeState::unknown);
  later.created_unix_seconds += 1;
  later.tested = true;
  EXPECT_EQ(state_of(merged({later}, &history), "n0"), NodeState::ready);
  merged({bad}, &history);  // once more: it is older than the test
  later.tested = false;
  later.created_unix_seconds += 1;
  EXPECT_EQ(state_of(merged({later}, &history), "n0"), NodeState::not_tested);
}

TEST(FleetHistory, AnErrorBesideANewerReportIsKept) {
  History history;
  auto [bad, later] = failed_and_seen_since();
  EXPECT_EQ(state_of(merged({bad, later}, &history), "n0"), NodeState::unknown);
  later.created_unix_seconds += 1;
  EXPECT_EQ(state_of(merged({later}, &history), "n0"), NodeState::unknown);
}

TEST(FleetHistory, ANodeWithFewerGpusThanBeforeIsBad) {
  History history;
  auto one = report("n0");
  const auto state = [&](std::size_t gpus) {
    one.created_unix_seconds += 1;
    one.gpus = gpus;
    one.facts = {{"GPUs", -1, std::to_string(gpus)}};
    return state_of(merged({one}, &history), "n0");
  };
  EXPECT_EQ(state(8), NodeState::ready);
  for (const std::size_t gpus : {7, 0, 7}) EXPECT_EQ(state(gpus), NodeState::bad) << gpus;
  EXPECT_EQ(state(8), NodeState::ready);
  EXPECT_EQ(state(0), NodeState::bad);
  EXPECT_TRUE(history.forget("n0"));
  EXPECT_EQ(state(0), NodeState::no_gpu);
}

TEST(FleetHistory, AFactThatIsOtherThanBeforeIsAChange) {
  History history;
  auto one = report("n0");
  const auto changes = [&](std::vector<NodeFact> facts) {
    one.created_unix_seconds += 1;
    one.facts = std::move(facts);
    std::string text;
    for (const Change& change : merged({one}, &history).changes)
      text += fmt::format("{} {} {}: {} -> {};", change.node, change.gpu, change.what,
                          change.before, change.after);
    return text;
  };
  EXPECT_EQ(changes({{"VBIOS", 0, "a"}, {"VBIOS", 1, "a"}}), "");
  EXPECT_EQ(changes({{"VBIOS", 0, "a"}, {"VBIOS", 1, "b"}}), "n0 1 VBIOS: a -> b;");
  EXPECT_EQ(changes({{"VBIOS", 0, "a"}, {"VBIOS", 1, "b"}, {"ECC", 0, "on"}}), "");
  EXPECT_EQ(changes({{"VBIOS", 1, "a"}, {"ECC", 0, "off"}}),
            "n0 1 VBIOS: b -> a;n0 0 ECC: on -> off;");
  // One that is not reported for a time is compared with the latest.
  EXPECT_EQ(changes({{"VBIOS", 0, "c"}, {"GPUs", -1, "8"}}), "n0 0 VBIOS: a -> c;");
}

// A bad report that may be another machine's shows its cause, and nothing of what the node had.
TEST(FleetHistory, AReportOfDoubtfulIdentityTellsNothingOfBefore) {
  History history;
  auto one = report("n0"), other = report("n0");
  one.facts = {{"GPUs", -1, "4"}}, one.gpus = 4;
  other.facts = {{"GPUs", -1, "8"}}, other.gpus = 8;
  other.machine_id = "another", other.exit = Exit::unhealthy;
  other.causes = {{.id = "xid-79", .title = "gone", .cure = ""}};
  const auto both = merged({one, other}, &history);
  EXPECT_EQ(state_of(both, "n0"), NodeState::bad);
  EXPECT_EQ(both.causes.size(), 1u);
  one.created_unix_seconds += 1;
  EXPECT_EQ(state_of(merged({one}, &history), "n0"), NodeState::ready);
}

// What is known is the same after the file was written and read, and a node's line is what is known
// of it.
TEST(FleetHistory, AFileIsALineForItselfAndALineForEachNode) {
  History history;
  auto one = report("n1"), two = report("n0");
  one.gpu_ids = {"GPU-a", "GPU-b"};
  one.facts = {{"GPUs", -1, "2"}, {"VBIOS", 0, "a"}, {"VBIOS", 1, ""}};
  one.rates = {{"memory: write", "B/s", 1, 2.5e12}};
  two.exit = Exit::unhealthy;
  two.causes = {{.id = "xid-79", .title = "gone", .cure = ""}};
  merged({one, two}, &history);
  const std::string text = history.text();
  EXPECT_EQ(
      text,
      fmt::format(
          R"({{"schema":"gpuready.fleet-history","schema_version":1,"nodes":2}}
{{"node":"n0","reported_unix_seconds":{0},"bad_since_unix_seconds":{0},"bad_reason":"gone",)"
          R"("facts":{{"GPUs":{{"-1":"8"}}}}}}
{{"node":"n1","reported_unix_seconds":{0},"ready_unix_seconds":{0},"gpus":"GPU-a GPU-b",)"
          R"("facts":{{"GPUs":{{"-1":"2"}},"VBIOS":{{"0":"a","1":""}}}},)"
          R"("rates":{{"memory: write":{{"1":{{"count":1,"mean":2500000000000.0,"spread":0.0}}}}}}}}
)",
          one.created_unix_seconds));
  const auto read = History::read(text, "history");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text(), text);
  EXPECT_EQ(read->nodes(), (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(History::read("", "history")->text(),
            "{\"schema\":\"gpuready.fleet-history\",\"schema_version\":1,\"nodes\":0}\n");
}

// A node may report any numbers: their mean must not cost the history of the others.
TEST(FleetHistory, RatesBeyondAllNumbersLeaveItReadable) {
  History history;
  auto one = report("n0");
  for (const double value : {-1.7e308, 1.7e308, 1.7e308, -1.7e308}) {
    one.created_unix_seconds += 1;
    one.rates = {{"memory: write", "B/s", 0, value}};
    merged({one}, &history);
    const auto read = History::read(history.text(), "history");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->of("n0").rates.at("memory: write").at(0).mean, -1.7e308);
  }
}

// A report may invent names; the line of its node does not grow without end.
TEST(FleetHistory, ANodesRatesAreLimited) {
  History history;
  auto one = report("n0");
  for (int name = 0; name < 1001; ++name)
    one.rates.push_back({"rate " + std::to_string(name), "B/s", 0, 100});
  merged({one}, &history);
  EXPECT_EQ(history.of("n0").rates.size(), 1000u);
  // Those that are known are still followed.
  one.created_unix_seconds += 1;
  one.rates = {{"rate 999", "B/s", 0, 100}, {"rate 1000", "B/s", 0, 100}};
  merged({one}, &history);
  const auto rates = history.of("n0").rates;
  EXPECT_EQ(rates.size(), 1000u);
  EXPECT_EQ(rates.at("rate 999").at(0).count, 2u);
  EXPECT_FALSE(rates.contains("rate 1000"));
}

// What is not a whole history is refused, and no part of it taken for all.
TEST(FleetHistory, AFileThatIsNotWholeIsRefused) {
  const std::string head = R"({"schema":"gpuready.fleet-history","schema_version":1,"nodes":2})",
                    n0 = R"({"node":"n0"})", n1 = R"({"node":"n1"})";
  ASSERT_TRUE(History::read(head + "\n" + n0 + "\n" + n1 + "\n", "f"));
  ASSERT_TRUE(History::read(head + "\n" + n0 + "\n" + n1, "f"));
  struct Row {
    std::string text, why;
  };
  for (const auto& [text, why] :
       {Row{"SQLite format 3", "its first line: "}, Row{"\n", "its first line: "},
        Row{R"({"schema":"gpuready.report","schema_version":1})",
            "its first line is of something else"},
        Row{R"({"schema":"gpuready.fleet-history","schema_version":2,"nodes":0})",
            "its first line is of something else"},
        Row{head + "\n" + n0 + "\n", "it holds 1 node, and 2 are announced"},
        Row{head + "\n" + n0 + "\n" + n0 + "\n", "line 3 repeats a node"},
        Row{head + "\n" + n0 + "\n" + n1 + "\n" + R"({"node":"n2"})",
            "it holds 3 nodes, and 2 are announced"},
        Row{head + "\n" + n0 + "\n" + n1.substr(0, 8), "line 3: "},
        Row{head + "\n" + n0 + "\n{}\n", "line 3: node is missing"},
        Row{head + "\n" + n0 + "\n" + R"({"node":"n1","facts":{"GPUs":{"a":"8"}}})",
            "line 3: facts.GPUs.a is not a number"}}) {
    const auto refused = History::read(text, "f");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    const auto& message = refused.error().message;
    EXPECT_TRUE(message.starts_with("f is not the history of a fleet: " + why)) << message;
    EXPECT_TRUE(message.ends_with(". Move it away: a new history begins")) << message;
  }
}

TEST(FleetHistory, ANodeThatIsSilentIsMissed) {
  History history;
  merged(nodes(2), &history);
  EXPECT_EQ(state_of(merged({report("n0")}, &history), "n1"), NodeState::unknown);
  EXPECT_TRUE(history.forget("n1"));
  EXPECT_FALSE(history.forget("n1"));
  EXPECT_EQ(merged({report("n0")}, &history).nodes.size(), 1u);
}

}  // namespace
}  // namespace gpuready::fleet
