#include "health/fitness/matmul_benchmark.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "device/cpu_device.h"

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

}  // namespace
}  // namespace gpuready
