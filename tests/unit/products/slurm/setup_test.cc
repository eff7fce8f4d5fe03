#include "slurm/setup.h"

#include <gtest/gtest.h>

namespace gpuready::slurm {
namespace {

const SetupChoice kChoice{.gpuready = "/usr/bin/gpuready", .folder = "/etc/slurm/gpuready"};

Setup plan(std::string_view conf, const SetupChoice& choice = kChoice) {
  return plan_setup(parse_conf(conf, "/etc/slurm/slurm.conf"), choice);
}

TEST(SlurmSetup, AnEmptyConfigurationGetsAllHooks) {
  const auto setup = plan("ClusterName=c\n");
  EXPECT_EQ(
      setup.lines,
      (std::vector<std::string>{
          "HealthCheckProgram=/etc/slurm/gpuready/health", "Prolog=/etc/slurm/gpuready/prolog",
          "Epilog=/etc/slurm/gpuready/epilog", "HealthCheckInterval=300",
          "HealthCheckNodeState=ANY,CYCLE", "PrologEpilogTimeout=120", "PrologFlags=Alloc"}));
  ASSERT_EQ(setup.scripts.size(), 3u);
  EXPECT_EQ(setup.scripts[0].content,
            "#!/bin/sh\n# gpuready slurm install\nexec '/usr/bin/gpuready' slurm health --quiet\n");
  EXPECT_TRUE(setup.taken.empty());
}

TEST(SlurmSetup, ASecondTimeNothingIsAdded) {
  const std::string conf = "ClusterName=c\n";
  const auto once = with_lines(conf, plan(conf).lines);
  EXPECT_EQ(plan(once).lines, std::vector<std::string>{});
  EXPECT_TRUE(plan(once).taken.empty());
  EXPECT_EQ(with_lines(once, {}), once);
  EXPECT_EQ(with_lines("no end", {"A=b"}), "no end\n# gpuready slurm install\nA=b\n");
}

TEST(SlurmSetup, HooksOfOthersStay) {
  const auto setup = plan(
      "HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=60\nProlog=/etc/slurm/prolog.d/*\n"
      "Epilog=/site/epilog\nPrologFlags=X\nPrologEpilogTimeout=9\n");
  EXPECT_EQ(setup.lines, std::vector<std::string>{});
  ASSERT_EQ(setup.taken.size(), 3u);
  EXPECT_EQ(setup.taken[0].program, "/usr/sbin/nhc");
  EXPECT_EQ(setup.taken[0].place, "/etc/slurm/slurm.conf:1");
  EXPECT_NE(setup.taken[0].how.find("/usr/sbin/nhc; /etc/slurm/gpuready/health"),
            std::string::npos);
  EXPECT_NE(setup.taken[1].how.find("ln -s /etc/slurm/gpuready/prolog /etc/slurm/prolog.d/"),
            std::string::npos);
  EXPECT_NE(setup.taken[2].how.find("/etc/slurm/gpuready/epilog || exit 1"), std::string::npos);
}

TEST(SlurmSetup, FlagsOfOthersAreKeptAndTold) {
  const auto setup = plan("PrologFlags=NoHold\n");
  EXPECT_EQ(setup.notes.size(), 1u);
  for (const auto& line : setup.lines) EXPECT_FALSE(line.starts_with("PrologFlags")) << line;
  for (const char* flag : {"Contain", "X11", "RunInJob"})
    EXPECT_TRUE(plan(std::string("PrologFlags=") + flag + "\n").notes.empty()) << flag;
}

TEST(SlurmSetup, PathsThatSlurmCannotRead) {
  EXPECT_TRUE(can_be_value("/etc/slurm-llnl/gpuready_1.0"));
  EXPECT_TRUE(can_be_value("/opt/gr\u00f6\u00dfe"));
  for (const char* path :
       {"/a b", "/a\tb", "/a'b", "/a\"b", "/a#b", "/a*", "/a[1]", "/a\\b", "/a%h"})
    EXPECT_FALSE(can_be_value(path)) << path;
}

TEST(SlurmSetup, ScriptsQuoteWhatTheyName) {
  auto choice = kChoice;
  choice.gpuready = "/opt/it's/gpuready", choice.scontrol = "/opt/slurm/bin/scontrol";
  choice.conf = "/opt/slurm/etc/slurm.conf";
  EXPECT_EQ(plan("", choice).scripts[1].content,
            "#!/bin/sh\n# gpuready slurm install\nexec '/opt/it'\\''s/gpuready' slurm prolog "
            "--scontrol '/opt/slurm/bin/scontrol' --conf '/opt/slurm/etc/slurm.conf' --quiet\n");
}

}  // namespace
}  // namespace gpuready::slurm
