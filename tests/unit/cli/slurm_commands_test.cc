// The hooks of `slurm` and their child that looks, run in this process: what is looked at, which
// results of tests count, and what the health check drains and resumes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "cli/run_tests.h"
#include "slurm/cli/look_child.h"
#include "slurm/record_file.h"
#include "test_paths.h"
#include "unit/cli/run_command.h"
#include "unit/products/slurm/results.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

std::string machine(const std::string& name) {
  return std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" + name + "/machine.json";
}

class SlurmCommands : public testing::Test {
 protected:
  // The child that looks is a script that notes what it is asked, and Slurm is a file.
  SlurmCommands() {
    forget_variables();
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
    fs::create_directory(at("kept"));
    script("helper", "echo \"$* ${CUDA_VISIBLE_DEVICES-all}\" >>" + at("asked") + "\ncat " +
                         at("look") + "\n");
    script("scontrol", "{ read -r state; read -r reason; } <" + at("slurm") +
                           "\ncase $1-$3 in\n"
                           "show-*) echo \"NodeName=n1\"; echo \"   State=$state\"\n"
                           "  echo \"   Reason=${reason:-(null)} [root@2026-11-26T04:01:02]\" ;;\n"
                           "update-State=DRAIN) printf 'IDLE+DRAIN\\n%s\\n' \"${4#Reason=}\" >" +
                           at("slurm") +
                           " ;;\n"
                           "update-State=RESUME) printf 'IDLE\\n\\n' >" +
                           at("slurm") + " ;;\nesac\n");
    write("slurm", "IDLE\n\n");
    ::setenv("GPUREADY_HELPER", at("helper").c_str(), 1);
    look_shows({});
  }
  ~SlurmCommands() override {
    forget_variables();
    fs::remove_all(root_);
  }
  static void forget_variables() {
    for (const char* name : {"GPUREADY_HELPER", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"})
      ::unsetenv(name);
  }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  void script(const std::string& name, const std::string& body) const {
    write(name, "#!/bin/sh\n" + body);
    fs::permissions(at(name), fs::perms::owner_all);
  }
  void look_shows(std::vector<slurm::LookedFinding> findings) const {
    slurm::Look look;
    look.findings = std::move(findings);
    look.gpus = {{.index = 0, .minor_number = 0, .usable = true, .given = true}};
    if (!look.findings.empty()) look.exit = Exit::unhealthy;
    write("look", slurm::look_text(look));
  }
  void tests_gave(Standing standing, std::int64_t unix_seconds = 0) const {
    auto result = slurm::kept("GPU 0", standing, Level::quick, unix_seconds);
    result.driver_version = present_now(*make_live_host(), 0).driver_version;
    write("kept/results.json", kept_results_text({.machine_id = {}, .results = {result}}));
  }
  test::Ran run(const std::string& hook, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {hook, "--node", "n1", "--folder", at("kept"), "--scontrol",
                               at("scontrol"), "--no-color"});
    return test::run_command("slurm", more);
  }
  std::string asked() const { return test::read_file(at("asked")); }
  std::string slurm_says() const { return test::read_file(at("slurm")); }
  // As if the node had been drained that much earlier: a look in the second of the drain may be
  // older than it.
  void drained_earlier() const {
    const std::string path = slurm::record_path(at("kept"), "n1");
    auto record = slurm::parse_record(test::read_file(path), path).value();
    record.drained_unix_seconds -= 60;
    std::ofstream(path, std::ios::binary) << slurm::record_text(record);
  }

  std::string root_ = testing::TempDir() + "slurmXXXXXX";
};

const slurm::LookedFinding kNotLoaded{
    .id = "driver-not-loaded", .concerns = "", .title = "No module", .action = Action::configure};
const slurm::LookedFinding kOffTheBus{.id = "xid-79",
                                      .concerns = "GPU 0",
                                      .title = "Fell off",
                                      .action = Action::power_cycle,
                                      .gpus = {0}};

TEST_F(SlurmCommands, HealthLooksFullyAndJobsHooksQuicklyAtAllGpus) {
  ::setenv("SLURM_JOB_GPUS", "0", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  const std::string recording = machine("base-h100x1");
  EXPECT_EQ(run("health").exit, 0);
  EXPECT_EQ(run("health", {"--replay", recording}).exit, 0);
  EXPECT_EQ(run("prolog").exit, 0);
  EXPECT_EQ(run("epilog", {"--replay", recording}).exit, 0);
  EXPECT_EQ(asked(), "__slurm_look full all\n__slurm_look full " + recording +
                         " all\n__slurm_look quick all\n__slurm_look quick " + recording +
                         " all\n");
}

TEST_F(SlurmCommands, AJobWithoutGpusIsNotLookedAt) {
  EXPECT_EQ(run("prolog").out, "node n1: the job has no GPU here\n");
  EXPECT_EQ(run("epilog").out, "node n1: the job has no GPU here\n");
  EXPECT_EQ(asked(), "");
}

TEST_F(SlurmCommands, ResultsOfTestsCountUnlessTheGpusAreThoseOfARecording) {
  ::setenv("SLURM_JOB_GPUS", "0", 1);
  tests_gave(Standing::bad);
  for (const char* hook : {"health", "prolog"}) {
    const auto recorded = run(hook, {"--replay", machine("base-h100x1")});
    EXPECT_EQ(recorded.exit, 0) << hook << recorded.out;
    const auto live = run(hook, {"--dry-run"});
    EXPECT_EQ(live.exit, 1) << hook;
    EXPECT_EQ(live.out, "node n1 would be drained: gpuready: GPU 0: why (check_again)\n") << hook;
  }
}

TEST_F(SlurmCommands, ResultsThatCannotBeReadAreReportedAndDoNotCount) {
  write("kept/results.json", "{}");
  const auto ran = run("health");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, "node n1: nothing is wrong\n");
  EXPECT_EQ(ran.err, "gpuready: " + at("kept/results.json") +
                         " does not hold results that gpuready kept; delete it\n");
}

TEST_F(SlurmCommands, HealthResumesTheNodeThatItDrainedWhenTheCauseIsGone) {
  look_shows({kNotLoaded});
  EXPECT_EQ(run("health").out, "node n1 drained: gpuready: No module (configure)\n");
  EXPECT_EQ(slurm_says(), "IDLE+DRAIN\ngpuready: No module (configure)\n");
  drained_earlier();
  EXPECT_EQ(run("health").out,
            "node n1: gpuready: No module (configure): the node is drained already, for this "
            "cause\n");
  look_shows({});
  const auto resumed = run("health");
  EXPECT_EQ(resumed.exit, 0);
  EXPECT_EQ(resumed.out, "node n1 resumed: the cause is gone\n");
  EXPECT_EQ(slurm_says(), "IDLE\n\n");
}

TEST_F(SlurmCommands, HealthResumesAGpuThatNeededAResetOnlyAfterATest) {
  look_shows({kOffTheBus});
  EXPECT_EQ(run("health").exit, 1);
  drained_earlier();
  look_shows({});
  EXPECT_EQ(run("health").out,
            "node n1: the node waits for a test: gpuready check --level quick\n");
  tests_gave(Standing::good, std::time(nullptr));
  EXPECT_EQ(run("health").out, "node n1 resumed: a test has passed since\n");
}

// The child's side, in a process of its own.
class SlurmLookChild : public SlurmCommands {
 protected:
  test::Ran look(const std::vector<std::string>& args) const {
    const auto child = ::fork();
    if (child == 0) {
      ::close(3);  // not a channel to a parent
      const bool open = std::freopen(at("out").c_str(), "w", stdout) != nullptr &&
                        std::freopen(at("err").c_str(), "w", stderr) != nullptr;
      const int exit = open ? run_slurm_look(args) : -1;
      std::fflush(nullptr);
      ::_exit(exit);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return {.exit = WEXITSTATUS(status),
            .out = test::read_file(at("out")),
            .err = test::read_file(at("err"))};
  }
};

TEST_F(SlurmLookChild, PrintsTheLookAtTheNamedMachine) {
  const auto ran = look({"quick", machine("driver-not-loaded")});
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.err, "");
  const auto seen = slurm::parse_look(ran.out);
  ASSERT_TRUE(seen) << ran.out;
  EXPECT_EQ(seen->exit, Exit::unhealthy);
  ASSERT_EQ(seen->findings.size(), 1u);
  EXPECT_EQ(seen->findings[0].id, "driver-not-loaded");
}

TEST_F(SlurmLookChild, OnlyAFullLookAsksCuda) {
  const std::string crashes = machine("cuda-crashed");
  const auto full = slurm::parse_look(look({"full", crashes}).out);
  const auto quick = slurm::parse_look(look({"quick", crashes}).out);
  ASSERT_TRUE(full && quick);
  EXPECT_EQ(full->exit, Exit::unhealthy);
  EXPECT_EQ(quick->exit, Exit::ok);
}

TEST_F(SlurmLookChild, SaysWhyItCannotLook) {
  const auto ran = look({"full", at("absent")});
  EXPECT_EQ(ran.exit, 4);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "cannot read the recording " + at("absent") + ": No such file or directory");
  EXPECT_EQ(look({}).exit, 2);
}

}  // namespace
}  // namespace gpuready::cli
