#include "health/fitness/matmul_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "base/units.h"
#include "device/cpu_device.h"
#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

TEST(MatmulBenchmark, AnExactProductWithinTheLimitPasses) {
  const auto cpu = make_cpu_device({.memory_free_bytes = GiB, .memory_total_bytes = GiB});
  const auto verdict = benchmark_matmul(*cpu, {.limit_ms = 60'000});
  EXPECT_EQ(verdict.status, VerdictStatus::passed) << verdict.reason;
}

TEST(MatmulBenchmark, TooSlowFails) {
  const auto cpu = make_cpu_device({.memory_free_bytes = GiB, .memory_total_bytes = GiB});
  EXPECT_EQ(benchmark_matmul(*cpu, {.limit_ms = 1e-9}).status, VerdictStatus::failed);
}

// By a device that multiplies once, keeps the product, and then returns one element of it as
// another value.
TEST(MatmulBenchmark, OneWrongElementFails) {
  class Kept final : public ForwardingDevice {
   public:
    Kept() : ForwardingDevice(2, GiB) {}
    Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                        const void* params, std::size_t bytes) override {
      if (launches_++ > 0) return {};
      return inner_->launch(stream, kernel, shape, params, bytes);
    }
    Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                              std::uint64_t bytes) override {
      if (product_.empty()) {
        product_.resize(bytes / sizeof(float));
        TRY(inner_->copy_to_host(stream, product_.data(), source, bytes));
      }
      std::ranges::copy(product_, static_cast<float*>(target));
      float& last = static_cast<float*>(target)[product_.size() - 1];
      last = change(last);
      return {};
    }
    std::function<float(float)> change = [](float right) { return right; };

   private:
    int launches_ = 0;
    std::vector<float> product_;
  };
  Kept device;
  const auto tested = [&](const std::function<float(float)>& change) {
    device.change = change;
    return benchmark_matmul(device, {.limit_ms = 60'000});
  };
  EXPECT_EQ(tested([](float right) { return right; }).status, VerdictStatus::passed);
  const std::function<float(float)> changes[] = {
      [](float right) { return right + 1; }, [](float right) { return right + 0.5f; },
      [](float) { return 0x1p24f; }, [](float) { return std::numeric_limits<float>::infinity(); },
      [](float) { return std::numeric_limits<float>::quiet_NaN(); }};
  for (const auto& change : changes) {
    const auto verdict = tested(change);
    EXPECT_EQ(verdict.status, VerdictStatus::failed);
    EXPECT_EQ(verdict.reason, "1 of 1024 rows of the product are wrong");
  }
}

}  // namespace
}  // namespace gpuready
