#include <gtest/gtest.h>

#include "machine/sources.h"

namespace gpuready {
namespace {

TEST(Join, OneAddressIsOneGpu) {
  Machine machine;
  gpu_at(machine, {0, 2, 0, 0}, Vendor::nvidia).uuid = "GPU-a";
  gpu_at(machine, {0, 1, 0, 0}, Vendor::amd);
  EXPECT_EQ(gpu_at(machine, {0, 2, 0, 0}, Vendor::nvidia).uuid, "GPU-a");
  EXPECT_EQ(machine.gpus.size(), 2u);
  EXPECT_EQ(gpu_with_uuid(machine, "gpu-A")->pci, (PciAddress{0, 2, 0, 0}));
  EXPECT_EQ(gpu_with_uuid(machine, "GPU-b"), nullptr);
}

TEST(Join, GpusAreNumberedByAddress) {
  Machine machine;
  machine.gpus.emplace_back().name = "no address";
  gpu_at(machine, {0, 2, 0, 0}, Vendor::nvidia);
  gpu_at(machine, {0, 1, 0, 0}, Vendor::nvidia);
  finish_gpus(machine);
  EXPECT_EQ(machine.gpus[0].pci->bus, 1);
  EXPECT_EQ(machine.gpus[1].index, 1);
  EXPECT_EQ(machine.gpus[2].name, "no address");
}

TEST(Join, PathsFollowTheirGpusToNewNumbers) {
  Machine machine;
  gpu_at(machine, {0, 2, 0, 0}, Vendor::nvidia);
  gpu_at(machine, {0, 3, 0, 0}, Vendor::nvidia);
  finish_gpus(machine);
  machine.paths.push_back({0, 1, PathKind::nvlink, 18, "ok"});
  gpu_at(machine, {0, 1, 0, 0}, Vendor::nvidia);
  finish_gpus(machine);
  ASSERT_EQ(machine.paths.size(), 1u);
  EXPECT_EQ(machine.paths[0].gpu_a, 1);
  EXPECT_EQ(machine.paths[0].gpu_b, 2);
}

TEST(Join, UnseenIsToldOnceAndAbsenceIsNoBlindness) {
  Machine machine;
  note_unseen(machine, "x", {ErrorKind::not_found, "gone", 2});
  EXPECT_TRUE(machine.unseen.empty());
  note_unseen(machine, "x", {ErrorKind::no_permission, "not permitted", 1});
  note_unseen(machine, "x", {ErrorKind::no_permission, "not permitted", 1});
  note_unseen(machine, "y", {ErrorKind::not_recorded, "whatever", 0});
  ASSERT_EQ(machine.unseen.size(), 2u);
  EXPECT_EQ(machine.unseen[0].why, "not permitted");
  EXPECT_EQ(machine.unseen[1].why, "not in the recording");
}

TEST(Join, TegrasGpuIsFoundWithoutAnAddressOrWithOneThatNoBusHas) {
  Machine machine;
  auto& card = gpu_at(machine, {0, 1, 0, 0}, Vendor::nvidia);
  card.driver = "nvidia";
  machine.pci.emplace_back().address = {0, 1, 0, 0};
  auto& tegra = machine.gpus.emplace_back();
  tegra.vendor = Vendor::nvidia;
  tegra.driver = "nvgpu";
  EXPECT_EQ(gpu_of_tegra(machine, std::nullopt), nullptr) << "not a Jetson";
  machine.system.jetson_release = "# R36 (release)";
  EXPECT_EQ(gpu_of_tegra(machine, std::nullopt), &machine.gpus[1]);
  EXPECT_EQ(gpu_of_tegra(machine, PciAddress{0, 0, 0, 0}), &machine.gpus[1]);
  EXPECT_EQ(gpu_of_tegra(machine, PciAddress{0, 1, 0, 0}), nullptr) << "a card of its own";
}

TEST(Join, AUuidIsTheSameWithAndWithoutItsPrefix) {
  Machine machine;
  machine.gpus.emplace_back().uuid = "5a1f0c20-3b7d";
  EXPECT_EQ(gpu_with_uuid(machine, "GPU-5A1F0C20-3b7d"), &machine.gpus[0]);
  machine.gpus[0].uuid = "GPU-5a1f0c20-3b7d";
  EXPECT_EQ(gpu_with_uuid(machine, "5a1f0c20-3b7d"), &machine.gpus[0]);
  EXPECT_EQ(gpu_with_uuid(machine, "GPU-5a1f0c20"), nullptr);
}

}  // namespace
}  // namespace gpuready
