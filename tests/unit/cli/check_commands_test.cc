// doctor, check, gpu-test, selftest and record, run in this process on recorded machines, and what
// they share.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "cli/health_tests.h"
#include "cli/run_tests.h"
#include "host/recording/recording.h"
#include "unit/cli/run_command.h"
#include "unit/machine/scripted.h"
#include "unit/report/healthy.h"
#include "unit/test_folder.h"

namespace gpuready::cli {
namespace {

using Set = std::set<std::string>;

std::string machine(const std::string& name) {
  return std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" + name + "/machine.json";
}

// No driver is asked and no test runs: the helper ends at once.
class CheckCommands : public testing::Test {
 protected:
  CheckCommands() { ::setenv("GPUREADY_HELPER", "/bin/true", 1); }
  ~CheckCommands() override { ::unsetenv("GPUREADY_HELPER"); }

  static Json document(const std::string& command, std::vector<std::string> args) {
    args.emplace_back("--json=-");
    const auto ran = test::run_command(command, args);
    auto doc = parse_json(ran.out, command);
    EXPECT_TRUE(doc) << ran.err;
    return doc ? *doc : Json();
  }
  static Set each(const Json& list, const char* key) {
    Set values;
    for (const Json& entry : list) values.insert(entry.value(key, ""));
    return values;
  }

  TestFolder folder_;
};

TEST_F(CheckCommands, ABaselineAddsWhatWasLost) {
  for (const char* command : {"doctor", "check"}) {
    SCOPED_TRACE(command);
    const auto now = document(command, {"--replay", machine("base-h100x1")});
    EXPECT_EQ(each(now["findings"], "id"), Set{});
    const auto compared = document(
        command, {"--replay", machine("base-h100x1"), "--baseline", machine("base-hgx-h100x8")});
    EXPECT_TRUE(each(compared["findings"], "id").contains("gpu-lost"));
    EXPECT_EQ(compared["exit_code"], 1);
    const auto lost = test::run_command(
        command, {"--replay", machine("base-h100x1"), "--baseline", folder_.path("absent")});
    EXPECT_EQ(lost.exit, 2);
    EXPECT_EQ(lost.err, "gpuready: cannot read the recording " + folder_.path("absent") +
                            ": No such file or directory\n");
  }
}

TEST_F(CheckCommands, ARecordingThatIsMissingIsWrongUsageAndNoAbsentGpu) {
  for (const char* command : {"doctor", "check", "selftest", "detect"})
    EXPECT_EQ(test::run_command(command, {"--replay", folder_.path("absent")}).exit, 2) << command;
}

// GPU 7 is off the bus; the other seven are to be tested.
TEST_F(CheckCommands, AGpuWhoseLossIsAcceptedIsLeftOutOfTheTests) {
  const std::string lost = machine("gpu-lost-without-xid");
  Set others, all;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string subject = "GPU " + std::to_string(gpu);
    all.insert(subject);
    if (gpu < 7) others.insert(subject);
  }
  EXPECT_EQ(each(document("check", {"--replay", lost})["verdicts"], "subject"), all);
  EXPECT_EQ(each(document("check", {"--replay", lost, "--accept", "off-the-bus@7"})["verdicts"],
                 "subject"),
            others);
}

TEST_F(CheckCommands, VerdictsAreBySubjectAndThenInTheOrderOfTheTests) {
  const auto doc = document("test", {"--replay", machine("gpu-lost-without-xid"), "--only",
                                     "compute,memory", "--device", "1,0"});
  std::vector<std::string> order;
  for (const Json& verdict : doc["verdicts"])
    order.push_back(verdict.value("subject", "") + " " + verdict.value("test", ""));
  EXPECT_EQ(order, (std::vector<std::string>{"GPU 0 memory", "GPU 0 compute", "GPU 1 memory",
                                             "GPU 1 compute"}));
}

TEST_F(CheckCommands, ANetworkServiceHasAPort) {
  const auto ran = [&](const std::string& service) {
    return test::run_command("check", {"--fitness", "--network", service, "--replay",
                                       machine("base-h100x1"), "--json=-"});
  };
  for (const std::string wrong :
       {"host", ":443", "::1", "[::1]", "host:", "host:0", "host:65536", "host:http", "::1:443"}) {
    const auto refused = ran(wrong);
    EXPECT_EQ(refused.exit, 2) << wrong;
    EXPECT_EQ(refused.err,
              "gpuready: --network " + wrong + ": a port is missing, as in " + wrong + ":443\n");
  }
  for (const char* right : {"127.0.0.1:1", "[::1]:1"}) {
    const auto taken = ran(right);
    EXPECT_EQ(taken.err, "") << right;
    EXPECT_TRUE(contains(taken.out, std::string(right) + ": ")) << taken.out;
  }
}

// docs/gpu-test.md: seconds that the caller waits for an answer.
TEST_F(CheckCommands, TheCallersTimeoutIs4SecondsTo1Day) {
  const auto ran = [&](const std::string& seconds) {
    folder_.write("machine.json",
                  R"({"schema":"gpuready.machine-script","schema_version":1,"description":"x",)"
                  R"("source":"y","environment":{"RUNPOD_GPU_TEST_TIMEOUT":")" +
                      seconds + "\"}}");
    return test::run_command("gpu-test", {"--replay", folder_.path("machine.json")});
  };
  for (const std::string right : {"", "4", "4.5", "86400"}) {
    const auto taken = ran(right);
    EXPECT_EQ(taken.exit, 1) << right;  // it finds no GPU
    EXPECT_EQ(taken.err, "") << right;
    EXPECT_TRUE(contains(taken.out, "Failed to initialize NVML")) << taken.out;
  }
  for (const std::string wrong : {"3.9", "86400.5", "-5", "soon"}) {
    const auto refused = ran(wrong);
    EXPECT_EQ(refused.exit, 2) << wrong;
    EXPECT_EQ(refused.err, "gpuready: RUNPOD_GPU_TEST_TIMEOUT=" + wrong +
                               ": not a number of seconds from 4 to 86400\n");
  }
}

