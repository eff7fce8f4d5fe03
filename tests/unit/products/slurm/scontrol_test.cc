#include "slurm/scontrol.h"

#include <gtest/gtest.h>

#include "unit/products/slurm/fake_slurm.h"

namespace gpuready::slurm {
namespace {

using Texts = std::vector<std::string>;
const Slurm kSlurm{.scontrol = "/bin/scontrol"};

TEST(SlurmScontrol, EachRequestIsOneCommand) {
  FakeSlurm fake;
  const auto node = show_node(fake, kSlurm, "n1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->states, Texts{"IDLE"});
  EXPECT_TRUE(drain_node(fake, kSlurm, "n1", "gpuready: x (reboot)"));
  EXPECT_TRUE(resume_node(fake, kSlurm, "n1"));
  ASSERT_EQ(fake.jobs.size(), 3u);
  for (const Job& job : fake.jobs) EXPECT_EQ(job.program, "/bin/scontrol");
  EXPECT_EQ(fake.jobs[0].args, (Texts{"show", "node", "n1"}));
  EXPECT_EQ(fake.jobs[1].args,
            (Texts{"update", "NodeName=n1", "State=DRAIN", "Reason=gpuready: x (reboot)"}));
  EXPECT_EQ(fake.jobs[2].args, (Texts{"update", "NodeName=n1", "State=RESUME"}));
}

TEST(SlurmScontrol, NoVariableOfAJobChangesWhatIsAsked) {
  FakeSlurm fake;
  ASSERT_TRUE(show_node(fake, kSlurm, "n1"));
  Slurm with_conf = kSlurm;
  with_conf.conf = "/opt/slurm.conf";
  with_conf.patience = std::chrono::milliseconds(2'500);
  ASSERT_TRUE(show_node(fake, with_conf, "n1"));
  for (const Job& job : fake.jobs) {
    ASSERT_NE(job.keeps, nullptr);
    EXPECT_TRUE(job.keeps("SLURM_CONF"));
    for (const char* name : {"SLURM_CLUSTERS", "SLURM_CONF_SERVER", "PATH", "LD_PRELOAD", ""})
      EXPECT_FALSE(job.keeps(name)) << name;
    EXPECT_EQ(job.time_to_stop, std::chrono::milliseconds(200));
  }
  using Changes = std::vector<std::pair<std::string, std::optional<std::string>>>;
  EXPECT_EQ(fake.jobs[0].env, (Changes{{"LC_ALL", "C"}}));
  EXPECT_EQ(fake.jobs[1].env, (Changes{{"SLURM_CONF", "/opt/slurm.conf"}, {"LC_ALL", "C"}}));
  EXPECT_EQ(fake.jobs[0].limits.time, std::chrono::milliseconds(6'000));
  EXPECT_EQ(fake.jobs[1].limits.time, std::chrono::milliseconds(2'500));
}

// What a request of scontrol's is worth, by how it ended.
TEST(SlurmScontrol, AFailureSaysWhatScontrolSaidLast) {
  const struct {
    JobOutcome outcome;
    ErrorKind kind;
    std::string message;
  } rows[] = {
      {ended(JobEnd::timed_out), ErrorKind::timed_out,
       "/bin/scontrol update: no answer within 6 s: is slurmctld running and reachable?"},
      {ended(JobEnd::hung), ErrorKind::timed_out,
       "/bin/scontrol update: no answer within 6 s: is slurmctld running and reachable?"},
      {ended(JobEnd::exited, 1, "on stdout\n", "first\nlast \x1b[2J\n"), ErrorKind::io,
       "/bin/scontrol update failed: last ?[2J"},
      {ended(JobEnd::exited, 1, "on stdout\n"), ErrorKind::io,
       "/bin/scontrol update failed: on stdout"},
      {ended(JobEnd::exited, 2), ErrorKind::io, "/bin/scontrol update failed: exited"},
      {ended(JobEnd::signalled), ErrorKind::io, "/bin/scontrol update failed: signalled"},
  };
  for (const auto& row : rows) {
    Recording recording;
    recording.tools["/bin/scontrol update NodeName=n1 State=RESUME"] = row.outcome;
    const auto resumed = resume_node(*scripted(recording), kSlurm, "n1");
    ASSERT_FALSE(resumed) << row.message;
    EXPECT_EQ(resumed.error().kind, row.kind) << row.message;
    EXPECT_EQ(resumed.error().message, row.message);
  }
  const auto missing = drain_node(*scripted(), kSlurm, "n1", "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "cannot start /bin/scontrol: No such file or directory");
}

FileStatus program(std::uint32_t mode = 0755) { return {.mode = mode}; }

TEST(SlurmFindScontrol, TheFirstProgramOfTheUsualFoldersThenBesideSlurmd) {
  Recording recording;
  const auto found = [&] {
    const auto path = find_scontrol(*scripted(recording));
    return path ? *path : path.error().message;
  };
  const std::string kNone =
      "scontrol is neither in a usual folder nor beside a running slurmd: name it by --scontrol";
  EXPECT_EQ(found(), kNone);
  // A daemon that runs: its own folder comes after the bin beside it.
  recording.files["/proc/700/comm"] = "slurmd\n";
  recording.links["/proc/700/exe"] = "/sw/slurm/sbin/slurmd";
  recording.statuses["/sw/slurm/sbin/slurmd"] = program();
  EXPECT_EQ(found(), kNone);
  recording.statuses["/sw/slurm/sbin/scontrol"] = program();
  EXPECT_EQ(found(), "/sw/slurm/sbin/scontrol");
  recording.statuses["/sw/slurm/bin/scontrol"] = program();
  EXPECT_EQ(found(), "/sw/slurm/bin/scontrol");
  for (const char* folder : {"/cm/shared/apps/slurm/current/bin", "/usr/local/slurm/bin",
                             "/opt/slurm/bin", "/usr/local/bin", "/usr/bin"}) {
    const std::string path = std::string(folder) + "/scontrol";
    recording.statuses[path] = program();
    EXPECT_EQ(found(), path);
  }
}

TEST(SlurmFindScontrol, PassesByWhatIsNotAProgram) {
  Recording recording;
  recording.statuses["/opt/slurm/bin/scontrol"] = program(0644);
  recording.statuses["/usr/bin/scontrol"] = FileStatus{.kind = FileKind::directory, .mode = 0755};
  recording.statuses["/usr/local/bin/scontrol"] = program(0001);  // for anyone
  EXPECT_EQ(find_scontrol(*scripted(recording)), "/usr/local/bin/scontrol");
  recording.statuses.erase("/usr/local/bin/scontrol");
  EXPECT_FALSE(find_scontrol(*scripted(recording)));
}

TEST(SlurmFindScontrol, OnlySlurmdShowsWhereScontrolIs) {
  const struct {
    const char *pid, *comm;
    bool has_exe, expected;
  } rows[] = {{"700", "slurmd", true, true},
              {"700", "slurmstepd", true, false},
              {"self", "slurmd", true, false},
              {"700", "slurmd", false, false}};
  for (const auto& row : rows) {
    Recording recording;
    const std::string process = std::string("/proc/") + row.pid;
    recording.files[process + "/comm"] = row.comm;
    if (row.has_exe) recording.links[process + "/exe"] = "/sw/sbin/slurmd";
    recording.statuses["/sw/sbin/slurmd"] = program();
    recording.statuses["/sw/bin/scontrol"] = program();
    EXPECT_EQ(find_scontrol(*scripted(recording)).has_value(), row.expected)
        << row.pid << row.comm << row.has_exe;
  }
}

}  // namespace
}  // namespace gpuready::slurm
