#include "health/test_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpuready {

Result<MemoryShare> memory_share(Device& device, const TestOptions& options) {
  MemoryShare share{TRY(device.memory())};
  const std::uint64_t free = share.memory.free_bytes;
  share.target_bytes = free - std::min(free, options.reserve_free_bytes);
  // Under the 0.5% that the memory test may leave out.
  share.take_bytes = share.target_bytes - std::min(32 * MiB, share.target_bytes / 512);
  if (options.max_bytes && *options.max_bytes < share.take_bytes)
    share.target_bytes = share.take_bytes = *options.max_bytes;
  return share;
}

TestRun::TestRun(std::string_view test, Device& device, const TestOptions& options,
                 const TestHooks& hooks)
    : device_(device),
      options_(options),
      hooks_(hooks),
      verdict_(begin_verdict(test, device, options)) {}

Verdict TestRun::run() {
  start_ = Clock::now();
  if (auto done = steps(); !done && !failed())
    conclude_with_error(verdict_, device_, done.error(), phase_);
  finish();
  verdict_.duration_ms = elapsed_ms(start_);
  return std::move(verdict_);
}

bool TestRun::set(VerdictStatus status, std::string reason) {
  if (failed()) return false;
  verdict_.status = status;
  verdict_.reason = std::move(reason);
  return false;
}

bool TestRun::interrupted() {
  return set(VerdictStatus::inconclusive, fmt::format("interrupted before {}", phase_));
}

bool TestRun::report(std::uint64_t done, std::uint64_t total) const {
  if (hooks_.progress) hooks_.progress({phase_, done, total});
  return !hooks_.cancelled();
}

bool TestRun::begin(std::string_view phase) {
  phase_ = phase;
  return report(steps_begun_++, 0);
}

Metric* TestRun::find_metric(std::string_view name) {
  const auto found = std::find_if(verdict_.metrics.begin(), verdict_.metrics.end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  return found == verdict_.metrics.end() ? nullptr : &*found;
}

void TestRun::set_metric(std::string_view name, double value, std::string_view unit) {
  if (Metric* metric = find_metric(name))
    metric->value = value;
  else
    verdict_.metrics.push_back({std::string(name), value, std::string(unit), {}, {}});
}

void TestRun::add_rate(std::string_view name, double bytes_per_s) {
  if (bytes_per_s <= 0) return;
  const Metric* before = find_metric(name);
  set_metric(name, before ? std::max(before->value, bytes_per_s) : bytes_per_s, "B/s");
}

}  // namespace gpuready
