// Listening and sampling through a fake NVML, in a real child.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "../../fake_drivers/ask_fake.h"
#include "host/xid_listener.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

// Watches for `how_long`, then asks the child to stop.
ProbeDocument watch(const std::string& settings, milliseconds how_long = milliseconds(450),
                    const std::string& library = "fake_nvml.so",
                    const std::vector<std::string>& only = {}, bool* ended_unasked = nullptr) {
  Job command;
  command.program = testing::fake_driver_path("probe_helper");
  command.args = {"__probe", "nvml-events"};
  command.args.insert(command.args.end(), only.begin(), only.end());
  command.env = {{"GPUREADY_LIBNVML", testing::fake_driver_path(library)}, {"FAKE_NVML", settings}};
  command.channel = true;
  auto child = RunningJob::start(command);
  if (!child) return {};
  const auto wait = [&](milliseconds time) {
    const Deadline until = deadline_in(time);
    while (!child->finished() && Clock::now() < until) poll_jobs({&*child}, until);
  };
  wait(how_long);
  if (ended_unasked != nullptr) *ended_unasked = child->finished();
  child->stop();
  wait(milliseconds(60'000));
  EXPECT_TRUE(child->finished()) << "it did not stop when asked";
  return probe_document_from_lines(child->text(kChannel), "nvml-events");
}

TEST(NvmlSampler, TellsEverySeriesOfEveryGpuWithItsUnit) {
  const auto document = watch("devices=2");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  for (const char* gpu : {"0", "1"})
    for (const auto& [name, unit] : {std::pair{"sm_clock", "MHz"},
                                     {"memory_clock", "MHz"},
                                     {"power", "W"},
                                     {"gpu_temperature", "C"},
                                     {"memory_temperature", "C"},
                                     {"utilization", "1"},
                                     {"memory_used", "B"},
                                     {"processes", "1"},
                                     {"link_generation", "1"},
                                     {"ecc_corrected", "1"},
                                     {"ecc_uncorrected", "1"},
                                     {"pcie_replays", "1"},
                                     {"clock_event_any", "1"}}) {
      const std::string key = std::string("series(") + gpu + "," + name + ")";
      const ProbeCall* call = document.find(key);
      EXPECT_TRUE(call != nullptr && call->ok()) << key;
      const Json& series = document.value(key);
      EXPECT_EQ(get_string(series, "name"), name) << gpu;
      EXPECT_EQ(get_string(series, "unit"), unit) << name;
      EXPECT_EQ(member(series, "t_ms").size(), member(series, "value").size()) << name;
      EXPECT_GE(member(series, "value").size(), 2u) << name;
    }
  EXPECT_EQ(get_double(document.value("series(0,power)"), "last"), 76.5);
  EXPECT_EQ(get_double(document.value("series(0,memory_temperature)"), "last"), 44);
  EXPECT_EQ(get_double(document.value("series(1,utilization)"), "mean"), 0.07);
  EXPECT_EQ(get_double(document.value("series(0,processes)"), "min"), 2);
  EXPECT_EQ(get_string(document.value("series(1,power)"), "pci"), "00000000:11:00.0");
  EXPECT_EQ(get_string(document.value("series(1,power)"), "uuid"),
            "GPU-fa4e0000-0000-0000-0000-000000000001");
}

TEST(NvmlSampler, GpusThatWereNotNamedAreNotTouched) {
  const auto document = watch("devices=2", milliseconds(450), "fake_nvml.so", {"0000:11:00.0"});
  EXPECT_EQ(document.find("nvmlDeviceGetCount_v2()"), nullptr) << "by index none is asked";
  EXPECT_TRUE(document.value("series(0000:11:00.0,power)").is_object());
  for (const auto& [key, call] : document.calls) EXPECT_EQ(key.find("(0"), key.find("(0000:11"));
}

TEST(NvmlSampler, ALostGpuEndsListeningToItAlone) {
  const auto document = watch("devices=2;wait_lost=1;xid=79", milliseconds(700));
  bool heard = false;
  for (const auto& [key, call] : document.calls)
    if (get_uint(call.value, "xid") == 79u) heard = true;
  EXPECT_TRUE(heard) << "GPU 0 told it after GPU 1 was lost";
}

TEST(NvmlSampler, FollowsWhatChanges) {
  const auto document = watch("ramp=1", milliseconds(700));
  const Json& power = document.value("series(0,power)");
  const auto taken = get_uint(power, "taken");
  ASSERT_TRUE(taken);
  EXPECT_GE(*taken, 4u);
  EXPECT_EQ(get_double(power, "min"), 76.5);
  EXPECT_EQ(get_double(power, "max"), 76.5 + static_cast<double>(*taken - 1));
  EXPECT_EQ(get_double(document.value("series(0,sm_clock)"), "last"),
            345 + static_cast<double>(*taken - 1));
}

TEST(NvmlSampler, PowerOfNowComesBeforeTheMeanOfTheLastSecond) {
  const auto document = watch("power_now=123400");
  EXPECT_EQ(get_double(document.value("series(0,power)"), "last"), 123.4);
}

TEST(NvmlSampler, ClockEventIsAShareOfTheTimeAndIdleIsNone) {
  const auto held = watch("reasons=68");  // SW power cap and HW thermal slowdown
  EXPECT_EQ(get_double(held.value("series(0,clock_event_sw_power_cap)"), "mean"), 1);
  EXPECT_EQ(get_double(held.value("series(0,clock_event_hw_thermal_slowdown)"), "mean"), 1);
  EXPECT_EQ(held.find("series(0,clock_event_hw_slowdown)"), nullptr);
  const auto idle = watch("reasons=1");
  EXPECT_EQ(get_double(idle.value("series(0,clock_event_any)"), "max"), 0);
  EXPECT_EQ(idle.find("series(0,clock_event_sw_power_cap)"), nullptr);
}

TEST(NvmlSampler, CounterThatMayNotBeReadIsToldOnceAndCostsNothingElse) {
  const auto document = watch("nvmlDeviceGetTotalEccErrors=4");
  const ProbeCall* refused = document.find("nvmlDeviceGetTotalEccErrors(0,corrected,volatile)");
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, 4);
  EXPECT_EQ(document.find("series(0,ecc_corrected)"), nullptr);
  EXPECT_NE(document.find("series(0,power)"), nullptr);
}

TEST(NvmlSampler, CallThatHangsTakesNeitherXidsNorWhatWasSampledBefore) {
  const auto document = watch("hang=nvmlDeviceGetTotalEccErrors;xid=79");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(get_uint(document.value("nvmlEventSetWait_v2(0)"), "xid"), 79u);
  EXPECT_TRUE(get_double(document.value("nvmlEventSetWait_v2(0)"), "at_ms"));
  EXPECT_EQ(get_double(document.value("series(0,sm_clock)"), "last"), 345);
}

TEST(NvmlSampler, EventsThatHangOrAreRefusedTakeNoSamples) {
  for (const char* setting :
       {"hang=nvmlEventSetWait_v2", "nvmlEventSetCreate=3", "nvmlEventSetWait_v2=15"}) {
    const auto document = watch(setting, milliseconds(220));
    EXPECT_NE(document.find("series(0,power)"), nullptr) << setting;
  }
}

TEST(NvmlSampler, NvmlThatHangsAtItsStartIsStopped) {
  const auto document = watch("hang=nvmlInit_v2");
  EXPECT_EQ(document.find("series(0,power)"), nullptr);
  EXPECT_EQ(document.find("nvmlInit_v2()"), nullptr);
}

TEST(NvmlSampler, LostGpuIsAskedNoMoreAndTheOthersAre) {
  const auto document = watch("devices=2;lost=0", milliseconds(700));
  EXPECT_EQ(document.find("series(0,power)"), nullptr);
  EXPECT_NE(document.find("series(1,power)"), nullptr);
  ASSERT_NE(document.find("nvmlDeviceGetPowerUsage(0)"), nullptr);
  EXPECT_EQ(document.find("nvmlDeviceGetPowerUsage(0)")->code, 15);
}

TEST(NvmlSampler, WithoutNvmlItEndsUnaskedAndSaysSo) {
  bool ended_unasked = false;
  const auto document = watch("", milliseconds(60'000), "no_such_library.so", {}, &ended_unasked);
  EXPECT_TRUE(ended_unasked);
  EXPECT_EQ(document.outcome, ProbeOutcome::no_library);
}

TEST(XidListener, GivesWhatWasHeardAndSampled) {
  setenv("GPUREADY_HELPER", testing::fake_driver_path("probe_helper").c_str(), 1);
  setenv("GPUREADY_LIBNVML", testing::fake_driver_path("fake_nvml.so").c_str(), 1);
  setenv("FAKE_NVML", "xid=31", 1);
  XidListener listener;
  std::this_thread::sleep_for(milliseconds(400));
  const auto document = listener.stop();
  unsetenv("GPUREADY_HELPER");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(get_uint(document.value("nvmlEventSetWait_v2(0)"), "xid"), 31u);
  EXPECT_GE(get_uint(document.value("series(0,power)"), "taken").value_or(0), 2u);
}

// Closing the driver comes after the last line.
TEST(XidListener, DoesNotWaitForTheEndOfTheDriver) {
  char folder[] = "/tmp/gpuready-listener-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string helper = std::string(folder) + "/helper", closed = helper + ".closed";
  std::ofstream(helper) << "#!/bin/sh\ntrap 'echo \"{\\\"end\\\":true}\" >&3; sleep 2; : >"
                        << closed << "; exit' TERM\n: >" << helper
                        << ".begun\nwhile :; do sleep 0.05; done\n";
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  setenv("GPUREADY_HELPER", helper.c_str(), 1);
  XidListener listener;
  for (int i = 0; i < 6000 && !std::filesystem::exists(helper + ".begun"); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(listener.stop().outcome, ProbeOutcome::completed);
  EXPECT_FALSE(std::filesystem::exists(closed));
  unsetenv("GPUREADY_HELPER");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gpuready
