#include "slurm/decide.h"

#include <gtest/gtest.h>

#include "unit/products/slurm/results.h"

namespace gpuready::slurm {
namespace {

const Cause kLost{"xid-79", "GPU 3: fell off", Action::power_cycle, Level::quick};
const Cause kUnloaded{"driver-not-loaded", "no driver", Action::configure, {}};
constexpr const char* kLostReason = "gpuready: GPU 3: fell off (power_cycle)";

// A node that we drained at 1000 for the lost GPU; the look is at 2000.
Situation drained() {
  Situation s;
  s.node = {"n1", {"IDLE", "DRAIN"}, kLostReason};
  s.record = Record{.node = "n1",
                    .reasons = {kLostReason},
                    .causes = {"xid-79"},
                    .needs_test = Level::quick,
                    .drained_unix_seconds = 1000};
  s.looked_unix_seconds = 2000;
  s.may_resume = true;
  return s;
}
Situation with(Situation s, std::vector<Cause> causes) {
  s.causes = std::move(causes);
  return s;
}
Situation idle() {
  Situation s;
  s.node = {"n1", {"IDLE"}, ""};
  s.looked_unix_seconds = 2000;
  s.may_resume = true;
  return s;
}

TEST(SlurmDecide, ACauseDrainsANodeThatNooneElseHas) {
  EXPECT_EQ(decide(idle()).act, Act::nothing);
  const auto drain = decide(with(idle(), {kLost}));
  EXPECT_EQ(drain.act, Act::drain);
  EXPECT_EQ(drain.reason, kLostReason);
  for (auto states : std::vector<std::vector<std::string>>{{"DOWN"},
                                                           {"IDLE", "MAINTENANCE"},
                                                           {"MIXED", "REBOOT_ISSUED"},
                                                           {"FAIL"},
                                                           {"IDLE", "DRAIN"},
                                                           {"ALLOCATED", "POWERING_DOWN"}}) {
    auto s = with(idle(), {kLost});
    s.node.states = states;
    EXPECT_EQ(decide(s).act, Act::nothing) << states.back();
  }
  auto s = with(idle(), {kLost});
  s.node.states = {"ALLOCATED", "RESERVED", "A_STATE_OF_TOMORROW"};
  EXPECT_EQ(decide(s).act, Act::drain);
}

TEST(SlurmDecide, AReasonOfOthersStaysInEveryCase) {
  for (const char* reason :
       {"NHC: gpu", "Prolog error", "gpuready: GPU 3: fell off (power_cycle) ticket 7",
        "gpuready: GPU 3: fell off (reboot)", "gpuready: GPU 3: fell off", "Not responding"})
    for (const bool fault : {true, false})
      for (auto s : {drained(), idle()}) {
        s.node.reason = reason;
        s.kept = good_since(1500);
        s.adopt = s.record.has_value();  // it has a record, so nothing is to be adopted
        if (fault) s.causes = {kLost};
        EXPECT_EQ(decide(s).act, Act::nothing) << reason;
      }
}

TEST(SlurmDecide, WhatWeDrainedIsDrainedOnce) {
  EXPECT_EQ(decide(with(drained(), {kLost})).act, Act::nothing);
  const auto both = decide(with(drained(), {kLost, kUnloaded}));
  EXPECT_EQ(both.act, Act::drain);  // for the new cause
  EXPECT_EQ(both.reason, "gpuready: GPU 3: fell off; 1 more (power_cycle)");
  auto s = with(drained(), {kLost, kUnloaded});
  s.record = record_after(s, both, 2000);
  s.node.reason = s.record->reasons.back();
  for (auto causes : {std::vector{kLost}, std::vector{kUnloaded}, std::vector{kUnloaded, kLost}})
    EXPECT_EQ(decide(with(s, causes)).act, Act::nothing);
  EXPECT_EQ(s.record->needs_test, Level::quick);
  s = with(drained(), {kLost});  // somebody let jobs start again
  s.node.states = {"IDLE"};
  EXPECT_EQ(decide(s).act, Act::drain);
}

TEST(SlurmDecide, OnlyATestThatPassedSinceResumes) {
  auto s = drained();
  EXPECT_EQ(decide(s).act, Act::nothing);  // never tested
  s.kept = good_since(999);
  EXPECT_EQ(decide(s).act, Act::nothing);  // before the drain
  s.kept = good_since(1001);
  EXPECT_EQ(decide(s).act, Act::resume);
  s.kept.standing = Standing::expired;
  EXPECT_EQ(decide(s).act, Act::nothing);
  s.kept = good_since(1001);
  s.record->needs_test = Level::standard;
  EXPECT_EQ(decide(s).act, Act::nothing);
  s.kept = good_since(1001, Level::thorough);
  EXPECT_EQ(decide(s).act, Act::resume);
  s.kept.results.push_back(s.kept.results[0]);
  s.kept.results[1].tested_unix_seconds = 900;  // another GPU was not tested since
  EXPECT_EQ(decide(s).act, Act::nothing);
}

TEST(SlurmDecide, WhatOnlySeeingProvesIsResumedOnSight) {
  auto s = drained();
  s.record->needs_test.reset();
  EXPECT_EQ(decide(s).act, Act::resume);
  for (auto change :
       std::vector<void (*)(Situation&)>{[](Situation& it) { it.determined = false; },
                                         [](Situation& it) { it.may_resume = false; },
                                         [](Situation& it) { it.looked_unix_seconds = 1000; },
                                         [](Situation& it) { it.node.states = {"DOWN", "DRAIN"}; },
                                         [](Situation& it) { it.node.states = {"IDLE"}; },
                                         [](Situation& it) { it.record->node = "n2"; },
                                         [](Situation& it) { it.record.reset(); }}) {
    auto changed = s;
    change(changed);
    EXPECT_EQ(decide(changed).act, Act::nothing) << decide(changed).why;
  }
}

TEST(SlurmDecide, TheSecondDrainOfABootNeedsATest) {
  auto s = drained();
  s.boot_id = "b";
  s.record->needs_test.reset();
  s.record = record_after(s, decide(s), 2000);
  EXPECT_TRUE(s.record->reasons.empty());
  EXPECT_EQ(s.record->resumed_on_sight, 1);
  s.node = idle().node;
  const auto again = with(s, {kUnloaded});
  EXPECT_EQ(record_after(again, decide(again), 2100)->needs_test, Level::quick);
  auto rebooted = again;
  rebooted.boot_id = "c";
  EXPECT_EQ(record_after(rebooted, decide(rebooted), 2100)->needs_test, std::nullopt);
}

TEST(SlurmDecide, ALostRecordIsAdoptedOnlyOnRequestAndAfterATest) {
  auto s = drained();
  s.record.reset();
  s.kept = good_since(1);
  EXPECT_EQ(decide(s).act, Act::nothing);
  s.adopt = true;
  EXPECT_EQ(decide(s).act, Act::resume);
  s.kept = {};
  EXPECT_EQ(decide(s).act, Act::nothing);
  EXPECT_EQ(decide(with(s, {kUnloaded})).act, Act::nothing);  // it is drained as it is
}

TEST(SlurmDecide, ARehearsalTouchesOnlyRehearsals) {
  auto s = drained();
  s.rehearses = true;
  s.record->needs_test.reset();
  EXPECT_EQ(decide(s).act, Act::nothing);
  EXPECT_EQ(decide(with(s, rehearsed({kUnloaded}))).act, Act::nothing);
  auto drill = with(idle(), rehearsed({kLost}));
  drill.rehearses = true;
  const auto drain = decide(drill);
  EXPECT_EQ(drain.reason, "gpuready: rehearsal: GPU 3: fell off (power_cycle)");
  drill.record = record_after(drill, drain, 1500);
  drill.node = {"n1", {"IDLE", "DRAIN"}, drain.reason};
  EXPECT_EQ(decide(drill).act, Act::nothing);
  auto real = with(drill, {kLost});  // the next real check tells a real cause, and ends a drill
  real.rehearses = false;
  EXPECT_EQ(decide(real).act, Act::drain);
  EXPECT_EQ(decide(with(real, {})).act, Act::resume);
  EXPECT_EQ(decide(with(drill, {})).act, Act::resume);
}

TEST(SlurmDecide, AHealthyNodeCostsTheControllerNothing) {
  EXPECT_FALSE(must_ask({}, std::nullopt, false));
  EXPECT_FALSE(must_ask({}, Record{.node = "n1"}, true));
  EXPECT_TRUE(must_ask({}, std::nullopt, true));
  EXPECT_TRUE(must_ask({}, drained().record, false));
  EXPECT_TRUE(must_ask({kLost}, std::nullopt, false));
}

TEST(SlurmDecide, WhatOthersTookOverIsForgotten) {
  auto s = drained();
  s.node.reason = "ticket 7";
  EXPECT_TRUE(record_after(s, decide(s), 2000)->reasons.empty());
  s = drained();  // it waits for a test
  EXPECT_EQ(record_after(s, decide(s), 2000)->reasons.size(), 1u);
}

TEST(SlurmDecide, ATestOfTheSecondOfTheDrainOrOfNoGpuProvesNothing) {
  auto s = drained();
  s.kept = good_since(1000);
  EXPECT_EQ(decide(s).act, Act::nothing);
  EXPECT_EQ(decide(s).why, "the node waits for a test: gpuready check --level quick");
  s.kept = good_since(1001);
  s.kept.results.clear();
  EXPECT_EQ(decide(s).act, Act::nothing);
}

TEST(SlurmRecord, ADrainAddsToWhatStillStandsAndBeginsAgainOtherwise) {
  auto s = with(drained(), {kUnloaded});
  s.record->pids = {41};
  auto after = record_after(s, decide(s), 2000, {77});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->node, "n1");
  EXPECT_EQ(after->reasons,
            (std::vector<std::string>{kLostReason, "gpuready: no driver (configure)"}));
  EXPECT_EQ(after->causes, (std::vector<std::string>{"driver-not-loaded", "xid-79"}));
  EXPECT_EQ(after->pids, (std::vector<std::uint32_t>{41, 77}));
  EXPECT_EQ(after->needs_test, Level::quick);
  EXPECT_EQ(after->drained_unix_seconds, 2000);
  s.node = idle().node;  // a user resumed it meanwhile
  after = record_after(s, decide(s), 2000, {77});
  EXPECT_EQ(after->reasons, std::vector<std::string>{"gpuready: no driver (configure)"});
  EXPECT_EQ(after->causes, std::vector<std::string>{"driver-not-loaded"});
  EXPECT_EQ(after->pids, std::vector<std::uint32_t>{77});
  EXPECT_EQ(after->needs_test, std::nullopt);
}

TEST(SlurmRecord, KeepsTheLatestSixteenReasons) {
  auto s = with(drained(), {kUnloaded});
  s.record->reasons.assign(15, "older");
  s.record->reasons.push_back(kLostReason);
  s.record->reasons.front() = "oldest";
  const auto after = record_after(s, decide(s), 2000);
  ASSERT_EQ(after->reasons.size(), 16u);
  EXPECT_EQ(after->reasons.front(), "older");
  EXPECT_EQ(after->reasons.back(), "gpuready: no driver (configure)");
  s.record->reasons.erase(s.record->reasons.begin());
  EXPECT_EQ(record_after(s, decide(s), 2000)->reasons.size(), 16u);
}

TEST(SlurmRecord, CountsResumesWithoutATestInEachBoot) {
  const auto resumed = [](std::optional<Level> needs_test, const char* boot) {
    auto s = drained();
    s.boot_id = "b", s.kept = good_since(1500);
    s.record->needs_test = needs_test, s.record->boot_id = boot, s.record->resumed_on_sight = 3;
    const auto decision = decide(s);
    EXPECT_EQ(decision.act, Act::resume);
    return *record_after(s, decision, 2000);
  };
  EXPECT_EQ(resumed({}, "b").resumed_on_sight, 4);
  EXPECT_EQ(resumed({}, "a").resumed_on_sight, 1);
  EXPECT_EQ(resumed(Level::quick, "b").resumed_on_sight, 3);
  EXPECT_EQ(resumed(Level::quick, "a").resumed_on_sight, 0);
  const Record after = resumed(Level::quick, "a");
  EXPECT_EQ(after.boot_id, "b");
  EXPECT_TRUE(after.reasons.empty() && after.causes.empty() && after.pids.empty());
  EXPECT_EQ(after.needs_test, std::nullopt);
}

TEST(SlurmRecord, IsForgottenOnlyIfTheNodeIsKnownToBeFitAndNotOurs) {
  auto s = drained();
  s.node.reason = "ticket 7";
  const auto kept_of = [&] { return !record_after(s, decide(s), 2000)->reasons.empty(); };
  EXPECT_FALSE(kept_of());
  s.determined = false;
  EXPECT_TRUE(kept_of());
  s.determined = true, s.causes = {kLost};
  EXPECT_TRUE(kept_of());
}

// A folder of records may be copied with an image.
TEST(SlurmDecide, TheRecordOfAnotherNodeIsNotOurs) {
  auto s = drained();
  s.kept = good_since(1500);
  s.node.name = "n2";
  EXPECT_EQ(decide(s).why, "the reason of the node is not ours: left as it is");
  EXPECT_EQ(decide(with(s, {kLost})).act, Act::nothing);
}

}  // namespace
}  // namespace gpuready::slurm
