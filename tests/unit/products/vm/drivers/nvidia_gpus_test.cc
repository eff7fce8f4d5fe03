#include "vm/drivers/nvidia_gpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "machine/nvidia/architectures.h"
#include "machine/pci/pci_ids.h"
#include "value/vendors.h"
#include "vm/drivers/catalogue.h"

namespace gpuready::vm {
namespace {

TEST(NvidiaGpus, AreSortedNamedAndOfAnArchitecture) {
  int last = -1;
  for (const auto& gpu : known_gpus()) {
    EXPECT_GT(gpu.device, last);
    last = gpu.device;
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_FALSE(architecture_of_id(gpu.device).empty()) << std::hex << gpu.device;
    for (const auto word : split(gpu.drivers, " "))
      EXPECT_TRUE(parse_version(word.substr(word.starts_with('-') ? 1 : 0))) << word;
    EXPECT_NE(first_driver(gpu).front(), '-');
    EXPECT_EQ(find_known_gpu(gpu.device), &gpu);
  }
  EXPECT_EQ(find_known_gpu(0x0001), nullptr);
  EXPECT_EQ(find_known_gpu(0xffff), nullptr);
}

// The chips that the PCI ID Repository names stand in the ranges of their architecture.
TEST(NvidiaGpus, RangesOfIdsAreThoseOfTheChips) {
  const std::map<std::string, std::string_view> chips = {
      {"GK", "Kepler"}, {"GM", "Maxwell"}, {"GP", "Pascal"},       {"GV", "Volta"},
      {"TU", "Turing"}, {"GA", "Ampere"},  {"AD", "Ada Lovelace"}, {"GH", "Hopper"}};
  int compared = 0;
  for (int id = 0; id <= 0xffff; ++id) {
    const auto device = static_cast<std::uint16_t>(id);
    const auto name = pci_device_name(pci_vendor::kNvidia, device);
    if (!name || name->size() < 3 || name->at(2) < '0' || name->at(2) > '9') continue;
    const auto chip = chips.find(std::string(name->substr(0, 2)));
    if (chip == chips.end() || architecture_of_id(device).empty()) continue;
    EXPECT_EQ(architecture_of_id(device), chip->second) << std::hex << id << " " << *name;
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST(NvidiaGpus, AreCalledAsInThePciIdRepositoryElseAsInNvidiasLists) {
  int by_lists = 0;
  for (const auto& gpu : known_gpus()) {
    const auto repository = pci_device_name(pci_vendor::kNvidia, gpu.device);
    EXPECT_EQ(nvidia_name(pci_vendor::kNvidia, gpu.device), repository.value_or(gpu.name));
    by_lists += !repository;
    EXPECT_EQ(nvidia_name(0x0001, gpu.device), std::nullopt);
  }
  EXPECT_GT(by_lists, 0);
  EXPECT_EQ(nvidia_name(pci_vendor::kNvidia, 0xffff), std::nullopt);
  const auto support = gpu_support("580.65.06", pci_vendor::kNvidia, 0x20b5);
  EXPECT_EQ(support.gpu, "10de:20b5 (GA100 [A100 PCIe 80GB])");
}

// "550.40.65 555.42.06": from the first release on, and of branch 555 from the second on.
TEST(NvidiaGpus, TheListsOf525To595SayWhichReleasesNameAGpu) {
  constexpr std::optional<bool> kUnknown;
  const std::pair<const char*, std::optional<bool>> releases[] = {
      {"524.99", kUnknown}, {"525.60.11", false}, {"550.40.64", false},
      {"550.40.65", true},  {"555.42.05", false}, {"555.42.06", true},
      {"595.45.04", true},  {"599.99", true},     {"600.10", kUnknown}};
  for (const auto& [driver, listed] : releases)
    EXPECT_EQ(is_listed({.device = 0, .name = "", .drivers = "550.40.65 555.42.06"},
                        *parse_version(driver)),
              listed)
        << driver;
  const KnownGpu left_out{.device = 0, .name = "", .drivers = "570.207 -575 580.94.10"};
  EXPECT_EQ(is_listed(left_out, *parse_version("570.207")), true);
  EXPECT_EQ(is_listed(left_out, *parse_version("575.64")), false);
  EXPECT_EQ(is_listed(left_out, *parse_version("580.94.09")), false);
  EXPECT_EQ(is_listed(left_out, *parse_version("580.94.10")), true);
}

// The lists are of the open modules: what they leave out is no proof against the proprietary ones.
TEST(NvidiaGpus, AListedGpuIsNeverRefusedForWhatTheListsLeaveOut) {
  for (const auto& gpu : known_gpus())
    for (const auto& branch : driver_branches()) {
      const auto version = std::to_string(branch.branch) + ".999.99";
      const auto support = gpu_support(version, pci_vendor::kNvidia, gpu.device);
      ASSERT_TRUE(support.architecture) << support.explanation;
      EXPECT_FALSE(support.explanation.empty());
      const auto architecture = std::ranges::find(architecture_support(), *support.architecture,
                                                  &ArchitectureSupport::architecture);
      if (architecture->unlisted == Unlisted::not_served) {
        EXPECT_TRUE(support.served) << support.explanation;
      } else if (branch.branch >= architecture->first_branch) {
        EXPECT_TRUE(support.served.value_or(true)) << support.explanation;
        EXPECT_TRUE(support.served || architecture->unlisted == Unlisted::not_known);
      }
    }
}

TEST(NvidiaGpus, TuringIsServedByEveryBranchSince450) {
  for (const std::uint16_t device : {0x1eb8, 0x1e09, 0x1f0b, 0x2189})
    for (const char* driver : {"450.80.02", "470.256.02", "515.48.07", "525.60.13", "535.104.05",
                               "550.163.01", "565.57.01", "580.65.06", "610.10"})
      EXPECT_EQ(gpu_support(driver, pci_vendor::kNvidia, device).served, true)
          << std::hex << device << " " << driver;
}

TEST(NvidiaGpus, WhatTheListsLeaveOutOfHopperIsNotKnownAndOfBlackwellIsNo) {
  const auto hopper = gpu_support("535.261.03", pci_vendor::kNvidia, 0x2335);
  EXPECT_EQ(hopper.served, std::nullopt);
  EXPECT_NE(hopper.explanation.find("name it from 550.40.65 on"), std::string::npos);
  EXPECT_EQ(gpu_support("550.163.01", pci_vendor::kNvidia, 0x2335).served, true);
  EXPECT_EQ(gpu_support("470.256.02", pci_vendor::kNvidia, 0x2335).served, false);
  EXPECT_EQ(gpu_support("580.65.06", pci_vendor::kNvidia, 0x3182).served, false);
  EXPECT_EQ(gpu_support("580.105.08", pci_vendor::kNvidia, 0x3182).served, true);
}

TEST(NvidiaGpus, ACapabilityIsServedFromTheFirstBranchOfItsArchitectureToTheLast) {
  NvidiaArchitecture fermi = *find_nvidia_architecture("9.0");
  fermi.major = 2, fermi.minor = 0, fermi.name = "Fermi";
  struct Row {
    const char* driver;
    NvidiaArchitecture of;
    std::optional<std::string> architecture;
    std::optional<bool> served;
    std::string explanation;
  };
  const auto hopper = *find_nvidia_architecture("9.0"), volta = *find_nvidia_architecture("7.0");
  for (const auto& [driver, of, architecture, served, explanation] : std::initializer_list<Row>{
           {"550.163.01", hopper, "Hopper", true,
            "Driver 550.163.01 serves capability 9.0 (Hopper)."},
           {"520.56.06", hopper, "Hopper", true,
            "Driver 520.56.06 serves capability 9.0 (Hopper)."},
           {"515.48.07", hopper, "Hopper", false,
            "Driver 515.48.07 is too old for capability 9.0 (Hopper): branch 520 is the first for "
            "Hopper."},
           {"580.65.06", volta, "Volta", true, "Driver 580.65.06 serves capability 7.0 (Volta)."},
           {"590.44.01", volta, "Volta", false,
            "Driver 590.44.01 no longer serves capability 7.0 (Volta): branch 580 is the last for "
            "Volta."},
           {"550.163.01",
            fermi,
            {},
            {},
            "Whether driver 550.163.01 serves capability 2.0 (Fermi) is not known: the GPU is not "
            "in the catalogue."},
           {"390.157",
            hopper,
            "Hopper",
            {},
            "Whether driver 390.157 serves capability 9.0 (Hopper) is not known: the driver's "
            "branch is not in the catalogue."},
           {"614.10", hopper, "Hopper", true, "Driver 614.10 serves capability 9.0 (Hopper)."},
           {"615.10",
            hopper,
            "Hopper",
            {},
            "Whether driver 615.10 serves capability 9.0 (Hopper) is not known: the driver's "
            "branch is not in the catalogue."},
           {"new",
            hopper,
            "Hopper",
            {},
            "Whether driver new serves capability 9.0 (Hopper) is not known: the driver's branch "
            "is not in the catalogue."}}) {
    const auto support = capability_support(driver, of);
    EXPECT_EQ(support.gpu, fmt::format("capability {}.{} ({})", of.major, of.minor, of.name));
    EXPECT_EQ(support.architecture, architecture) << explanation;
    EXPECT_EQ(support.served, served) << explanation;
    EXPECT_EQ(support.explanation, explanation);
  }
}

}  // namespace
}  // namespace gpuready::vm
