// Parent and children: whatever becomes of a child, its job gets the right verdict, and only its
// own.
#include "health/worker/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

#include "health/worker/test_watch.h"
#include "unit/device/in_child.h"

namespace gpuready {
namespace {

using namespace std::chrono_literals;

class Workers : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUREADY_HELPER", GPUREADY_BINARY, 1);
    ::setenv("GPUREADY_LIBCUDA", fake_cuda_path().c_str(), 1);
    fake("");
  }
  void TearDown() override {
    for (const char* name : {"GPUREADY_HELPER", "GPUREADY_LIBCUDA", "FAKE_CUDA"}) ::unsetenv(name);
  }
  static void fake(const char* behaviour) { ::setenv("FAKE_CUDA", behaviour, 1); }
  static TestJob job(const std::string& uuid, const std::string& subject = "GPU 0") {
    TestJob job{find_health_test("memory"),
                subject,
                {uuid.empty() ? DeviceChoice{"cpu"} : DeviceChoice{"cuda", uuid}},
                "0000:17:00.0"};
    job.options.max_bytes = 16 * MiB;
    job.options.copy_traffic_bytes = 16 * MiB;
    return job;
  }
  static WorkerLimits short_limits() {
    WorkerLimits limits;
    limits.start = limits.no_progress = 700ms;
    limits.start_per_gpu = 0ms;
    return limits;
  }
  static Verdict only(const std::vector<Verdict>& verdicts) {
    EXPECT_EQ(verdicts.size(), 1u);
    return verdicts.empty() ? Verdict{} : verdicts[0];
  }
};

// A shell script as the helper.
class HelperScript {
 public:
  explicit HelperScript(const std::string& script) {
    std::ofstream(path("helper")) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path("helper"), std::filesystem::perms::owner_all);
    ::setenv("GPUREADY_HELPER", path("helper").c_str(), 1);
  }
  ~HelperScript() { std::filesystem::remove_all(folder_); }
  std::filesystem::path path(const char* name) const { return folder_ / name; }

 private:
  std::string template_ = (std::filesystem::temp_directory_path() / "workersXXXXXX").string();
  std::filesystem::path folder_ = ::mkdtemp(template_.data());
};

TEST_F(Workers, EachChildTestsItsOwnGpu) {
  fake("devices=2");
  const auto verdicts = run_workers({job(kFakeGpu1, "GPU 1"), job(kFakeGpu0, "GPU 0")});
  ASSERT_EQ(verdicts.size(), 2u);
  for (const Verdict& v : verdicts) EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(verdicts[0].uuid, kFakeGpu1);
  EXPECT_EQ(verdicts[0].subject, "GPU 1");
  EXPECT_EQ(verdicts[0].pci_address, "0000:18:00.0") << "as the driver told it";
  EXPECT_EQ(verdicts[1].uuid, kFakeGpu0);
}

TEST_F(Workers, AGpuThatBecameBusyIsLeftOutOfTheNextWave) {
  fake("devices=2");
  WorkerHooks hooks;
  std::vector<std::string> asked;
  hooks.survey = [&](std::span<const TestJob* const> jobs) {
    std::vector<std::optional<std::string>> reasons;
    for (const TestJob* one : jobs) {
      asked.push_back(one->subject);
      reasons.push_back(one->devices[0].id == kFakeGpu1 ? std::optional("busy: it is used")
                                                        : std::nullopt);
    }
    return reasons;
  };
  TestJob first = job(kFakeGpu0), again = job(kFakeGpu0, "GPU 0 again");
  const auto verdicts = run_waves({{first}, {job(kFakeGpu1, "GPU 1"), again}}, hooks);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::passed) << verdicts[0].reason;
  EXPECT_EQ(verdicts[1].status, VerdictStatus::not_tested);
  EXPECT_EQ(verdicts[1].reason, "busy: it is used");
  EXPECT_EQ(verdicts[1].uuid, kFakeGpu1);
  EXPECT_EQ(verdicts[2].status, VerdictStatus::passed) << verdicts[2].reason;
  EXPECT_EQ(asked, std::vector<std::string>{"GPU 1"}) << "GPU 0 is still open in a child of ours";
}

TEST_F(Workers, TheHostIsTestedByTheSameChild) {
  const Verdict v = only(run_workers({job("", "the host")}));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.executor, "cpu");
  EXPECT_EQ(v.coverage->tested_bytes, 16 * MiB);
  EXPECT_FALSE(v.uuid);
}

TEST_F(Workers, AGpuThatIsNotThereIsNotTested) {
  const Verdict v = only(run_workers({job(kFakeGpu1)}));
  EXPECT_EQ(v.status, VerdictStatus::not_tested);
  EXPECT_NE(v.reason.find("does not show"), std::string::npos) << v.reason;
}

