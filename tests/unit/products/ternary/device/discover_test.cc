// Which drivers are asked for GPUs, and which GPUs they show.
#include <gtest/gtest.h>

#include "base/text.h"
#include "ternary/device/choose.h"
#include "unit/device/in_child.h"
#include "unit/device/vulkan/vulkan_fixture.h"

namespace gpuready::ternary {
namespace {

constexpr const char* kNone = "/absent";

// Each GPU, then the driver that each reason names.
std::string found_by(TargetKind kind) {
  const Discovery found = discover_gpus({kind, {}});
  std::vector<std::string> all;
  for (const auto& gpu : found.gpus)
    all.push_back(std::string(to_string(gpu.kind)) + " " + std::to_string(gpu.index) + " " +
                  (gpu.id.empty() ? "without a UUID" : gpu.id) +
                  (gpu.compute_capability ? " sm_" + std::to_string(*gpu.compute_capability) : ""));
  for (const auto& reason : found.reasons) all.push_back(reason.substr(0, reason.find(':') + 1));
  return join(all, "; ");
}
std::string found(TargetKind kind, const std::string& libcuda) {
  return in_child_with({{"GPUREADY_LIBCUDA", libcuda},
                        {"FAKE_CUDA", "devices=2,cc=8.6"},
                        {"GPUREADY_VULKAN_LIBRARY", kNone}},
                       [kind] { return found_by(kind); });
}

TEST(DiscoverGpus, a_kind_asks_its_driver_and_an_automatic_target_vulkan_only_without_cuda) {
  const std::string cuda = fake_cuda_path();
  const std::string both =
      std::string("cuda 0 ") + kFakeGpu0 + " sm_86; cuda 1 " + kFakeGpu1 + " sm_86";
  EXPECT_EQ(found(TargetKind::cuda, cuda), both);
  EXPECT_EQ(found(TargetKind::automatic, cuda), both);
  EXPECT_EQ(found(TargetKind::vulkan, cuda), "vulkan:");
  EXPECT_EQ(found(TargetKind::cuda, kNone), "cuda:");
  EXPECT_EQ(found(TargetKind::automatic, kNone), "cuda:; vulkan:");
}

class DiscoverVulkan : public VulkanTest {};

// Without a UUID it could not be opened again.
TEST_F(DiscoverVulkan, devices_are_those_with_a_uuid) {
  EXPECT_TRUE(found_by(TargetKind::vulkan).starts_with("vulkan 0 " + uuid_))
      << found_by(TargetKind::vulkan);
  const FakeVulkan old("vulkan_1_0");
  EXPECT_EQ(found_by(TargetKind::vulkan), "");
}

}  // namespace
}  // namespace gpuready::ternary
