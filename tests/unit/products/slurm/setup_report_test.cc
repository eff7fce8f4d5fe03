#include "slurm/report/setup_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

SlurmInstallReport planned() {
  return {.conf = "/etc/slurm/slurm.conf",
          .files = {{"/etc/slurm/gpuready/health", "#!/bin/sh\nexec gpuready slurm health\n"},
                    {"/etc/slurm/gpuready/prolog", "#!/bin/sh\n"}},
          .lines = {"Prolog=/etc/slurm/gpuready/prolog", "PrologFlags=Alloc"},
          .taken = {{.setting = "HealthCheckProgram",
                     .program = "/opt/nhc",
                     .place = "slurm.conf, line 3",
                     .how = "Let it run gpuready slurm health."}},
          .hints = {"not read: include.conf"}};
}

TEST(SlurmInstallReport, ShowsFilesAndLinesAndWhatIsNotChanged) {
  const auto report = planned();
  EXPECT_EQ(render_terminal(report, {.columns = 120}),
            "file: /etc/slurm/gpuready/health\n"
            "    #!/bin/sh\n"
            "    exec gpuready slurm health\n"
            "file: /etc/slurm/gpuready/prolog\n"
            "    #!/bin/sh\n"
            "add to: /etc/slurm/slurm.conf\n"
            "    Prolog=/etc/slurm/gpuready/prolog\n"
            "    PrologFlags=Alloc\n"
            "not changed: slurm.conf, line 3: HealthCheckProgram=/opt/nhc. Let it run gpuready "
            "slurm health.\n"
            "note: not read: include.conf\n"
            "\n"
            "Nothing was written, and slurm.conf gives hooks to other programs.\n");
  EXPECT_EQ(render_terminal(report, {.columns = 120, .quiet = true}),
            "not changed: slurm.conf, line 3: HealthCheckProgram=/opt/nhc. Let it run gpuready "
            "slurm health.\n"
            "note: not read: include.conf\n"
            "\n"
            "Nothing was written, and slurm.conf gives hooks to other programs.\n");
}

TEST(SlurmInstallReport, NamesNoFileToAddNothingTo) {
  EXPECT_EQ(render_terminal(SlurmInstallReport{.conf = "/etc/slurm/slurm.conf"}, {}),
            "Nothing was written; pass --write to write this.\n");
}

TEST(SlurmInstallReport, SaysWhatIsToBeDoneNext) {
  auto report = planned();
  report.written = true;
  EXPECT_EQ(conclusion(report),
            "Written. Copy slurm.conf and the scripts to all nodes, then: scontrol reconfigure. "
            "Other programs keep their hooks.");
  report.taken.clear();
  EXPECT_EQ(conclusion(report),
            "Written. Copy slurm.conf and the scripts to all nodes, then: scontrol reconfigure.");
  report.written = false;
  EXPECT_EQ(conclusion(report), "Nothing was written; pass --write to write this.");
}

Finding finding(Severity severity, std::string title) {
  Finding out;
  out.id = "slurm-test";
  out.severity = severity;
  out.title = std::move(title);
  out.explanation = "Jobs wait.";
  return out;
}

// What was not read could say anything, and a bus that cannot be read hides GPUs.
TEST(SlurmDoctorReport, ConcludesNothingFromWhatWasNotRead) {
  SlurmDoctorReport report{.node = "n1"};
  EXPECT_EQ(conclusion(report), "n1 has no GPU, and Slurm promises none.");
  report.gpus = 2;
  EXPECT_EQ(conclusion(report), "Slurm's configuration fits the GPUs of n1.");
  report.bus_unread = "the PCI bus cannot be read (denied)";
  EXPECT_EQ(conclusion(report),
            "It is not known which GPUs n1 has: the PCI bus cannot be read (denied).");
  report.findings = {finding(Severity::error, "One"), finding(Severity::error, "Two"),
                     finding(Severity::warning, "Three"), finding(Severity::info, "Four")};
  EXPECT_EQ(conclusion(report), "Slurm's configuration of n1: 2 errors, 1 warning.");
  report.unseen = {"gres.conf: permission denied"};
  EXPECT_EQ(conclusion(report),
            "It is not known whether Slurm's configuration fits the GPUs of n1: not all of it can "
            "be read.");
}

TEST(SlurmDoctorReport, ShowsFindingsAndAsAQuietOneOnlyProblems) {
  const SlurmDoctorReport report{
      .node = "n1",
      .findings = {finding(Severity::warning, "Bad"), finding(Severity::info, "Told")}};
  EXPECT_EQ(render_terminal(report, {}),
            "  [!] WARNING  Bad\n"
            "    slurm-test\n"
            "    Jobs wait.\n"
            "\n"
            "  [-] INFO  Told\n"
            "    slurm-test\n"
            "    Jobs wait.\n"
            "\n"
            "Slurm's configuration of n1: 0 errors, 1 warning.\n");
  EXPECT_EQ(render_terminal(report, {.quiet = true}),
            "  [!] WARNING  Bad\n"
            "    slurm-test\n"
            "\n"
            "Slurm's configuration of n1: 0 errors, 1 warning.\n");
  EXPECT_EQ(render_terminal(
                SlurmDoctorReport{.node = "n1", .unseen = {"gres.conf: permission denied"}}, {}),
            "not seen: gres.conf: permission denied\n"
            "\n"
            "It is not known whether Slurm's configuration fits the GPUs of n1: not all of it\n"
            "can be read.\n");
}

}  // namespace
}  // namespace gpuready