TEST_F(Workers, ADriverThatDoesNotStartIsNotTestedAndSaysWhy) {
  fake("init=802");
  const Verdict v = only(run_workers({job(kFakeGpu0)}));
  EXPECT_EQ(v.status, VerdictStatus::not_tested);
  EXPECT_NE(v.reason.find("Fabric Manager"), std::string::npos) << v.reason;
}

TEST_F(Workers, ABusyGpuIsNotTested) {
  fake("fail=cuDevicePrimaryCtxRetain:46");
  const Verdict v = only(run_workers({job(kFakeGpu0)}));
  EXPECT_EQ(v.status, VerdictStatus::not_tested);
  EXPECT_NE(v.reason.find("busy"), std::string::npos) << v.reason;
}

TEST_F(Workers, AHangAtTheStartTimesOut) {
  fake("hang=cuInit");
  const Verdict v = only(run_workers({job(kFakeGpu0)}, {}, short_limits()));
  EXPECT_EQ(v.status, VerdictStatus::timed_out);
  EXPECT_NE(v.reason.find("driver start"), std::string::npos) << v.reason;
}

TEST_F(Workers, AHangInTheTestTimesOutAndNamesThePhase) {
  fake("hang=cuMemAlloc_v2");
  const Verdict v = only(run_workers({job(kFakeGpu0)}, {}, short_limits()));
  EXPECT_EQ(v.status, VerdictStatus::timed_out);
  EXPECT_NE(v.reason.find("during start"), std::string::npos) << v.reason;
}

TEST_F(Workers, SlowButSteadyWorkIsNoHang) {
  fake("launch_ms=60");
  TestJob slow = job(kFakeGpu0);
  slow.options.max_launch_ms = 1;  // four launches a pass
  slow.options.copy_traffic_bytes = 0;
  WorkerLimits limits = short_limits();
  limits.start = 10s;
  const Verdict v = only(run_workers({slow}, {}, limits));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GT(v.duration_ms, 500);
}

TEST_F(Workers, TheHardLimitEndsWhatOnlyLooksAlive) {
  fake("launch_ms=250");
  TestJob slow = job(kFakeGpu0);
  slow.options.max_launch_ms = 1;
  WorkerLimits limits = short_limits();
  limits.no_progress = 10s;
  limits.quick = 500ms;
  const Verdict v = only(run_workers({slow}, {}, limits));
  EXPECT_EQ(v.status, VerdictStatus::timed_out);
  EXPECT_NE(v.reason.find("limit"), std::string::npos) << v.reason;
}

TEST_F(Workers, ACrashIsInconclusiveAndNamesTheSignal) {
  fake("crash=cuLaunchKernel");
  const Verdict v = only(run_workers({job(kFakeGpu0)}));
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_NE(v.reason.find("SIGSEGV"), std::string::npos) << v.reason;
  EXPECT_EQ(v.uuid, kFakeGpu0);
}

// The kernel ends with SIGBUS whoever reads memory that its hardware reports as bad (Linux,
// Documentation/mm/hwpoison.rst); before the test began, or beside a GPU, it says less.
TEST_F(Workers, OnlyABusErrorInATestOfTheHostIsItsMemorys) {
  struct Row {
    const char *uuid, *progress, *signal;
    VerdictStatus status;
    const char* reason;
  };
  const char* const verify = R"({"progress":{"phase":"verify","done":1,"total":2}})";
  for (const auto& [uuid, progress, signal, status, reason] : std::initializer_list<Row>{
           {"", verify, "BUS", VerdictStatus::failed,
            "the test's child died during verify of SIGBUS: a hardware memory error"},
           {"", "", "BUS", VerdictStatus::inconclusive,
            "the test's child died during driver start of SIGBUS"},
           {"", verify, "SEGV", VerdictStatus::inconclusive,
            "the test's child died during verify of SIGSEGV"},
           {kFakeGpu0, verify, "BUS", VerdictStatus::inconclusive,
            "the test's child died during verify of SIGBUS"}}) {
    const HelperScript helper(std::string("read -r test <&3\necho '") + progress + "' >&3\nkill -" +
                              signal + " $$\n");
    const Verdict v = only(run_workers({job(uuid)}));
    EXPECT_EQ(v.status, status) << v.reason;
    EXPECT_EQ(v.reason, reason);
  }
}

TEST_F(Workers, AHelperThatDoesNotExistIsNotTested) {
  ::setenv("GPUREADY_HELPER", "/nonexistent/gpuready", 1);
  const Verdict v = only(run_workers({job(kFakeGpu0)}));
  EXPECT_EQ(v.status, VerdictStatus::not_tested) << v.reason;
}

