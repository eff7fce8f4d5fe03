// The compute test through Vulkan: right arithmetic passes, and nothing else does.
#include <set>

#include "health/compute/launch.h"
#include "health/compute/reference.h"
#include "health/compute/test_compute.h"
#include "kernels/compute_kernel.h"
#include "kernels/cpu/compute_golden.h"
#include "unit/device/vulkan/vulkan_fixture.h"

namespace gpuready {
namespace {

class VulkanComputeTest : public VulkanTest {
 protected:
  Verdict test(const std::string& fake, const TestOptions& options = {}) {
    const FakeVulkan faked(fake);
    const auto device = open();
    return device ? test_compute(*device, options) : Verdict{};
  }
};

TEST_F(VulkanComputeTest, EveryOperationGivesTheGoldenResults) {
  const auto device = open();
  ASSERT_TRUE(device);
  auto launcher = ComputeLauncher::make(*device);
  ASSERT_TRUE(launcher) << launcher.error().message;
  const auto ops = launcher->ops(0, kComputeOps);
  EXPECT_EQ(ops.size(), 37u);
  const ComputeWork work = launcher->work(0x123456789abcdef, 0, kComputeOps);
  for (unsigned op : ops) {
    const auto results = launcher->results_of(work, op, 0, {});
    ASSERT_TRUE(results && *results) << compute_op(op).name;
    const auto golden = golden_results(work, op);
    ASSERT_EQ((*results)->size(), golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i)
      ASSERT_EQ((**results)[i], golden[i]) << compute_op(op).name << " number " << i;
  }
}

TEST_F(VulkanComputeTest, RightArithmeticPassesAndClaimsNoUnits) {
  const Verdict v = test("");
  EXPECT_EQ(v.status, VerdictStatus::passed) << v.reason;
  EXPECT_EQ(v.executor, "vulkan");
  EXPECT_FALSE(v.units) << "Vulkan does not tell which units did the work";
  EXPECT_NE(v.reason.find("37 operations"), std::string::npos) << v.reason;
}

TEST_F(VulkanComputeTest, AWrongResultIsFoundAtItsPlace) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Verdict v = test("", {.inject = Fault{FaultClass::wrong_sm, seed}});
    EXPECT_EQ(v.status, VerdictStatus::failed) << seed;
    EXPECT_EQ(v.mismatches_total, 1u) << v.reason;
    EXPECT_NE(v.reason.find("work group"), std::string::npos) << v.reason;
  }
}

TEST_F(VulkanComputeTest, ANanIsFound) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Verdict v = test("", {.inject = Fault{FaultClass::nan, seed}});
    EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
    EXPECT_NE(v.reason.find("normal"), std::string::npos) << v.reason;
  }
}

TEST_F(VulkanComputeTest, ASlowUnitCannotBeSeen) {
  const Verdict v = test("", {.inject = Fault{FaultClass::slow_sm, 1}});
  EXPECT_EQ(v.status, VerdictStatus::not_supported) << v.reason;
}

TEST_F(VulkanComputeTest, AKernelThatDoesNothingFails) {
  const Verdict v = test("skip=1");
  EXPECT_EQ(v.status, VerdictStatus::failed) << v.reason;
}

TEST(ComputeNormal, OperandsSumsAndProductsAreNormal) {
  const auto normal = [](std::uint64_t bits) {
    const auto exponent = bits >> 23 & 0xFF;
    return (exponent > 0 && exponent < 255) || (bits & 0x7FFFFFFF) == 0;
  };
  for (const unsigned op : {kOpAddNormalF32, kOpMulNormalF32}) {
    const ComputeWork work{99, op, op + 1, 1u << 16, 2048};
    const unsigned key = compute_key(work.seed, op);
    const auto golden = golden_results(work, op);
    std::set<std::uint64_t> different(golden.begin(), golden.end());
    EXPECT_GT(different.size(), golden.size() / 2);
    for (unsigned i = 0; i < golden.size(); ++i) {
      const ComputeInputs in = compute_inputs(compute_op(op).inputs, key, i);
      ASSERT_TRUE(normal(in.a) && normal(in.b) && normal(golden[i])) << i;
      ASSERT_NE(in.a & 0x7FFFFFFF, 0u);
    }
  }
}

}  // namespace
}  // namespace gpuready