TEST_F(CheckCommands, ASelfTestTriesTheTestsAndFaultsThatAreNamed) {
  const auto tried = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--device", "cpu", "--trials", "1"});
    Set cases;
    const Json doc = document("selftest", more);
    for (const Json& row : doc["rows"])
      cases.insert(row.value("test", "") + " " + row.value("fault", "none"));
    return cases;
  };
  EXPECT_EQ(tried({"--only", "memory", "--inject", "none"}), Set{"memory none"});
  EXPECT_EQ(tried({"--only", "memory", "--inject", "stuck,none"}),
            (Set{"memory none", "memory stuck"}));
  const Set of_memory = tried({"--only", "memory"}), clean = tried({"--inject", "none"});
  EXPECT_TRUE(of_memory.contains("memory bitflip") && of_memory.contains("memory none"));
  EXPECT_TRUE(std::ranges::all_of(
      of_memory, [](const std::string& name) { return name.starts_with("memory "); }));
  EXPECT_TRUE(clean.contains("memory none") && clean.contains("compute none"));
  EXPECT_TRUE(
      std::ranges::all_of(clean, [](const std::string& name) { return name.ends_with(" none"); }));
}

TEST_F(CheckCommands, ARecordingKeepsItsDescriptionUnlessItIsRedacted) {
  const auto recorded = [&](std::vector<std::string> more) {
    const std::string file = folder_.path(std::to_string(folder_.count()) + ".tar.zst");
    more.insert(more.begin(), file);
    const auto ran = test::run_command("record", more);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const auto recording = load_recording(file);
    EXPECT_TRUE(recording);
    return std::pair(ran.err, recording ? *recording : Recording());
  };
  const auto [said, whole] = recorded({"--description", "a box"});
  EXPECT_EQ(whole.description, "a box");
  EXPECT_FALSE(whole.redacted);
  EXPECT_TRUE(contains(said, " into " + folder_.path("0.tar.zst") + " (")) << said;
  EXPECT_FALSE(contains(said, ", redacted")) << said;
  const auto [warned, redacted] = recorded({"--description", "a box", "--redact"});
  EXPECT_EQ(redacted.description, "");
  EXPECT_TRUE(redacted.redacted);
  EXPECT_TRUE(contains(warned, "the description is left out")) << warned;
  EXPECT_TRUE(contains(warned, ", redacted")) << warned;
  EXPECT_FALSE(contains(recorded({"--redact", "-q"}).first, "left out"));
  const auto streamed = test::run_command("record", {"-"});
  EXPECT_EQ(streamed.exit, 2);
  EXPECT_EQ(streamed.err, "gpuready: a recording does not go to standard output: name a file\n");
}