TEST_F(Workers, AHelperThatIsSomethingElseIsInconclusive) {
  ::setenv("GPUREADY_HELPER", "/bin/true", 1);
  EXPECT_EQ(only(run_workers({job(kFakeGpu0)})).status, VerdictStatus::inconclusive);
}

TEST_F(Workers, InterruptingKeepsWhatWasMeasured) {
  fake("launch_ms=40");
  TestJob slow = job(kFakeGpu0);
  slow.options.max_launch_ms = 1;
  slow.options.copy_traffic_bytes = 0;
  std::atomic<bool> cancel{false};
  WorkerHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](const WorkerProgress& p) {
    if (p.phase == "verify") cancel = true;
  };
  const Verdict v = only(run_workers({slow}, hooks));
  EXPECT_EQ(v.status, VerdictStatus::inconclusive);
  EXPECT_NE(v.reason.find("interrupted during"), std::string::npos) << v.reason;
  ASSERT_FALSE(v.metrics.empty());
  EXPECT_EQ(v.metrics[0].name, "write_address_rate");
}

TEST_F(Workers, WhatIsNotBegunWhenInterruptedIsToldAsNotTested) {
  fake("launch_ms=40");
  std::atomic<bool> cancel{false};
  WorkerHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&](const WorkerProgress&) { cancel = true; };
  const auto verdicts = run_workers({job(kFakeGpu0), job(kFakeGpu0)}, hooks);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1].status, VerdictStatus::not_tested);
  EXPECT_EQ(verdicts[1].reason, "interrupted before it began");
}

// Of two verdicts with a start.
bool overlap(const Verdict& a, const Verdict& b) {
  const auto before = [](const Verdict& x, const Verdict& y) {
    return x.started_ms.value() + x.duration_ms <= y.started_ms.value();
  };
  return !before(a, b) && !before(b, a);
}

TEST_F(Workers, JobsOfOneDeviceFollowEachOtherAndOthersDoNotWait) {
  fake("devices=2,launch_ms=40");
  const auto verdicts = run_workers({job(kFakeGpu0), job(kFakeGpu0), job(kFakeGpu1, "GPU 1")});
  ASSERT_EQ(verdicts.size(), 3u);
  for (const Verdict& v : verdicts) EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_FALSE(overlap(verdicts[0], verdicts[1]));
  EXPECT_TRUE(overlap(verdicts[0], verdicts[2]));
}

TEST_F(Workers, WhatIsNeededByTwoIsGivenToOneAtATime) {
  fake("devices=2,launch_ms=40");
  TestJob first = job(kFakeGpu0), second = job(kFakeGpu1, "GPU 1");
  first.exclusive = second.exclusive = "links of pci0000:00";
  const auto verdicts = run_workers({first, second, job(kFakeGpu1, "GPU 1")});
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_FALSE(overlap(verdicts[0], verdicts[1]));
  EXPECT_TRUE(overlap(verdicts[0], verdicts[2])) << "GPU 1 does other work meanwhile";
}

// A helper that writes a line for each start of it.
class CountedHelper : HelperScript {
 public:
  CountedHelper()
      : HelperScript("echo >>\"$(dirname \"$0\")\"/starts\nexec " + std::string(GPUREADY_BINARY) +
                     " \"$@\"\n") {}
  std::size_t starts() const {
    std::ifstream file(path("starts"));
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
};

TEST_F(Workers, OneChildRunsAllTestsOfItsDevice) {
  const CountedHelper helper;
  fake("devices=2");
  TestJob bandwidth = job(kFakeGpu0);
  bandwidth.test = find_health_test("bandwidth");
  const auto verdicts = run_workers({bandwidth, job(kFakeGpu0), job(kFakeGpu1, "GPU 1")});
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].test, "bandwidth");
  EXPECT_FALSE(verdicts[0].metrics.empty()) << verdicts[0].reason;
  EXPECT_EQ(verdicts[1].status, VerdictStatus::passed) << verdicts[1].reason;
  EXPECT_EQ(verdicts[2].status, VerdictStatus::passed) << verdicts[2].reason;
  EXPECT_EQ(helper.starts(), 2u);
}

TEST_F(Workers, AWaveKeepsTheChildrenThatTheNextOneNeeds) {
  const CountedHelper helper;
  fake("devices=2");
  const auto verdicts = run_waves({{job(kFakeGpu0), job(kFakeGpu1, "GPU 1")}, {job(kFakeGpu0)}});
  ASSERT_EQ(verdicts.size(), 3u);
  for (const Verdict& v : verdicts) EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(verdicts[2].started_ms.value(),
            verdicts[1].started_ms.value() + verdicts[1].duration_ms);
  EXPECT_EQ(helper.starts(), 2u);
}

