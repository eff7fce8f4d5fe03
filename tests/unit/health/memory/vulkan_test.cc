// The memory test through Vulkan: clean memory passes, and nothing else does.
#include "base/units.h"
#include "health/memory/test_memory.h"
#include "unit/device/vulkan/vulkan_fixture.h"

namespace gpuready {
namespace {

class VulkanMemoryTest : public VulkanTest {
 protected:
  Verdict test(const std::string& fake, TestOptions options = {}) {
    options.max_bytes = options.max_bytes.value_or(8 * MiB);
    options.copy_traffic_bytes = MiB;
    const FakeVulkan faked(fake);
    const auto device = open();
    return device ? test_memory(*device, options, {}) : Verdict{};
  }
};

TEST_F(VulkanMemoryTest, CleanMemoryPassesWithItsCoverage) {
  const Verdict v = test("", {.max_bytes = 32 * MiB});
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.executor, "vulkan");
  EXPECT_EQ(v.uuid, uuid_);
  EXPECT_EQ(v.coverage->tested_bytes, 32 * MiB);
}

TEST_F(VulkanMemoryTest, AnInjectedBitFlipIsFound) {
  for (const std::uint64_t seed : {0ull, 777ull, 0x123456789abcdefull}) {
    const Verdict v = test("", {.inject = Fault{FaultClass::bitflip, seed}});
    EXPECT_EQ(v.status, VerdictStatus::failed);
    EXPECT_EQ(v.bad_words_total, 1u) << v.reason;
    EXPECT_EQ(v.injected_fault, "bitflip");
  }
}

// Pipelines are made in the order record, write, invert, copy, verify.
TEST_F(VulkanMemoryTest, AKernelThatDoesNothingFails) {
  EXPECT_EQ(test("skip=2").status, VerdictStatus::failed);
  const Verdict v = test("skip=5");
  EXPECT_EQ(v.status, VerdictStatus::failed);
  EXPECT_NE(v.reason.find("verified 0 words"), std::string::npos) << v.reason;
}

TEST_F(VulkanMemoryTest, SeveralAllocationsServeWhereOneIsRefused) {
  const Verdict v = test("max_alloc=6000000", {.max_bytes = 16 * MiB});
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_GE(v.coverage->tested_bytes, 16 * MiB - 64 * KiB);
}

TEST_F(VulkanMemoryTest, MemoryThatIsNotGrantedIsNotTested) {
  const Verdict v = test("total=18000000", {.max_bytes = 256 * MiB});
  EXPECT_NE(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_NE(v.status, VerdictStatus::failed) << v.reason;
}

TEST_F(VulkanMemoryTest, ADeviceThatIsLostMidwayIsInconclusive) {
  for (const char* fake : {"lose=2", "lose=4", "lose=6"}) {
    const Verdict v = test(fake);
    EXPECT_EQ(v.status, VerdictStatus::inconclusive) << fake;
    EXPECT_NE(v.reason.find("VK_ERROR_DEVICE_LOST"), std::string::npos) << v.reason;
  }
}

}  // namespace
}  // namespace gpuready