// What the whole GPU had no part in, or only some of the tests, does not clear a failure.
TEST(RunExtents, AreWholeUnlessTestsAreNamedOrOthersUseTheGpu) {
  TestCommand options;
  options.level = "standard";
  EXPECT_TRUE(extent_of(options).whole);
  EXPECT_EQ(extent_of(options).level, Level::standard);
  EXPECT_EQ(extent_of(options).endurance_seconds, 0);
  EXPECT_FALSE(extent_of(options).hammer);
  options.busy = true;
  EXPECT_FALSE(extent_of(options).whole);
  options.only = {"memory"};
  EXPECT_FALSE(extent_of(options).whole);
  options.busy = false;
  EXPECT_FALSE(extent_of(options).whole);
  options.duration_s = 60;
  options.hammer = true;
  EXPECT_EQ(extent_of(options).endurance_seconds, 60);
  EXPECT_TRUE(extent_of(options).hammer);
}

TEST(KeptReports, AreOfThisMachineItsDriverAndAllItsGpus) {
  EXPECT_TRUE(proves_something(healthy(1)));
  const auto with = [](auto&& change) {
    Report report = healthy(1);
    change(report);
    return proves_something(report);
  };
  EXPECT_FALSE(with([](Report& report) { report.machine.source = "recorded"; }));
  EXPECT_FALSE(with([](Report& report) { report.machine.fakes = {"cuda"}; }));
  EXPECT_FALSE(with([](Report& report) { report.by_named_libraries = true; }));
  EXPECT_FALSE(with([](Report& report) { report.machine.visibility.cuda_visible_devices = "1"; }));
}

TEST(Reserves, AreThoseOfTheGpuThatTheVerdictNames) {
  Machine machine;
  for (int gpu = 0; gpu < 2; ++gpu) machine.gpus.push_back(healthy_gpu(gpu));
  machine.gpus[1].memory.reserved_bytes = 512;
  std::vector<Verdict> verdicts(4);
  verdicts[0].uuid = machine.gpus[1].uuid;
  verdicts[0].coverage.emplace();
  verdicts[1].uuid = machine.gpus[1].uuid;  // of a test that covers no memory
  verdicts[2].coverage.emplace();           // of the host
  verdicts[3].uuid = "GPU-of-another";
  verdicts[3].coverage.emplace();
  add_reserves(machine, verdicts);
  EXPECT_EQ(verdicts[0].coverage->reserved_bytes, 512u);
  EXPECT_FALSE(verdicts[1].coverage);
  EXPECT_EQ(verdicts[2].coverage->reserved_bytes, std::nullopt);
  EXPECT_EQ(verdicts[3].coverage->reserved_bytes, std::nullopt);
}

// Without a GPU the report says so first, and why.
TEST(Absence, OfGpusIsNotedOnALiveMachine) {
  const auto note = [](auto&& change) {
    Report report;
    report.machine.source = "live";
    report.findings.emplace();
    change(report.machine);
    run_and_judge(*scripted(R"("files":{})"), report, {.plan = {}, .quiet = true});
    return join(report.notes, " ");
  };
  constexpr const char* kNoDevice = "No GPU here: the PCI bus shows no device that could be one.";
  const auto faked = [](Machine& machine) {
    machine.gpus.push_back(healthy_gpu(0));
    machine.gpus.back().faked = true;
  };
  EXPECT_EQ(note([](Machine&) {}), kNoDevice);
  EXPECT_EQ(note(faked), kNoDevice);
  EXPECT_EQ(note([](Machine& machine) { machine.pci.emplace_back(); }),
            "No GPU here: no display or compute controller of a GPU vendor is on the PCI bus.");
  EXPECT_EQ(note([](Machine& machine) { machine.system.wsl2 = true; }),
            "No GPU here: /dev/dxg shows no GPU that the drivers here know.");
  EXPECT_EQ(note([](Machine& machine) { machine.unseen.push_back({"/sys/bus/pci/devices", "x"}); }),
            "")
      << "the conclusion says it";
  EXPECT_EQ(note([](Machine& machine) { machine.source = "recorded"; }), "");
  EXPECT_EQ(note([](Machine& machine) { machine.fakes = {"none"}; }), "");
  EXPECT_EQ(note([](Machine& machine) {
              machine.gpus.push_back(healthy_gpu(0));
              machine.gpus.back().vendor = Vendor::intel;
            }),
            "");
}

}  // namespace
}  // namespace gpuready::cli
