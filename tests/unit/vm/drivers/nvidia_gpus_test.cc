#include "vm/drivers/nvidia_gpus.h"

#include <gtest/gtest.h>

#include <map>

#include "machine/pci_ids.h"
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

TEST(NvidiaGpus, EveryListedGpuHasAnAnswerForEveryBranch) {
  for (const auto& gpu : known_gpus())
    for (const auto& branch : driver_branches()) {
      const auto support =
          gpu_support(std::to_string(branch.branch) + ".999.99", pci_vendor::kNvidia, gpu.device);
      EXPECT_TRUE(support.served) << support.explanation;
      EXPECT_TRUE(support.architecture) << support.explanation;
    }
}

}  // namespace
}  // namespace gpuready::vm
