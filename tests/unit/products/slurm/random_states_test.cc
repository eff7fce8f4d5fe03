// A node in a random sequence of states. A model of Slurm and its people keeps who set the reason
// and what each drain of ours waits for; it never looks at a reason's text.
#include <gtest/gtest.h>

#include <random>

#include "slurm/decide.h"
#include "unit/products/slurm/results.h"

namespace gpuready::slurm {
namespace {

constexpr int kSequences = 1000, kSteps = 400;

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void step() {
    now_ += 1 + pick(50);
    switch (pick(30)) {
      case 0:
        return people_drain();
      case 1:
        return people_edit();
      case 2:
      case 11:
        return people_resume();
      case 3:
        return slurm_decides();
      case 4:
      case 12:
        apart_.clear();
        return;
      case 5:
        return reboot();
      case 6:
        causes_.push_back(some_cause());
        return;
      case 7:
      case 15:
        causes_.clear();
        return;
      case 8:
      case 13:
      case 14:
        return run_test();
      case 9:
        if (pick(8) == 0) record_.reset(), lost_record_ = true, on_sight_ = false;
        return;
      case 10:
        determined_ = pick(3) != 0;
        return;
      default:
        hook(pick(4) != 0);
    }
  }

  int drains = 0, resumes = 0, left_alone = 0;

 private:
  enum class Who { nobody, us, others };

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void people_drain() {
    static constexpr const char* kReasons[] = {"NHC: check_nv_healthmon",
                                               "Prolog error",
                                               "gpuready:",
                                               "gpuready: x",
                                               "Not responding",
                                               "gpuready: GPU 1: odd (reboot)",
                                               "maintenance (reboot)",
                                               "Kill task failed"};
    drained_ = true;
    reason_ = kReasons[pick(std::size(kReasons))];
    if (who_ == Who::us && reason_ == ours_) return;
    who_ = Who::others;
  }
  void people_edit() {
    if (reason_.empty()) return;
    const auto at = static_cast<std::size_t>(pick(static_cast<int>(reason_.size())));
    switch (pick(4)) {
      case 0:
        reason_ += " ticket 12";
        break;
      case 1:
        reason_ = reason_.substr(0, at + 1) + "#" + reason_.substr(at + 1);
        break;
      case 2:
        reason_ += "\nsee the log";
        break;
      default:
        reason_ = "on hold: " + reason_;
    }
    who_ = Who::others;
  }
  void people_resume() {
    drained_ = false, reason_.clear(), apart_.clear();
    who_ = Who::nobody;
  }
  void slurm_decides() {
    static constexpr const char* kStates[] = {"DOWN", "FAIL", "MAINTENANCE", "REBOOT_ISSUED",
                                              "POWERING_DOWN"};
    apart_ = kStates[pick(std::size(kStates))];
    if (apart_ == "DOWN" && who_ == Who::nobody) reason_ = "Not responding", who_ = Who::others;
  }
  void reboot() {
    boot_ = std::to_string(pick(1'000'000));
    causes_.clear();
    tested_ = 0;
  }
  Cause some_cause() {
    static constexpr Action kActions[] = {Action::configure, Action::check_again, Action::reset_gpu,
                                          Action::replace};
    const Action action = kActions[pick(std::size(kActions))];
    const bool hands = action == Action::reset_gpu || action == Action::replace;
    return {"cause-" + std::to_string(pick(5)), "GPU 1: something", action,
            hands ? std::optional(pick(2) == 0 ? Level::quick : Level::standard) : std::nullopt};
  }
  void run_test() {
    if (!causes_.empty()) return;
    tested_ = now_;
    level_ = pick(2) == 0 ? Level::quick : Level::standard;
  }

