// Children that hold or hear something until they are asked to stop. A script plays the probe.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "host/clock_lock.h"
#include "host/xid_listener.h"
#include "unit/test_folder.h"

namespace gpuready {
namespace {

class HeldChildren : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("GPUREADY_HELPER"); }
  // Says `lines`, and when it is asked to stop `last`.
  void answer(const std::string& lines, const std::string& last) {
    folder.write("said", lines);
    folder.write("last", last);
    folder.write("helper",
                 "#!/bin/sh\ncd " + folder.path() +
                     "\ntrap 'cat last >&3; exit' TERM\n[ -s last ] || lasts=no\necho $* >args\n"
                     "cat said >&3\nwhile [ -z \"$lasts\" ]; do sleep 0.01; done\n");
    ::chmod(folder.path("helper").c_str(), 0755);
    ::setenv("GPUREADY_HELPER", folder.path("helper").c_str(), 1);
  }
  TestFolder folder;
};

const std::string kStarted =
    "{\"call\":\"nvmlInit_v2()\",\"code\":0}\n"
    "{\"call\":\"nvmlDeviceGetHandleByUUID(GPU-1)\",\"code\":0}\n";
std::string locked(const std::string& how) {
  return kStarted + "{\"call\":\"nvmlDeviceSetGpuLockedClocks()\"," + how + "}\n";
}
std::string given_back(int code) {
  return "{\"call\":\"nvmlDeviceResetGpuLockedClocks()\",\"code\":" + std::to_string(code) + "}\n";
}

TEST_F(HeldChildren, ClocksAreHeldUntilTheyAreReleased) {
  answer(locked("\"code\":0,\"value\":1410"), given_back(0));
  auto lock = ClockLock::take("GPU-1", 1400);
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ((*lock)->mhz(), 1410u) << "what the driver made of it";
  EXPECT_EQ(folder.read("args"), "__probe nvml-clocks GPU-1 1400\n");
  EXPECT_TRUE((*lock)->release());
}

TEST_F(HeldChildren, ClocksThatMayStillBeLockedAreNamed) {
  for (const auto& last : {given_back(999), std::string("nothing\n")}) {
    answer(locked("\"code\":0,\"value\":1410"), last);
    auto lock = ClockLock::take("GPU-1", 0);
    ASSERT_TRUE(lock) << lock.error().message;
    const auto released = (*lock)->release();
    ASSERT_FALSE(released) << last;
    EXPECT_EQ(released.error().kind, ErrorKind::device);
    EXPECT_EQ(released.error().message,
              "the clocks of GPU-1 may still be locked: run nvidia-smi -i GPU-1 -rgc");
  }
}

// The codes are nvmlReturn_t's.
TEST_F(HeldChildren, ClocksThatCannotBeLockedSayWhy) {
  struct Row {
    std::string said;
    ErrorKind kind;
    const char* why;
  };
  for (const auto& [said, kind, why] :
       {Row{locked("\"code\":4"), ErrorKind::no_permission, "it wants root"},
        {locked("\"code\":3"), ErrorKind::unsupported, "the GPU does not support it"},
        {locked("\"missing\":true"), ErrorKind::unsupported,
         "the driver has no nvmlDeviceSetGpuLockedClocks()"},
        {locked("\"code\":15"), ErrorKind::device, "nvmlDeviceSetGpuLockedClocks() returned 15"},
        {locked("\"code\":1"), ErrorKind::device, "nvmlDeviceSetGpuLockedClocks() returned 1"},
        {locked("\"code\":0,\"value\":\"much\""), ErrorKind::device, "the driver did not answer"},
        {kStarted, ErrorKind::device, "the driver did not answer"},
        {"{\"call\":\"nvmlInit_v2()\",\"code\":9}\n", ErrorKind::device,
         "nvmlInit_v2() returned 9"},
        {"{\"library\":{\"name\":\"libnvidia-ml.so.1\",\"error\":\"no such file\"}}\n"
         "{\"end\":true}\n",
         ErrorKind::unsupported, "the driver's library cannot be loaded: no such file"}}) {
    answer(said, "");
    const auto lock = ClockLock::take("GPU-1", 1400);
    ASSERT_FALSE(lock) << why;
    EXPECT_EQ(lock.error().kind, kind) << why;
    EXPECT_EQ(lock.error().message, std::string("the clocks of GPU-1 cannot be locked: ") + why);
  }
}

TEST_F(HeldChildren, AListenerTellsWhatItHeardOnceItIsStopped) {
  answer("{\"call\":\"nvmlInit_v2()\",\"code\":0}\n",
         "{\"call\":\"nvmlEventSetWait_v2(0)\",\"code\":0,\"value\":{\"xid\":79}}\n"
         "{\"end\":true}\n");
  XidListener listener({"0000:17:00.0", "0000:18:00.0"});
  while (folder.read("args").empty()) ::usleep(1000);
  const auto heard = listener.stop();
  EXPECT_EQ(folder.read("args"), "__probe nvml-events 0000:17:00.0 0000:18:00.0\n");
  EXPECT_EQ(heard.outcome, ProbeOutcome::completed);
  EXPECT_NE(heard.find("nvmlInit_v2()"), nullptr);
  ASSERT_NE(heard.find("nvmlEventSetWait_v2(0)"), nullptr);
  EXPECT_EQ(heard.value("nvmlEventSetWait_v2(0)").value("xid", 0), 79);
}

// Tests take hours, and a job as such 30 s.
TEST_F(HeldChildren, HaveNoLimitOfTime) {
  EXPECT_EQ(XidListener::job({}).limits.time, std::nullopt);
  EXPECT_EQ(ClockLock::job("GPU-1", 0).limits.time, std::nullopt);
}

}  // namespace
}  // namespace gpuready
