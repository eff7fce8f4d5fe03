#include "slurm/report/hook_report.h"

#include <gtest/gtest.h>

#include "slurm/report/exit_rules.h"

namespace gpuready {
namespace {

const slurm::Cause kLost{"xid-79", "GPU 3: fell off", Action::power_cycle};

SlurmHookReport hook(const char* name) {
  return {.hook = name, .node = "n1", .decision = {.why = "nothing is wrong"}};
}

TEST(SlurmHookReport, ConcludesWhatWasDoneOrWouldBe) {
  auto report = hook("health");
  EXPECT_EQ(conclusion(report), "node n1: nothing is wrong");
  report.unknown = "the bus cannot be read";
  EXPECT_EQ(conclusion(report), "node n1: not known: the bus cannot be read");
  report.causes = {kLost};
  report.decision.why = "the node is drained already, for this cause";
  EXPECT_EQ(conclusion(report),
            "node n1: gpuready: GPU 3: fell off (power_cycle): the node is drained already, for "
            "this cause");
  report.decision = {slurm::Act::drain, "gpuready: x (reboot)", "the node is not fit for jobs"};
  EXPECT_EQ(conclusion(report), "node n1 drained: gpuready: x (reboot)");
  report.done = false;
  EXPECT_EQ(conclusion(report), "node n1 would be drained: gpuready: x (reboot)");
  report.decision = {slurm::Act::resume, "", "the cause is gone"};
  EXPECT_EQ(conclusion(report), "node n1 would be resumed: the cause is gone");
  report.done = true;
  EXPECT_EQ(conclusion(report), "node n1 resumed: the cause is gone");
}

// An error of Slurm's comes first: what was decided was not done.
TEST(SlurmHookReport, SaysWhatSlurmWasNotTold) {
  auto report = hook("health");
  report.slurm_error = "no answer within 6 s";
  report.decision.act = slurm::Act::drain;
  EXPECT_EQ(conclusion(report), "node n1: no answer within 6 s");
  report.causes = {kLost};
  EXPECT_EQ(conclusion(report),
            "node n1: gpuready: GPU 3: fell off (power_cycle); Slurm was not told: no answer "
            "within 6 s");
}

TEST(SlurmHookReport, IsQuietOnlyIfThereIsNothingToTell) {
  const TerminalStyle quiet{.quiet = true};
  auto report = hook("prolog");
  EXPECT_EQ(render_terminal(report, quiet), "");
  EXPECT_EQ(render_terminal(report, {}), "node n1: nothing is wrong\n");
  report.unknown = "not seen";
  EXPECT_EQ(render_terminal(report, quiet), "");
  report.slurm_error = "no answer";
  EXPECT_EQ(render_terminal(report, quiet), "node n1: no answer\n");
  report = hook("prolog");
  report.causes = {kLost};
  EXPECT_NE(render_terminal(report, quiet), "");
  report = hook("prolog");
  report.decision = {slurm::Act::resume, "", "a\x1b"};
  EXPECT_EQ(render_terminal(report, quiet), "node n1 resumed: a?\n");
}

// docs/slurm.md: what each exit code makes Slurm do.
TEST(SlurmHookExit, DependsOnTheHook) {
  const struct {
    bool cause, unknown, slurm_error, strict;
    Exit health, prolog, epilog;
  } rows[] = {
      {false, false, false, false, Exit::ok, Exit::ok, Exit::ok},
      {true, false, false, false, Exit::unhealthy, Exit::unhealthy, Exit::ok},
      {true, true, true, false, Exit::unhealthy, Exit::unhealthy, Exit::unhealthy},
      {true, false, true, false, Exit::unhealthy, Exit::unhealthy, Exit::unhealthy},
      {false, true, false, false, Exit::unknown, Exit::ok, Exit::ok},
      {false, true, false, true, Exit::unknown, Exit::unhealthy, Exit::ok},
      {false, false, true, false, Exit::unknown, Exit::ok, Exit::ok},
      {false, false, false, true, Exit::ok, Exit::ok, Exit::ok},
  };
  for (const auto& row : rows) {
    SlurmHookReport report{.hook = "health", .node = "n1", .strict = row.strict};
    if (row.cause) report.causes = {kLost};
    if (row.unknown) report.unknown = "not seen";
    if (row.slurm_error) report.slurm_error = "no answer";
    EXPECT_EQ(exit_of(report), row.health) << &row - rows;
    report.hook = "prolog";
    EXPECT_EQ(exit_of(report), row.prolog) << &row - rows;
    report.hook = "epilog";
    EXPECT_EQ(exit_of(report), row.epilog) << &row - rows;
  }
}

TEST(SlurmInstallExit, IsOneIfAnotherProgramHasAHook) {
  SlurmInstallReport report{.conf = "slurm.conf"};
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.taken = {{"Prolog", "/p", "slurm.conf:1", "how"}};
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(SlurmDoctorExit, AnErrorCountsMoreThanWhatIsUnknown) {
  SlurmDoctorReport report{.node = "n1"};
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.findings.emplace_back().severity = Severity::warning;
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.unseen = {"gres.conf"};
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.unseen.clear(), report.bus_unread = "denied";
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.findings.emplace_back().severity = Severity::error;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

}  // namespace
}  // namespace gpuready
