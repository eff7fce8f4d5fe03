#include <gtest/gtest.h>

#include "../../fake_drivers/ask_fake.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;
using testing::ask_fake_nvml;

TEST(NvmlProbe, TellsLibraryAndDriver) {
  const auto document = ask_fake_nvml("devices=1");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_EQ(document.library_name, "libnvidia-ml.so.1");
  EXPECT_EQ(document.library_real_path, testing::fake_driver_path("fake_nvml.so"));
  EXPECT_EQ(document.text("nvmlSystemGetDriverVersion()"), "580.159.04");
  EXPECT_EQ(document.integer("nvmlSystemGetCudaDriverVersion_v2()"), 13000);
}

TEST(NvmlProbe, TimesEveryCall) {
  const auto document = ask_fake_nvml("devices=1", {"--full"});
  for (const auto& [key, call] : document.calls)
    EXPECT_TRUE(call.missing || call.us.has_value()) << key;
}

TEST(NvmlProbe, AbsentLibraryQuotesTheLoader) {
  const auto document = ask_fake_nvml("", {}, milliseconds(20'000), "no_such_library.so");
  EXPECT_EQ(document.outcome, ProbeOutcome::no_library);
  EXPECT_NE(document.library_error.find("no_such_library.so"), std::string::npos);
}

TEST(NvmlProbe, StopsWhenStartingFails) {
  const auto document = ask_fake_nvml("nvmlInit_v2=18");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  ASSERT_NE(document.find("nvmlInit_v2()"), nullptr);
  EXPECT_EQ(document.find("nvmlInit_v2()")->code, 18);
  EXPECT_EQ(document.find("nvmlDeviceGetCount_v2()"), nullptr);
}

TEST(NvmlProbe, HangNamesItsCall) {
  const auto document = ask_fake_nvml("hang=nvmlInit_v2", {}, milliseconds(400));
  EXPECT_EQ(document.outcome, ProbeOutcome::timed_out);
  EXPECT_EQ(document.stopped_in, "nvmlInit_v2()");
}

TEST(NvmlProbe, CrashNamesItsCallAndKeepsWhatCameBefore) {
  const auto document = ask_fake_nvml("crash=nvmlDeviceGetUUID");
  EXPECT_EQ(document.outcome, ProbeOutcome::crashed);
  EXPECT_EQ(document.stopped_in, "nvmlDeviceGetUUID(0)");
  EXPECT_EQ(document.text("nvmlDeviceGetName(0)"), "NVIDIA H200");
}

TEST(NvmlProbe, OneBadHandleDoesNotHideTheOthers) {
  const auto document = ask_fake_nvml("devices=3;nvmlDeviceGetHandleByIndex_v2@1=15");
  EXPECT_EQ(document.find("nvmlDeviceGetHandleByIndex_v2(1)")->code, 15);
  EXPECT_TRUE(document.text("nvmlDeviceGetName(0)"));
  EXPECT_FALSE(document.text("nvmlDeviceGetName(1)"));
  EXPECT_TRUE(document.text("nvmlDeviceGetName(2)"));
}

TEST(NvmlProbe, OldDriverIsAskedByOldSymbols) {
  const auto document = ask_fake_nvml("devices=1;driver=440.33", {"--full"}, milliseconds(20'000),
                                      "fake_nvml_old.so");
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  EXPECT_TRUE(document.find("nvmlInit_v2()")->missing);
  EXPECT_TRUE(document.find("nvmlInit()")->ok());
  EXPECT_TRUE(document.find("nvmlDeviceGetMemoryInfo_v2(0)")->missing);
  EXPECT_EQ(get_uint(document.value("nvmlDeviceGetMemoryInfo(0)"), "total"), 150754820096u);
  EXPECT_EQ(document.integer("nvmlDeviceGetTemperature(0)"), 31);
  EXPECT_EQ(get_uint(document.value("nvmlDeviceGetComputeRunningProcesses(0)").at(0), "pid"), 41u);
}

TEST(NvmlProbe, UnknownStructureVersionFallsBack) {
  const auto document = ask_fake_nvml("devices=1", {"--full"});
  EXPECT_EQ(document.find("nvmlDeviceGetGpuFabricInfoV(0,v3)")->code, 25);
  EXPECT_EQ(get_int(document.value("nvmlDeviceGetGpuFabricInfoV(0,v2)"), "clique_id"), 4);
}

TEST(NvmlProbe, ByAddressNothingIsAskedByIndex) {
  const auto document =
      ask_fake_nvml("devices=4", {"--only", "0000:12:00.0", "--only", "0000:13:00.0"});
  EXPECT_EQ(document.integer("nvmlDeviceGetIndex(0000:12:00.0)"), 2);
  EXPECT_TRUE(document.text("nvmlDeviceGetName(0000:13:00.0)"));
  for (const auto& [key, call] : document.calls)
    EXPECT_EQ(key.find("ByIndex"), std::string::npos) << key;
  EXPECT_EQ(document.find("nvmlDeviceGetCount_v2()"), nullptr);
}

TEST(NvmlProbe, BasicLeavesOutWhatIsSlow) {
  const auto basic = ask_fake_nvml("devices=2;links=18");
  EXPECT_EQ(basic.find("nvmlDeviceGetNvLinkState(0,0)"), nullptr);
  EXPECT_EQ(basic.find("nvmlDeviceValidateInforom(0)"), nullptr);
  EXPECT_EQ(basic.find("nvmlDeviceGetP2PStatus(0,1,read)"), nullptr);
  const auto full = ask_fake_nvml("devices=2;links=18", {"--full"});
  EXPECT_NE(full.find("nvmlDeviceGetNvLinkState(1,17)"), nullptr);
  EXPECT_NE(full.find("nvmlDeviceValidateInforom(0)"), nullptr);
  EXPECT_NE(full.find("nvmlDeviceGetP2PStatus(0,1,read)"), nullptr);
}

TEST(NvmlProbe, ProcessEntriesOfRelease535AreReadInTheirSize) {
  for (const char* driver : {"535.86.10", "580.159.04"}) {
    const auto document = ask_fake_nvml(std::string("driver=") + driver, {"--full"});
    const Json& list = document.value("nvmlDeviceGetComputeRunningProcesses_v3(0)");
    ASSERT_EQ(list.size(), 2u) << driver;
    EXPECT_EQ(get_uint(list[1], "pid"), 501u) << driver;
    EXPECT_EQ(get_uint(list[0], "used_bytes"), 1048576u);
    EXPECT_FALSE(get_uint(list[1], "used_bytes"));  // told as "not available"
  }
}

TEST(NvmlProbe, GarbageFromTheLibraryIsBounded) {
  const auto document = ask_fake_nvml("garbage=1;nvmlDeviceGetHandleByIndex_v2=15", {"--full"});
  EXPECT_EQ(document.outcome, ProbeOutcome::completed);
  const auto one = ask_fake_nvml("garbage=1", {"--full", "--only", "0000:10:00.0"});
  EXPECT_EQ(one.outcome, ProbeOutcome::completed);
  EXPECT_EQ(one.text("nvmlDeviceGetName(0000:10:00.0)")->size(), 255u);
  EXPECT_LE(one.value("nvmlDeviceGetComputeRunningProcesses_v3(0000:10:00.0)").size(), 256u);
}

TEST(NvmlProbe, UnknownProbeIsRefused) {
  EXPECT_EQ(testing::ask_fake("teleport", {}).outcome, ProbeOutcome::failed_to_start);
}

}  // namespace
}  // namespace gpuready