  std::string shown() const {
    std::string text = "NodeName=n1 Arch=x86_64 \n   State=IDLE";
    if (!apart_.empty()) text += "+" + apart_ + "*";
    if (drained_) text += "+DRAIN";
    text += " ThreadsPerCore=1 Owner=N/A \n   Partitions=p \n";
    if (reason_.empty()) return text;
    const auto end = std::min(reason_.find('\n'), reason_.size());
    text += "   Reason=" + reason_.substr(0, end) + " [root@2026-11-26T04:01:02]\n";
    if (end < reason_.size()) text += "          " + reason_.substr(end + 1) + "\n";
    return text;
  }

  void hook(bool health) {
    Situation s;
    s.node = parse_node(shown(), "n1").value_or(Node{});
    s.causes = determined_ ? causes_ : std::vector<Cause>{};
    s.determined = determined_;
    s.record = record_;
    s.looked_unix_seconds = now_;
    s.boot_id = boot_;
    s.may_resume = health;
    if (tested_ > 0) s.kept = good_since(tested_, level_);
    const Decision decision = decide(s);
    record_ = record_after(s, decision, now_);
    switch (decision.act) {
      case Act::drain:
        drain(s, decision.reason);
        break;
      case Act::resume:
        resume(s);
        break;
      case Act::nothing:
        left_alone += who_ == Who::others ? 1 : 0;
        EXPECT_FALSE(who_ == Who::nobody && !drained_ && apart_.empty() && !s.causes.empty())
            << "a node with a cause was left in service";
        EXPECT_FALSE(who_ == Who::us && !lost_record_ && drained_ && apart_.empty() && health &&
                     determined_ && causes_.empty() && now_ > drained_at_ && proven())
            << "a node that is fit was left drained: " << decision.why;
    }
  }
  bool proven() const { return !needs_ || (tested_ > drained_at_ && level_ >= *needs_); }

  void drain(const Situation& s, const std::string& reason) {
    ++drains;
    EXPECT_NE(who_, Who::others) << "overwritten: " << reason_;
    EXPECT_FALSE(s.causes.empty());
    EXPECT_TRUE(apart_.empty()) << apart_;
    if (who_ != Who::us) {
      needs_.reset();
      EXPECT_FALSE(drained_) << "somebody's drain without a reason";
    }
    for (const Cause& cause : s.causes)
      if (cause.needs_test) needs_ = std::max(needs_.value_or(Level::quick), *cause.needs_test);
    if (on_sight_ && on_sight_boot_ == boot_) needs_ = needs_.value_or(Level::quick);
    drained_ = true, reason_ = ours_ = reason, who_ = Who::us, drained_at_ = now_;
    lost_record_ = false;
  }
  void resume(const Situation& s) {
    ++resumes;
    EXPECT_EQ(who_, Who::us) << "cleared: " << reason_;
    EXPECT_TRUE(s.may_resume && s.determined && causes_.empty() && drained_ && apart_.empty());
    EXPECT_TRUE(proven()) << "resumed without the test that it waited for";
    if (!needs_) on_sight_ = true, on_sight_boot_ = boot_;
    drained_ = false, reason_.clear(), who_ = Who::nobody;
  }

  std::mt19937 random_;
  std::int64_t now_ = 1000;
  std::string reason_, ours_, apart_, boot_ = "0", on_sight_boot_;
  Who who_ = Who::nobody;
  bool drained_ = false, determined_ = true, on_sight_ = false, lost_record_ = false;
  std::vector<Cause> causes_;
  std::optional<Record> record_;
  std::optional<Level> needs_;
  std::int64_t drained_at_ = 0, tested_ = 0;
  Level level_ = Level::quick;
};

TEST(SlurmRandomStates, ForeignReasonsAreNeverTouched) {
  int drains = 0, resumes = 0, left_alone = 0;
  for (unsigned seed = 0; seed < kSequences && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int step = 0; step < kSteps; ++step) world.step();
    drains += world.drains, resumes += world.resumes, left_alone += world.left_alone;
  }
  // The sequences reach what they are to show.
  EXPECT_GT(drains, kSequences);
  EXPECT_GT(resumes, kSequences / 2);
  EXPECT_GT(left_alone, kSequences);
}

}  // namespace
}  // namespace gpuready::slurm
