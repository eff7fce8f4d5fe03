// The Vulkan probe on Mesa's llvmpipe, through a loader that can lack a function.
#include <gtest/gtest.h>

#include "../../fake_drivers/ask_fake.h"

namespace gpuready {
namespace {

ProbeDocument ask(const std::string& fake) {
  setenv("GPUREADY_VULKAN_LIBRARY", testing::fake_driver_path("fake_vulkan.so").c_str(), 1);
  setenv("FAKE_VULKAN", fake.c_str(), 1);
  return testing::ask_fake("vulkan", {});
}

constexpr const char* kDevices = "vkEnumeratePhysicalDevices()";

// Software has no place on a bus, and does not offer VK_EXT_pci_bus_info.
TEST(VulkanProbe, TellsAnAddressOnlyOfADeviceThatHasOne) {
  const auto document = ask("");
  if (document.integer(kDevices).value_or(0) == 0) GTEST_SKIP() << "no Vulkan device";
  const Json& device = document.value("vkGetPhysicalDeviceProperties2(0)");
  if (device.value("type", "") != "cpu") GTEST_SKIP() << "not software: " << device.dump();
  EXPECT_TRUE(device.contains("uuid")) << device.dump();
  EXPECT_FALSE(device.contains("pci")) << device.dump();
}

TEST(VulkanProbe, ALoaderThatLacksAFunctionIsAskedForNoDevice) {
  if (ask("").integer(kDevices).value_or(0) == 0) GTEST_SKIP() << "no Vulkan device";
  for (const char* function : {"vkEnumeratePhysicalDevices", "vkGetPhysicalDeviceProperties",
                               "vkGetPhysicalDeviceMemoryProperties"}) {
    const auto document = ask("without=" + std::string(function));
    EXPECT_EQ(document.outcome, ProbeOutcome::completed) << function;
    ASSERT_NE(document.find(kDevices), nullptr) << function;
    EXPECT_TRUE(document.find(kDevices)->missing) << function;
    EXPECT_EQ(document.find("vkGetPhysicalDeviceProperties2(0)"), nullptr) << function;
  }
}

}  // namespace
}  // namespace gpuready
