#include "machine/live_machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gpuready/gpu_info.h"
#include "host/recording/recording.h"
#include "machine/inspect.h"

namespace gpuready {
namespace {

namespace fs = std::filesystem;

Machine recorded(const fs::path& folder, bool full) {
  auto file = folder / "machine.json";
  if (!fs::exists(file))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().string().ends_with(".tar.zst")) file = entry.path();
  if (!fs::exists(file)) file = folder;
  auto recording = load_recording(file);
  EXPECT_TRUE(recording) << file;
  const auto host = make_recorded_host(std::move(*recording));
  return inspect(*host, {.libraries = full, .full = full});
}

// Where files decide, the drivers agree; only a driver that refuses to start may know better.
TEST(AvailabilityByFiles, AgreesWithTheDriversOnEveryMachine) {
  int decided = 0;
  for (const auto& entry :
       fs::directory_iterator(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().filename());
    const auto answer = availability_by_files(recorded(entry.path(), false));
    if (answer == FilesSay::nothing) continue;
    ++decided;
    const auto machine = recorded(entry.path(), true);
    const bool available = gpu_info_of(machine).any_available();
    if (answer == FilesSay::no) {
      EXPECT_FALSE(available);
    } else {
      const auto& driver = machine.nvidia;
      const bool refused = (driver.cuda_start && !driver.cuda_start->ok()) ||
                           driver.cuda_stopped_in || driver.cuda_device_count == 0;
      EXPECT_TRUE(available || refused);
    }
  }
  EXPECT_GT(decided, 20);
}

FilesSay by_files(const std::string& machine) {
  return availability_by_files(
      recorded(std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" + machine, false));
}

TEST(AvailabilityByFiles, KnowsTheCommonMachines) {
  for (const char* ready : {"base-h200-vm", "base-hgx-h100x8", "healthy-container-2-of-8"})
    EXPECT_EQ(by_files(ready), FilesSay::yes) << ready;
  for (const char* none : {"no-gpu", "real-no-gpu"})
    EXPECT_EQ(by_files(none), FilesSay::no) << none;
}

TEST(AvailabilityByFiles, LeavesDoubtsToTheDrivers) {
  for (const char* doubt :
       {"driver-library-mismatch", "device-node-permission", "hidden-by-variable", "gpu-excluded",
        "suspended-gpu", "healthy-wsl2", "healthy-jetson", "healthy-intel-arc", "stub-library"})
    EXPECT_EQ(by_files(doubt), FilesSay::nothing) << doubt;
}

// A helper that notes each probe that it is asked for, and answers nothing.
class LiveMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("GPUREADY_FAKE");
    unsetenv("BITNET_GPU_FAKE");
    folder_ = fs::path(GPUREADY_BINARY_DIR) / ("live-machine-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    const auto helper = folder_ / "helper";
    std::ofstream(helper) << "#!/bin/sh\necho \"$@\" >>'" << (folder_ / "asked").string() << "'\n";
    chmod(helper.c_str(), 0755);
    setenv("GPUREADY_HELPER", helper.c_str(), 1);
    refresh();
  }
  void TearDown() override {
    for (const char* name : {"GPUREADY_HELPER", "GPUREADY_FAKE", "GPUREADY_STRICT"}) unsetenv(name);
    refresh();
    fs::remove_all(folder_);
  }
  int vulkan_probes() const {
    std::ifstream asked(folder_ / "asked");
    int count = 0;
    for (std::string line; std::getline(asked, line);)
      if (line.find("vulkan") != line.npos) ++count;
    return count;
  }

  fs::path folder_;
};

TEST_F(LiveMachine, IsInspectedOnceUntilItIsRefreshed) {
  const auto first = inspect_machine();
  ASSERT_TRUE(first);
  EXPECT_EQ(vulkan_probes(), 1);
  EXPECT_EQ(inspect_machine()->get(), first->get());
  static_cast<void>(preflight_check());
  static_cast<void>(list_cuda_devices());
  gpu_available();
  EXPECT_EQ(vulkan_probes(), 1);
  refresh();
  static_cast<void>(get_gpu_info());
  EXPECT_EQ(vulkan_probes(), 2);
  EXPECT_EQ((*first)->source, "live") << "what was given out outlives a refresh";
}

TEST_F(LiveMachine, AvailabilityStartsNoDriverWhereFilesDecide) {
  const auto host = make_live_host();
  const auto files = availability_by_files(inspect(*host, {.libraries = false}));
  if (files == FilesSay::nothing) GTEST_SKIP() << "this machine's files do not decide";
  EXPECT_EQ(gpu_available(), files == FilesSay::yes);
  EXPECT_EQ(gpu_available(), files == FilesSay::yes);
  EXPECT_EQ(vulkan_probes(), 0);
}

TEST_F(LiveMachine, FakesAreReadAnewByEveryCall) {
  setenv("GPUREADY_FAKE", "none", 1);
  EXPECT_FALSE(gpu_available());
  setenv("GPUREADY_FAKE", "rocm", 1);
  EXPECT_TRUE(gpu_available());
  EXPECT_EQ(get_gpu_info().summary(), "Available GPU backends: ROCm, WebGPU (faked)");
  setenv("GPUREADY_FAKE", "tpu", 1);
  EXPECT_FALSE(gpu_available());
  EXPECT_EQ(try_get_gpu_info().error().kind, ErrorKind::bad_input);
  setenv("GPUREADY_FAKE", "cuda", 1);
  setenv("GPUREADY_STRICT", "1", 1);
  EXPECT_FALSE(gpu_available());
  EXPECT_EQ(preflight_check().error().kind, ErrorKind::bad_input);
  EXPECT_EQ(vulkan_probes(), 0) << "a fake starts nothing";
}

TEST_F(LiveMachine, AForkedChildInspectsForItself) {
  ASSERT_TRUE(inspect_machine());
  const pid_t child = fork();
  if (child == 0) _exit(inspect_machine() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(vulkan_probes(), 2);
}

}  // namespace
}  // namespace gpuready
