#include "slurm/setup.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"
#include "host/atomic_file.h"

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

TEST(SlurmSetup, AnIntervalOfZeroIsNoneAndTheStatesOfOthersStay) {
  const auto lines = [](std::string_view conf) { return plan(conf).lines; };
  const std::string hooks =
      "HealthCheckProgram=/etc/slurm/gpuready/health\nProlog=/etc/slurm/gpuready/prolog\n"
      "Epilog=/etc/slurm/gpuready/epilog\nPrologFlags=Alloc\nPrologEpilogTimeout=9\n";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines(hooks), (Lines{"HealthCheckInterval=300", "HealthCheckNodeState=ANY,CYCLE"}));
  EXPECT_EQ(lines(hooks + "HealthCheckInterval=0\n"),
            (Lines{"HealthCheckInterval=300", "HealthCheckNodeState=ANY,CYCLE"}));
  EXPECT_EQ(lines(hooks + "HealthCheckNodeState=IDLE\n"), Lines{"HealthCheckInterval=300"});
  EXPECT_EQ(lines(hooks + "HealthCheckInterval=1\n"), Lines{});
}

// Without a prolog of ours it does not matter when prologs run.
TEST(SlurmSetup, PrologFlagsMatterOnlyToOurProlog) {
  const auto setup = plan("Prolog=/site/prolog\nPrologFlags=NoHold\n");
  EXPECT_TRUE(setup.notes.empty());
  for (const auto& line : plan("Prolog=/site/prolog\n").lines)
    EXPECT_FALSE(line.starts_with("PrologFlags")) << line;
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

TEST(SlurmSetup, TheFolderOfTheScriptsIsAnAbsolutePathThatSlurmCanRead) {
  EXPECT_TRUE(check_hook_folder("/etc/slurm/gpuready"));
  const struct {
    const char *folder, *message;
  } rows[] = {
      {"gpuready", "--folder gpuready: Slurm wants an absolute path"},
      {"", "--folder : Slurm wants an absolute path"},
      {"/a b",
       "/a b: Slurm cannot read the path of a hook with blanks, quotes or characters of patterns; "
       "name another folder for the scripts by --folder"}};
  for (const auto& row : rows) {
    const auto checked = check_hook_folder(row.folder);
    ASSERT_FALSE(checked) << row.folder;
    EXPECT_EQ(checked.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(checked.error().message, row.message);
  }
}

class SlurmWriteSetup : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"/etc", "/etc/slurm"}) ASSERT_TRUE(disk.make_folder(folder, 0755));
    ASSERT_TRUE(write_file_atomically(kConf, kText, {.mode = 0640}, disk));
  }
  Result<void> write(Storage& storage) {
    return write_setup(storage, "/etc/slurm/gpuready", planned, kConf, kText);
  }
  std::vector<std::string> written() const { return disk.names("/etc/slurm/gpuready"); }

  static constexpr const char* kConf = "/etc/slurm/slurm.conf";
  static constexpr const char* kText = "ClusterName=c\n";
  MemoryStorage disk;
  slurm::Setup planned = plan(kText);
};

TEST_F(SlurmWriteSetup, MakesProgramsAndAddsTheLines) {
  for (const bool second : {false, true}) {  // also into a folder that exists
    ASSERT_TRUE(write(disk)) << second;
    EXPECT_EQ(written(),
              (std::vector<std::string>{"/etc/slurm/gpuready/epilog", "/etc/slurm/gpuready/health",
                                        "/etc/slurm/gpuready/prolog"}));
    for (const auto& script : planned.scripts) {
      EXPECT_EQ(disk.content(script.path), script.content);
      EXPECT_EQ(disk.status(script.path)->mode, 0755u);
    }
    EXPECT_EQ(disk.content(kConf), with_lines(kText, planned.lines));
  }
}

TEST_F(SlurmWriteSetup, LeavesAConfigurationThatHasTheLines) {
  planned.lines.clear();
  std::size_t renamed = 0;
  FailingStorage watched(disk, {});
  watched.before_call = [&](StorageCall call) { renamed += call == StorageCall::rename ? 1 : 0; };
  ASSERT_TRUE(write(watched));
  EXPECT_EQ(disk.content(kConf), kText);
  EXPECT_EQ(written().size(), 3u);
  EXPECT_EQ(renamed, 0u);
}

// slurmd starts what slurm.conf names, and a hook that is missing drains the node.
TEST_F(SlurmWriteSetup, AnyFailureLeavesAConfigurationThatNamesOnlyWholeScripts) {
  std::size_t at = 1;
  for (; at < 200; ++at) {
    disk = MemoryStorage();
    SetUp();
    FailingStorage failing(disk, {.at = at, .error_number = EIO});
    const bool done = write(failing).has_value();
    EXPECT_TRUE(disk.content(kConf) == kText || written().size() == 3) << at;
    if (failing.calls() < at) {
      EXPECT_TRUE(done);
      break;
    }
    EXPECT_TRUE(!done || disk.content(kConf) == with_lines(kText, planned.lines)) << at;
  }
  EXPECT_GT(at, 12u);
  EXPECT_LT(at, 200u);
}

TEST_F(SlurmWriteSetup, WritesNothingWithoutItsFolder) {
  const auto none = write_setup(disk, "/none/gpuready", planned, kConf, kText);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ENOENT);
  EXPECT_EQ(disk.content(kConf), kText);
}

}  // namespace
}  // namespace gpuready::slurm