// It releases its driver itself, and is not killed.
TEST_F(Workers, AChildWithoutFurtherTestsEndsByItself) {
  const HelperScript helper(std::string(GPUREADY_BINARY) +
                            " \"$@\"\necho $? >>\"$(dirname \"$0\")\"/ends\n");
  const Verdict v = only(run_workers({job("", "the host")}));
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  std::ifstream file(helper.path("ends"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "0\n");
}

TEST_F(Workers, AfterACrashAnotherChildTakesTheOtherTests) {
  const CountedHelper helper;
  fake("crash=cuMemHostAlloc");  // the bandwidth test alone calls it
  TestJob bandwidth = job(kFakeGpu0);
  bandwidth.test = find_health_test("bandwidth");
  const auto verdicts = run_workers({bandwidth, job(kFakeGpu0)});
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::inconclusive);
  EXPECT_NE(verdicts[0].reason.find("SIGSEGV"), std::string::npos) << verdicts[0].reason;
  EXPECT_EQ(verdicts[1].status, VerdictStatus::passed) << verdicts[1].reason;
  EXPECT_EQ(helper.starts(), 2u);
}

TEST_F(Workers, ProgressIsToldByJob) {
  fake("devices=2");
  std::vector<std::uint64_t> most(2);
  WorkerHooks hooks;
  hooks.progress = [&](const WorkerProgress& p) {
    most.at(p.job) = std::max(most.at(p.job), p.total);
  };
  run_workers({job(kFakeGpu0), job(kFakeGpu1)}, hooks);
  EXPECT_EQ(most, (std::vector<std::uint64_t>{64 * MiB, 64 * MiB})) << "four passes of 16 MiB";
}

TEST(WorkerLimits, ATestHasTheLimitOfItsLevelAndTheDurationThatItIsAskedFor) {
  WorkerLimits limits;
  limits.quick = 1s;
  limits.standard = 2s;
  limits.thorough = 3s;
  for (const auto& [level, limit] :
       {std::pair(Level::quick, 1000ms), {Level::standard, 2000ms}, {Level::thorough, 3000ms}}) {
    TestJob job;
    job.options.level = level;
    EXPECT_EQ(test_limit(job, limits), limit);
    job.options.duration_s = 0;
    EXPECT_EQ(test_limit(job, limits), limit);
    job.options.duration_s = 7.5;
    EXPECT_EQ(test_limit(job, limits), limit + 7500ms);
  }
}

// What a child reports of itself is nearer to the device than what the parent chose.
TEST(WorkerVerdicts, KeepWhatTheChildReported) {
  TestJob job{find_health_test("memory"),
              "GPU 3",
              {DeviceChoice{"cuda", kFakeGpu0}, DeviceChoice{"cuda", kFakeGpu1}},
              "0000:17:00.0"};
  Verdict silent;
  identify_subject(job, silent);
  EXPECT_EQ(silent.test, "memory");
  EXPECT_EQ(silent.subject, "GPU 3");
  EXPECT_EQ(silent.executor, "cuda");
  EXPECT_EQ(silent.uuid, kFakeGpu0);
  EXPECT_EQ(silent.peer_uuid, kFakeGpu1);
  EXPECT_EQ(silent.pci_address, "0000:17:00.0");
  Verdict told;
  told.executor = "vulkan";
  told.uuid = "GPU-of-the-child";
  told.peer_uuid = "GPU-of-its-peer";
  told.pci_address = "0000:18:00.0";
  identify_subject(job, told);
  EXPECT_EQ(told.executor, "vulkan");
  EXPECT_EQ(told.uuid, "GPU-of-the-child");
  EXPECT_EQ(told.peer_uuid, "GPU-of-its-peer");
  EXPECT_EQ(told.pci_address, "0000:18:00.0");
  job.devices = {DeviceChoice{"cpu"}};
  job.pci_address.reset();
  Verdict host;
  identify_subject(job, host);
  EXPECT_EQ(host.executor, "cpu");
  EXPECT_FALSE(host.uuid || host.peer_uuid || host.pci_address);
}

TEST(WorkerOptions, GoThereAndBack) {
  TestOptions options;
  options.max_bytes = 5;
  options.reserve_free_bytes = 6;
  options.max_launch_ms = 7.5;
  options.copy_traffic_bytes = 8;
  options.blocks_per_unit = 9;
  options.seed = 0xffffffffffffffff;
  options.inject = Fault{FaultClass::wrong_sm, 1ull << 63, 7};
  const Json doc = to_json(options);
  const auto back = test_options_from_json(*parse_json(dump_line(doc), "test"));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), doc);
}

TEST(WorkerChild, WrongUsageIsRefused) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"memory"},
                                             {"--device"},
                                             {"--device", "cuda:"},
                                             {"--device", "cpu", "--device"},
                                             {"--device", "cpu", "--more", "x"}}) {
    EXPECT_EQ(run_worker(args), 2);
  }
}

}  // namespace
}  // namespace gpuready
