// A Vulkan device for tests: the first that the loader shows, which on machines without a GPU is
// Mesa's llvmpipe. Tests reach it through a library that can make it fail (fake_vulkan.c).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "device/vulkan/vulkan_device.h"
#include "device/vulkan/vulkan_facts.h"

namespace gpuready {

// What is asked of the fake, for as long as this lives.
struct FakeVulkan {
  explicit FakeVulkan(const std::string& asked) { ::setenv("FAKE_VULKAN", asked.c_str(), 1); }
  FakeVulkan(const FakeVulkan&) = delete;
  ~FakeVulkan() { ::unsetenv("FAKE_VULKAN"); }
};

class VulkanTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string fake = std::string(GPUREADY_BINARY_DIR) + "/fake_drivers/fake_vulkan.so";
    ::setenv("GPUREADY_VULKAN_LIBRARY", fake.c_str(), 1);
    const auto vulkan = VulkanLibrary::start();
    if (!vulkan) GTEST_SKIP() << "no Vulkan here: " << vulkan.error().message;
    const auto devices = (*vulkan)->devices();
    if (!devices || devices->empty()) GTEST_SKIP() << "no Vulkan device here";
    uuid_ = vulkan_device_uuid(**vulkan, devices->front());
  }
  std::unique_ptr<Device> open() {
    auto device = open_vulkan_device(uuid_);
    EXPECT_TRUE(device) << device.error().message;
    return device ? std::move(*device) : nullptr;
  }

  std::string uuid_;
};

}  // namespace gpuready
