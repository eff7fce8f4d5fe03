#include "slurm/settle.h"

#include <gtest/gtest.h>

#include <ctime>

#include "doubles/failing_storage.h"
#include "slurm/record_file.h"
#include "unit/products/slurm/fake_slurm.h"
#include "unit/products/slurm/results.h"

namespace gpuready::slurm {
namespace {

using Texts = std::vector<std::string>;

const Cause kLost{"xid-79", "GPU 3: fell off", Action::power_cycle, Level::quick};
constexpr const char* kLostReason = "gpuready: GPU 3: fell off (power_cycle)";
constexpr const char* kShow = "/bin/scontrol show node n1";
const std::string kDrain =
    std::string("/bin/scontrol update NodeName=n1 State=DRAIN Reason=") + kLostReason;
constexpr const char* kResume = "/bin/scontrol update NodeName=n1 State=RESUME";

SettleOptions options() {
  return {.node = "n1",
          .record_path = FakeSlurm::kRecord,
          .slurm = {.scontrol = "/bin/scontrol"},
          .lock_patience = std::chrono::milliseconds(0)};
}
Situation fault() { return {.causes = {kLost}, .looked_unix_seconds = 2000, .boot_id = "b"}; }
Situation healthy() {
  return {
      .kept = good_since(1001), .looked_unix_seconds = 2000, .boot_id = "b", .may_resume = true};
}
// A node that gpuready drained at 1000 for the lost GPU.
std::string drained_record() {
  return record_text({.node = "n1",
                      .reasons = {kLostReason},
                      .causes = {"xid-79"},
                      .needs_test = Level::quick,
                      .drained_unix_seconds = 1000});
}
void be_drained(FakeSlurm& slurm) {
  slurm.states = "IDLE+DRAIN", slurm.reason = kLostReason;
  ASSERT_TRUE(write_file_atomically(FakeSlurm::kRecord, drained_record(), {}, slurm.disk));
}
Record kept(const FakeSlurm& slurm) {
  const auto record = parse_record(slurm.disk.content(FakeSlurm::kRecord).value_or(""), "record");
  EXPECT_TRUE(record) << record.error().message;
  return record.value_or(Record{});
}

TEST(SlurmCarriesOut, ADecisionAboutARecordingOnlyAsARehearsal) {
  const struct {
    bool dry_run, replays, rehearses, expected;
  } rows[] = {{false, false, false, true}, {true, false, false, false}, {false, true, false, false},
              {false, true, true, true},   {true, true, true, false},   {true, true, false, false}};
  for (const auto& row : rows)
    EXPECT_EQ(carries_out(row.dry_run, row.replays, row.rehearses), row.expected)
        << row.dry_run << row.replays << row.rehearses;
}

// Without the record a drain would be a stranger's, whoever dies between the two steps.
TEST(SlurmSettle, ADrainIsWrittenDownBeforeSlurmDoesIt) {
  FakeSlurm slurm;
  auto with_left = options();
  with_left.left = {41, 77};
  const auto before = std::time(nullptr);
  const auto settled = settle(slurm, slurm.disk, with_left, fault());
  EXPECT_EQ(slurm.asked, (Texts{kShow, kDrain}));
  EXPECT_EQ(settled.was->states, Texts{"IDLE"});
  EXPECT_EQ(settled.decision.act, Act::drain);
  EXPECT_EQ(settled.decision.reason, kLostReason);
  EXPECT_EQ(settled.slurm_error, std::nullopt);
  EXPECT_EQ(settled.complaints, Texts{});
  const Record record = kept(slurm);
  EXPECT_EQ(slurm.record, (Texts{"none", record_text(record)}));
  EXPECT_EQ(record.node, "n1");
  EXPECT_EQ(record.reasons, Texts{kLostReason});
  EXPECT_EQ(record.causes, Texts{"xid-79"});
  EXPECT_EQ(record.pids, (std::vector<std::uint32_t>{41, 77}));
  EXPECT_EQ(record.needs_test, Level::quick);
  EXPECT_GE(record.drained_unix_seconds, before);
  EXPECT_GE(std::time(nullptr), record.drained_unix_seconds);
  EXPECT_EQ(slurm.disk.status(FakeSlurm::kRecord)->mode, 0644u);
}

TEST(SlurmSettle, ADrainThatSlurmRefusesStaysWrittenDown) {
  FakeSlurm slurm;
  slurm.broken = "DRAIN";
  const auto settled = settle(slurm, slurm.disk, options(), fault());
  EXPECT_EQ(settled.slurm_error, "/bin/scontrol update failed: slurm_update error");
  EXPECT_EQ(settled.decision.act, Act::drain);
  EXPECT_EQ(kept(slurm).reasons, Texts{kLostReason});
}

// A node that was not resumed is still drained by us.
TEST(SlurmSettle, AResumeIsWrittenDownAfterSlurmDidIt) {
  FakeSlurm slurm;
  be_drained(slurm);
  const auto settled = settle(slurm, slurm.disk, options(), healthy());
  EXPECT_EQ(slurm.asked, (Texts{kShow, kResume}));
  EXPECT_EQ(slurm.record, (Texts{drained_record(), drained_record()}));
  EXPECT_EQ(settled.decision.act, Act::resume);
  EXPECT_EQ(settled.slurm_error, std::nullopt);
  EXPECT_EQ(record_text(kept(slurm)),
            record_text({.node = "n1", .drained_unix_seconds = 1000, .boot_id = "b"}));
}

TEST(SlurmSettle, AResumeThatSlurmRefusesLeavesTheRecord) {
  FakeSlurm slurm;
  be_drained(slurm);
  slurm.broken = "RESUME";
  const auto settled = settle(slurm, slurm.disk, options(), healthy());
  EXPECT_EQ(settled.slurm_error, "/bin/scontrol update failed: slurm_update error");
  EXPECT_EQ(slurm.disk.content(FakeSlurm::kRecord), drained_record());
}

TEST(SlurmSettle, ADryRunAsksAndWritesNothing) {
  for (const bool faulty : {true, false}) {
    FakeSlurm slurm;
    if (!faulty) be_drained(slurm);
    const auto before = slurm.disk.content(FakeSlurm::kRecord);
    auto dry = options();
    dry.done = false;
    const auto settled = settle(slurm, slurm.disk, dry, faulty ? fault() : healthy());
    EXPECT_EQ(settled.decision.act, faulty ? Act::drain : Act::resume);
    EXPECT_TRUE(settled.was);
    EXPECT_EQ(slurm.asked, Texts{kShow});
    EXPECT_EQ(slurm.disk.content(FakeSlurm::kRecord), before);
    EXPECT_EQ(slurm.disk.content(std::string(FakeSlurm::kRecord) + ".lock"), std::nullopt);
  }
}

TEST(SlurmSettle, ANodeThatIsHealthyAndWasNotDrainedIsNotAskedAbout) {
  FakeSlurm slurm;
  auto settled = settle(slurm, slurm.disk, options(), healthy());
  EXPECT_EQ(settled.decision.why, "nothing is wrong");
  auto unseen = healthy();
  unseen.determined = false;
  settled = settle(slurm, slurm.disk, options(), unseen);
  EXPECT_EQ(settled.decision.why, "nothing is known to be wrong");
  EXPECT_EQ(settled.was, std::nullopt);
  EXPECT_EQ(settled.slurm_error, std::nullopt);
  EXPECT_EQ(slurm.asked, Texts{});
  EXPECT_EQ(slurm.disk.content(FakeSlurm::kRecord), std::nullopt);
  auto adopting = healthy();  // only Slurm knows whether there is something to adopt
  adopting.adopt = true;
  settled = settle(slurm, slurm.disk, options(), adopting);
  EXPECT_EQ(slurm.asked, Texts{kShow});
}

TEST(SlurmSettle, ARecordThatWouldBeTheSameIsNotWrittenAgain) {
  FakeSlurm slurm;
  be_drained(slurm);
  FailingStorage counted(slurm.disk, {});
  std::size_t written = 0;
  counted.before_call = [&](StorageCall call) { written += call == StorageCall::write ? 1 : 0; };
  auto untested = healthy();
  untested.kept = {};
  const auto settled = settle(slurm, counted, options(), untested);
  EXPECT_EQ(settled.decision.why, "the node waits for a test: gpuready check --level quick");
  EXPECT_EQ(written, 0u);
  slurm.reason = "ticket 7";  // what another user took over is forgotten
  settle(slurm, counted, options(), untested);
  EXPECT_EQ(written, 1u);
  EXPECT_EQ(kept(slurm).reasons, Texts{});
}

TEST(SlurmSettle, WaitsForNoOtherHookLongerThanItsPatience) {
  FakeSlurm slurm;
  const std::string lock = std::string(FakeSlurm::kRecord) + ".lock";
  auto held = slurm.disk.lock(lock);
  ASSERT_TRUE(held);
  const auto settled = settle(slurm, slurm.disk, options(), fault());
  EXPECT_EQ(settled.slurm_error, lock + ": another process holds this lock");
  EXPECT_EQ(settled.decision.act, Act::nothing);
  EXPECT_EQ(slurm.asked, Texts{});
  auto patient = options();  // it gets the lock when the other hook ends
  patient.lock_patience = std::chrono::minutes(1);
  FailingStorage ends(slurm.disk, {});
  int tries = 0;
  ends.before_call = [&](StorageCall call) {
    if (call == StorageCall::lock && ++tries == 2) held->reset();
  };
  EXPECT_EQ(settle(slurm, ends, patient, fault()).decision.act, Act::drain);
  EXPECT_EQ(tries, 2);
}

TEST(SlurmSettle, HoldsTheLockUntilSlurmHasAnswered) {
  FakeSlurm slurm;
  FailingStorage watched(slurm.disk, {});
  int busy = 0;
  watched.before_call = [&](StorageCall call) {
    if (call != StorageCall::write) return;
    const auto second = slurm.disk.lock(std::string(FakeSlurm::kRecord) + ".lock");
    busy += !second && second.error().kind == ErrorKind::busy ? 1 : 0;
  };
  settle(slurm, watched, options(), fault());
  EXPECT_EQ(busy, 1);
  EXPECT_TRUE(slurm.disk.lock(std::string(FakeSlurm::kRecord) + ".lock"));  // and no longer
}

TEST(SlurmSettle, AFolderThatIsMissingCostsTheRecordOnly) {
  FakeSlurm slurm;
  auto elsewhere = options();
  elsewhere.record_path = "/none/slurm-n1.json";
  const auto settled = settle(slurm, slurm.disk, elsewhere, fault());
  EXPECT_EQ(slurm.asked, (Texts{kShow, kDrain}));
  EXPECT_EQ(settled.slurm_error, std::nullopt);
  EXPECT_EQ(settled.complaints, Texts{"cannot write /none/slurm-n1.json: No such file or "
                                      "directory; without it this node is not resumed by "
                                      "itself"});
}

TEST(SlurmSettle, ARecordThatCannotBeReadIsToldAndCountsAsNone) {
  FakeSlurm slurm;
  ASSERT_TRUE(write_file_atomically(FakeSlurm::kRecord, "{}", {}, slurm.disk));
  const auto settled = settle(slurm, slurm.disk, options(), healthy());
  EXPECT_EQ(settled.complaints,
            Texts{"/kept/slurm-n1.json is not what gpuready slurm kept of a node; delete it"});
  EXPECT_EQ(slurm.asked, Texts{});
  EXPECT_EQ(settled.decision.why, "nothing is wrong");
}

TEST(SlurmSettle, NothingIsDecidedWithoutAnAnswerOfSlurm) {
  FakeSlurm slurm;
  auto other = options();
  other.node = "n2";
  auto settled = settle(slurm, slurm.disk, other, fault());
  EXPECT_EQ(settled.slurm_error, "scontrol shows no node n2; --node names it as slurm.conf does");
  EXPECT_EQ(settled.was, std::nullopt);
  EXPECT_EQ(settled.decision.act, Act::nothing);
  EXPECT_EQ(slurm.disk.content(FakeSlurm::kRecord), std::nullopt);
  other.slurm.scontrol = "";  // and none is found
  settled = settle(slurm, slurm.disk, other, fault());
  EXPECT_EQ(settled.slurm_error,
            "scontrol is neither in a usual folder nor beside a running slurmd: name it by "
            "--scontrol");
  auto found = options();
  found.slurm.scontrol = "";
  slurm.asked.clear();
  slurm.machine.files["/usr/bin/scontrol"] = "program";
  slurm.machine.statuses["/usr/bin/scontrol"] = FileStatus{.mode = 0755};
  settle(slurm, slurm.disk, found, fault());
  EXPECT_EQ(slurm.asked.at(0), "/usr/bin/scontrol show node n1");
}

}  // namespace
}  // namespace gpuready::slurm
