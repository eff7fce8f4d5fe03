#include "ternary/cli/ternary_subjects.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gpuready::cli {
namespace {

TEST(TernarySubjects, WhatIsNamedIsUsedAndElseAll) {
  struct Row {
    std::vector<std::string> devices, tiers;
    bool cpu, gpus;
    std::size_t targets;
  };
  for (const auto& [devices, tiers, cpu, gpus, targets] :
       std::initializer_list<Row>{{{}, {}, true, true, 0},
                                  {{"cpu"}, {}, true, false, 0},
                                  {{"cuda"}, {}, false, true, 1},
                                  {{"cuda", "vulkan"}, {}, false, true, 2},
                                  {{"cpu", "cuda"}, {}, true, true, 1},
                                  {{}, {"scalar"}, true, false, 0},
                                  {{"cuda"}, {"scalar"}, true, true, 1}}) {
    TernarySubjects subjects;
    subjects.device_names = devices;
    subjects.tier_names = tiers;
    ASSERT_TRUE(check(subjects));
    EXPECT_EQ(subjects.cpu, cpu) << testing::PrintToString(devices);
    EXPECT_EQ(subjects.gpus, gpus) << testing::PrintToString(devices);
    EXPECT_EQ(subjects.targets.size(), targets) << testing::PrintToString(devices);
    EXPECT_EQ(subjects.tiers.size(), tiers.size());
  }
}

class GpuChildren : public testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv("GPUREADY_HELPER");
    std::filesystem::remove_all(folder_);
  }
  GpuOutcome outcome_of(const std::string& script, const TernarySubjects& subjects = {}) {
    std::ofstream(helper()) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(helper(), std::filesystem::perms::owner_all);
    return outcome(subjects);
  }
  GpuOutcome outcome(const TernarySubjects& subjects) {
    ::setenv("GPUREADY_HELPER", helper().c_str(), 1);
    return GpuChild("verify", subjects, {"--seed", "5"}).finish();
  }
  std::string helper() const { return folder_ + "/helper"; }

 private:
  std::string template_ = (std::filesystem::temp_directory_path() / "gpu-childXXXXXX").string();
  std::string folder_ = ::mkdtemp(template_.data());
};

TEST_F(GpuChildren, AreAskedForADocument) {
  TernarySubjects subjects;
  subjects.device_names = {"vulkan", "cuda"};
  ASSERT_TRUE(check(subjects));
  const GpuOutcome done = outcome_of(R"(echo "[\"$*\"]")", subjects);
  ASSERT_TRUE(done.document) << done.reason;
  EXPECT_EQ(done.document->at(0),
            "ternary verify --in-process --json - --device vulkan --device cuda --seed 5");
  EXPECT_FALSE(done.timed_out || done.crashed);
  EXPECT_EQ(done.reason, "");
}

TEST_F(GpuChildren, ThatWriteNoDocumentSayWhy) {
  const GpuOutcome ended = outcome_of("echo oops\necho 'no device' >&2\nexit 3");
  EXPECT_EQ(ended.reason, "the process that used the GPUs ended with code 3: no device");
  EXPECT_FALSE(ended.document || ended.timed_out || ended.crashed);
}

TEST_F(GpuChildren, ThatDieHaveCrashed) {
  const GpuOutcome died = outcome_of("kill -SEGV $$");
  EXPECT_EQ(died.reason, "the process that used the GPUs was ended by Segmentation fault");
  EXPECT_TRUE(died.crashed);
  EXPECT_FALSE(died.document || died.timed_out);
}

TEST_F(GpuChildren, ThatDoNotAnswerAreEndedAtTheirLimit) {
  TernarySubjects subjects;
  subjects.timeout_s = 0.25;
  const GpuOutcome silent = outcome_of("exec sleep 60", subjects);
  EXPECT_EQ(silent.reason, "the GPUs did not answer within 0.25 s");
  EXPECT_TRUE(silent.timed_out);
  EXPECT_FALSE(silent.document || silent.crashed);
}

TEST_F(GpuChildren, ThatDoNotStartAreNoCrash) {
  const GpuOutcome absent = outcome({});
  EXPECT_TRUE(absent.reason.starts_with("the process for the GPUs does not start: "))
      << absent.reason;
  EXPECT_FALSE(absent.document || absent.timed_out || absent.crashed);
}

}  // namespace
}  // namespace gpuready::cli
