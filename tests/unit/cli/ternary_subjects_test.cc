#include "ternary/cli/ternary_subjects.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "host/probe_document.h"
#include "machine/gpu_choice.h"

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

TEST(TernarySubjects, InTheChildOnlyItsGpusAreUsed) {
  TernarySubjects subjects;
  subjects.device_names = {"cuda:GPU-1", "vulkan"};  // the parent has looked them up
  subjects.in_process = true;
  ASSERT_TRUE(check(subjects));
  EXPECT_FALSE(subjects.cpu);
  EXPECT_TRUE(subjects.gpus);
  ASSERT_EQ(subjects.targets.size(), 2u);
  EXPECT_EQ(to_string(subjects.targets[0]), "cuda:GPU-1");
  TernarySubjects all;
  all.in_process = true;
  ASSERT_TRUE(check(all));
  EXPECT_FALSE(all.cpu) << "the parent does the CPU's";
  EXPECT_TRUE(all.gpus);
}

std::string names_of(const TernarySubjects& chosen) {
  std::string names;
  for (const auto& subject : subjects_here(chosen))
    names += subject.name + (subject.asked ? "! " : " ");
  return names;
}

TEST(TernarySubjects, OfTheCpuAllTiersOrThoseThatAreNamed) {
  TernarySubjects subjects;
  std::string all;
  for (const auto& subject : ternary::cpu_subjects()) all += subject.name + " ";
  EXPECT_EQ(names_of(subjects), all);
  subjects.tiers = {ternary::Tier::avx2, ternary::Tier::scalar};
  EXPECT_EQ(names_of(subjects), "cpu/scalar! cpu/avx2! ") << "in the order of the tiers";
  subjects.cpu = false;
  EXPECT_EQ(names_of(subjects), "");
}

TEST(TernarySubjects, OfTheChildAreItsTargets) {
  TernarySubjects subjects;
  subjects.in_process = true;
  subjects.cpu = false;
  subjects.targets = {{ternary::TargetKind::cuda, "GPU-absent"}};
  const auto here = subjects_here(subjects);
  ASSERT_EQ(here.size(), 1u);
  EXPECT_EQ(here[0].name, "cuda:GPU-absent");
}

TEST(TernarySubjects, GpusWithoutAReportAreLostForAReason) {
  struct Row {
    GpuOutcome outcome;
    ternary::CheckStatus status;
    std::string reason;
  };
  const Json none;
  for (const auto& [outcome, status, reason] : std::initializer_list<Row>{
           {{{}, false, true, "it died"}, ternary::CheckStatus::failed, "it died"},
           {{{}, true, false, "300 s"}, ternary::CheckStatus::timed_out, "300 s"},
           {{{}, true, true, "both"}, ternary::CheckStatus::failed, "both"},
           {{{}, false, false, "no start"}, ternary::CheckStatus::not_tested, "no start"},
           {{none, false, false, ""},
            ternary::CheckStatus::not_tested,
            "the process for the GPUs wrote no report of its own"}})
    for (const bool asked : {false, true}) {
      const auto lost = lost_gpu(outcome, asked);
      EXPECT_EQ(lost.name, "gpu");
      EXPECT_EQ(lost.device, "");
      EXPECT_EQ(lost.status, status) << reason;
      EXPECT_EQ(lost.reason, reason);
      EXPECT_EQ(lost.asked, asked);
    }
}

class TernaryTargets : public testing::Test {
 protected:
  TernaryTargets() {
    auto& nvidia = machine_.gpus.emplace_back();
    nvidia.index = 0;
    nvidia.vendor = Vendor::nvidia;
    nvidia.name = "NVIDIA A10";
    nvidia.pci = *parse_pci_address("17:00.0");
    nvidia.uuid = "GPU-11111111-0000-0000-0000-000000000000";
    nvidia.cuda_ordinal = 0;
    auto& amd = machine_.gpus.emplace_back();
    amd.index = 1;
    amd.vendor = Vendor::amd;
    amd.name = "Radeon";
    amd.pci = *parse_pci_address("18:00.0");
    machine_.vulkan.outcome = to_string(ProbeOutcome::completed);
  }
  void add_vulkan(const char* uuid, const char* address) {
    auto& device = machine_.vulkan.devices.emplace_back();
    if (uuid != nullptr) device.uuid = uuid;
    if (address != nullptr) device.pci = *parse_pci_address(address);
  }
  std::string on(const std::string& word) const {
    const auto targets = targets_on(machine_, word);
    if (!targets) return "error: " + targets.error().message;
    std::string all;
    for (const auto& target : *targets) all += to_string(target) + " ";
    return all;
  }
  std::string unknown(const std::string& word) const {
    return "error: " + gpus_named(machine_, "--device", word).error().message;
  }
  Machine machine_;
};

TEST_F(TernaryTargets, AreGpusByAnyOfTheirNames) {
  for (const char* word : {"0000:17:00.0", "17:00.0", "GPU-11111111-0000-0000-0000-000000000000"})
    EXPECT_EQ(on(word), "cuda:GPU-11111111-0000-0000-0000-000000000000 ") << word;
  EXPECT_EQ(on("18:00.0"), "error: --device 18:00.0: neither CUDA nor Vulkan has Radeon");
  add_vulkan("22222222-0000-0000-0000-000000000000", "18:00.0");
  EXPECT_EQ(on("18:00.0"), "vulkan:22222222-0000-0000-0000-000000000000 ");
  machine_.gpus[0].uuid.reset();
  EXPECT_EQ(on("17:00.0"), "error: --device 17:00.0: neither CUDA nor Vulkan has NVIDIA A10");
}

TEST_F(TernaryTargets, OfCudaMayExistWhereItDidNotAnswer) {
  EXPECT_EQ(on("cuda:GPU-9"), unknown("cuda:GPU-9")) << "CUDA answered";
  machine_.gpus[0].cuda_ordinal.reset();
  EXPECT_EQ(on("cuda:GPU-9"), "cuda:GPU-9 ");
  machine_.gpus.erase(machine_.gpus.begin());
  EXPECT_EQ(on("cuda:GPU-9"), unknown("cuda:GPU-9")) << "without a GPU of NVIDIA";
}

TEST_F(TernaryTargets, OfVulkanMayExistWhereItDidNotAnswer) {
  EXPECT_EQ(on("vulkan:7"), unknown("vulkan:7")) << "Vulkan answered";
  machine_.vulkan.outcome = to_string(ProbeOutcome::no_library);
  EXPECT_EQ(on("vulkan:7"), unknown("vulkan:7")) << "without Vulkan";
  machine_.vulkan.outcome = to_string(ProbeOutcome::timed_out);
  EXPECT_EQ(on("vulkan:7"), "vulkan:7 ");
}

TEST_F(TernaryTargets, OfVulkanAreNumberedAndHaveUuids) {
  add_vulkan("aaaaaaaa-0000-0000-0000-00000000000b", nullptr);
  add_vulkan(nullptr, nullptr);
  EXPECT_EQ(on("vulkan:0"), "vulkan:0 ");
  EXPECT_EQ(on("vulkan:1"), "vulkan:1 ");
  EXPECT_EQ(on("vulkan:2"), unknown("vulkan:2"));
  EXPECT_EQ(on("vulkan:AAAAAAAA-0000-0000-0000-00000000000B"),
            "vulkan:AAAAAAAA-0000-0000-0000-00000000000B ");
  EXPECT_EQ(on("cuda:1"), unknown("cuda:1")) << "the numbers are Vulkan's";
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
