#include "health/fitness/matmul_benchmark.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "health/event_timer.h"
#include "kernels/matmul_kernel.h"

namespace gpuready {
namespace {

// |a| <= 8, |b| <= 8, n <= 16384: every sum stays below 2^24 and is exact in FP32, in any order.
std::vector<float> small_integers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return values;
}

std::vector<std::int64_t> times(std::span<const float> matrix, std::span<const std::int64_t> x) {
  const std::size_t n = x.size();
  std::vector<std::int64_t> y(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i] += static_cast<std::int64_t>(matrix[i * n + j]) * x[j];
  return y;
}

// Rows of C that are wrong; NaN, infinity and fractions are wrong wherever they stand.
std::size_t wrong_rows(std::span<const float> a, std::span<const float> b, std::span<const float> c,
                       std::size_t n) {
  std::mt19937_64 random(n);
  std::vector<std::int64_t> x(n);
  for (auto& value : x) value = 1 + static_cast<std::int64_t>(random() % (1 << 20));
  const auto expected = times(a, times(b, x));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t sum = 0;
    bool whole = true;
    for (std::size_t j = 0; j < n; ++j) {
      const float value = c[i * n + j];
      whole &= std::fabs(value) < 16777216.0f && value == std::trunc(value);
      if (whole) sum += static_cast<std::int64_t>(value) * x[j];
    }
    wrong += !whole || sum != expected[i];
  }
  return wrong;
}

constexpr unsigned kSize = 1024;  // a multiple of 64

struct Outcome {
  double product_ms = 0;
  std::vector<float> c;
};

Result<Outcome> run(Device& device, std::span<const float> a, std::span<const float> b,
                    unsigned n) {
  const std::uint64_t bytes = a.size_bytes();
  auto buffer = TRY(DeviceBuffer::make(device, 3 * bytes));
  const MatmulParams params{buffer.address(), buffer.address() + bytes,
                            buffer.address() + 2 * bytes, n};
  Outcome outcome;
  outcome.c.assign(a.size(), std::nanf(""));  // an element that no one writes is wrong
  const StreamId stream;
  TRY(device.copy_to_device(stream, params.a_address, a.data(), bytes));
  TRY(device.copy_to_device(stream, params.b_address, b.data(), bytes));
  TRY(device.copy_to_device(stream, params.c_address, outcome.c.data(), bytes));
  auto timer = TRY(EventTimer::make(device, stream));
  const unsigned blocks = (n / kMatmulTile) * (n / kMatmulTile);
  for (int round = 0; round < 2; ++round) {  // the first one warms up
    TRY(timer.start());
    if (auto ok =
            device.launch(stream, kMatmulF32, {blocks, kMatmulThreads}, &params, sizeof params);
        !ok)
      return std::unexpected(ok.error());
    const auto ms = TRY(timer.stop_ms());
    outcome.product_ms = ms;
  }
  TRY(device.copy_to_host(stream, outcome.c.data(), params.c_address, bytes));
  TRY(device.synchronize(stream));
  return outcome;
}

}  // namespace

Verdict benchmark_matmul(Device& device, const TestOptions& options, const TestHooks&) {
  const auto start = Clock::now();
  Verdict verdict = begin_verdict("benchmark", device, options);
  const std::size_t elements = std::size_t{kSize} * kSize;
  const auto a = small_integers(elements, 1), b = small_integers(elements, 2);
  const auto outcome = run(device, a, b, kSize);
  verdict.duration_ms = elapsed_ms(start);
  if (!outcome) {
    verdict.status = device.fault_of(outcome.error()) == DeviceFault::memory
                         ? VerdictStatus::failed
                         : VerdictStatus::inconclusive;
    verdict.reason = outcome.error().message;
    return verdict;
  }
  const double n = kSize;
  verdict.metrics.push_back(
      {"product_time", outcome->product_ms, "ms", std::nullopt, std::nullopt});
  verdict.metrics.push_back({"product_rate", 2 * n * n * n / outcome->product_ms * 1e3, "FLOP/s",
                             std::nullopt, std::nullopt});
  const auto wrong = wrong_rows(a, b, outcome->c, kSize);
  const bool soon = outcome->product_ms <= options.limit_ms;
  verdict.status = wrong == 0 && soon ? VerdictStatus::passed : VerdictStatus::failed;
  const auto took =
      fmt::format("a {0} x {0} x {0} FP32 product took {1}, at most {2} is allowed ({3})", kSize,
                  format_duration_ms(outcome->product_ms), format_duration_ms(options.limit_ms),
                  options.limit_source);
  verdict.reason = wrong == 0 ? took + "; every element is exact"
                              : fmt::format("{} of {} rows of the product are wrong", wrong, kSize);
  return verdict;
}

}  // namespace gpuready
