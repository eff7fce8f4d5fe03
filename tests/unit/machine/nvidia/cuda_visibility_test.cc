#include "machine/nvidia/cuda_visibility.h"

#include <gtest/gtest.h>

#include "machine/sources.h"

namespace gpuready {
namespace {

const std::vector<CudaCandidate> kThree{
    {.uuid = "GPU-aa11"}, {.uuid = "GPU-aa22"}, {.uuid = "GPU-bb33"}};
using List = std::vector<int>;

CudaVisibility ask(const char* variable, const std::vector<CudaCandidate>& gpus = kThree) {
  return cuda_visibility(variable, "PCI_BUS_ID", gpus, true);
}

TEST(CudaVisibility, UnsetShowsAll) {
  const auto result = cuda_visibility(std::nullopt, std::nullopt, kThree, true);
  EXPECT_FALSE(result.set);
  EXPECT_EQ(result.visible, (List{0, 1, 2}));
}

TEST(CudaVisibility, OrderOfTheListCounts) { EXPECT_EQ(ask("2,0").visible, (List{2, 0})); }

TEST(CudaVisibility, EmptyAndWordsHideAll) {
  for (const char* variable : {"", "  ", "NoDevFiles", "-1", "none"}) {
    const auto result = ask(variable);
    EXPECT_TRUE(result.visible.empty()) << variable;
    EXPECT_FALSE(result.reason.empty()) << variable;
  }
}

TEST(CudaVisibility, InvalidNumberHidesAllAfterIt) {
  const auto result = ask("1,7,0");
  EXPECT_EQ(result.visible, (List{1}));
  EXPECT_EQ(result.stopped_at, "7");
}

TEST(CudaVisibility, NumberBeyondAnyIntegerIsInvalid) {
  EXPECT_EQ(ask("0,99999999999999999999,1").visible, (List{0}));
}

TEST(CudaVisibility, EmptyEntryEndsTheList) { EXPECT_EQ(ask("0,,1").visible, (List{0})); }

TEST(CudaVisibility, DigitsCountUpToTheFirstOtherCharacter) {
  EXPECT_EQ(ask("1x, 2").visible, (List{1, 2}));
}

TEST(CudaVisibility, UuidPrefixCountsWhenUnambiguous) {
  EXPECT_EQ(ask("GPU-bb,GPU-aa2").visible, (List{2, 1}));
  const auto ambiguous = ask("GPU-bb,GPU-aa");
  EXPECT_EQ(ambiguous.visible, (List{2}));
  EXPECT_EQ(ambiguous.stopped_at, "GPU-aa");
}

TEST(CudaVisibility, UnknownUuidHidesAllAfterIt) {
  EXPECT_EQ(ask("GPU-aa11,GPU-zz,GPU-aa22").visible, (List{0}));
}

TEST(CudaVisibility, RepeatedEntryHidesAll) {
  EXPECT_TRUE(ask("0,1,0").visible.empty());
  EXPECT_TRUE(ask("GPU-aa1,GPU-aa11").visible.empty());
}

TEST(CudaVisibility, KindsDoNotMix) {
  EXPECT_EQ(ask("0,GPU-aa22").visible, (List{0}));
  EXPECT_EQ(ask("GPU-aa11,1").visible, (List{0}));
}

TEST(CudaVisibility, InstancesOfMigByBothForms) {
  const std::vector<CudaCandidate> mig{{.uuid = "GPU-aa11"},
                                       {.uuid = "GPU-bb22",
                                        .mig = true,
                                        .instances = {"MIG-c1", "MIG-c2"},
                                        .instance_ids = {"1/0", "2/0"}}};
  EXPECT_EQ(ask("MIG-c2", mig).visible_instances, std::vector<std::string>{"MIG-c2"});
  EXPECT_EQ(ask("MIG-GPU-bb22/2/0", mig).visible_instances, std::vector<std::string>{"MIG-c2"});
  EXPECT_TRUE(ask("MIG-GPU-bb22/9/0", mig).visible.empty());
  EXPECT_EQ(ask("1", mig).visible_instances, std::vector<std::string>{"MIG-c1"});
}

TEST(CudaVisibility, MigWithoutInstancesIsNoDevice) {
  const std::vector<CudaCandidate> mig{{.uuid = "GPU-aa11", .mig = true}};
  EXPECT_TRUE(cuda_visibility(std::nullopt, std::nullopt, mig, true).visible.empty());
  EXPECT_TRUE(ask("0", mig).visible.empty());
}

TEST(CudaVisibility, NumbersMeanLittleWhenModelsDifferAndTheOrderIsFastestFirst) {
  EXPECT_FALSE(cuda_visibility("0", std::nullopt, kThree, false).order_known);
  EXPECT_FALSE(cuda_visibility("0", "FASTEST_FIRST", kThree, false).order_known);
  EXPECT_TRUE(cuda_visibility("0", "PCI_BUS_ID", kThree, false).order_known);
  EXPECT_TRUE(cuda_visibility("GPU-aa11", std::nullopt, kThree, false).order_known);
}

TEST(CudaVisibility, OfAMachineTellsItsOwnIndices) {
  Machine machine;
  gpu_at(machine, {0, 1, 0, 0}, Vendor::amd);
  gpu_at(machine, {0, 2, 0, 0}, Vendor::nvidia);
  gpu_at(machine, {0, 3, 0, 0}, Vendor::nvidia);
  finish_gpus(machine);
  machine.visibility.cuda_visible_devices = "1";
  EXPECT_EQ(cuda_visibility(machine).visible, (List{2}));
}

}  // namespace
}  // namespace gpuready
