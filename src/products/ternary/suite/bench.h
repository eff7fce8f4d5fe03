// Short, honest times of ternary products: every tier and device, with what pure reading of as many
// bytes takes in the same run.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/named.h"
#include "device/device.h"
#include "ternary/suite/verify.h"

namespace gpuready::ternary {

struct BenchShape {
  std::int64_t m = 1, n = 0, k = 0;
  bool operator==(const BenchShape&) const = default;
};
std::optional<BenchShape> parse_bench_shape(std::string_view text);  // "MxNxK", "NxK"

// What a time is of.
//   call    a product of quantised activations in host memory to f32 in host memory
//   device  on a GPU, from and to its memory, by graph replay (launches one after the other where
//           there are no graphs); the weights rotate over copies of four times its L2 cache
//   device_values  the same, but from activations in f32, which are quantised too
enum class Timed { call, device, device_values };

struct BenchRow {
  std::string subject, device, kernel, form;  // "cpu/avx2", "CPU", "avx2", "two-bit"
  BenchShape shape;
  Timed timed = Timed::call;
  CheckStatus status = CheckStatus::not_tested;  // passed: it was timed
  std::string reason;
  double least_us = 0, median_us = 0;  // of one product
  std::uint64_t samples = 0;
  std::uint64_t weight_bytes = 0;  // read by one product
  // Of only reading, measured in this run: on a CPU as many bytes with as many threads, in the
  // caches as the weights are; on a GPU 1 GiB of its memory.
  std::optional<double> read_bytes_per_s;

  double bytes_per_s() const { return static_cast<double>(weight_bytes) / least_us * 1e6; }
  double operations_per_s() const;  // a multiplication and an addition each count
  std::optional<double> read_share() const;
};

struct BenchOptions {
  std::vector<BenchShape> shapes;  // empty: the default ones
  unsigned threads = 0;            // of the CPU's tiers; 0: as many as this process may use
  double budget_s = 0.12;          // for each row
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  const std::atomic<bool>* stop = nullptr;  // ends early; the reason of what is left: kInterrupted
  bool stopped() const { return stop != nullptr && stop->load(); }
};
std::span<const BenchShape> default_bench_shapes();

// Every tier that is here but the scalar one, which is timed only where it is named.
std::vector<BenchRow> bench_cpu(std::span<const Tier> tiers, const BenchOptions& options);
// Opens each GPU by itself.
std::vector<BenchRow> bench_gpus(std::span<const Target> targets, const BenchOptions& options);
// On a device that is open already.
std::vector<BenchRow> bench_device(Device& device, const BenchOptions& options);

}  // namespace gpuready::ternary

namespace gpuready {
NAMES_OF(ternary::Timed, "call", "device", "device-values");
}  // namespace gpuready
