#include "bench/record/run_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

#include "base/sha256.h"
#include "base/statistics.h"
#include "base/text.h"
#include "bench/record/fields_run.h"

namespace gpuready::bench {
namespace {

// Moves the samples about.
double percentile_in(std::span<double> samples, double p) {
  const double place = p * static_cast<double>(samples.size() - 1);
  const auto below = samples.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(samples, below);
  if (below + 1 == samples.end()) return *below;
  return std::lerp(*below, *std::min_element(below + 1, samples.end()), place - std::floor(place));
}

Latency of_samples(std::vector<double> samples) {
  if (samples.empty()) return {};
  const auto [least, greatest] = std::ranges::minmax(samples);
  const double mean = gpuready::mean(samples);
  return {.mean_ns = mean,
          .p50_ns = percentile_in(samples, 0.5),
          .p95_ns = percentile_in(samples, 0.95),
          .min_ns = least,
          .max_ns = greatest};
}

}  // namespace

std::string workload_key(const Workload& workload) {
  std::string text = workload.name;
  for (const auto& [name, size] : workload.shape) text += fmt::format(" {}={}", name, size);
  return text;
}

std::string Environment::fingerprint() const {
  // Each field with its length, so that no two machines read the same.
  std::string text;
  const auto add = [&](const std::string& field) {
    text += fmt::format("{}:{};", field.size(), field);
  };
  auto sorted = gpus;  // the order in which a driver lists them may change
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.uuid < b.uuid; });
  for (const auto& gpu : sorted) {
    add(gpu.name);
    add(gpu.uuid);
  }
  for (const auto* field : {&driver_version, &cuda_version, &kernel_release, &os_name, &cpu_model})
    add(*field);
  add(cpu_cores ? std::to_string(*cpu_cores) : "");
  add(cpu_governor);
  if (cpu_limit) add(fmt::format("{:g}", *cpu_limit));
  const auto hash =
      sha256(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return fmt::format("{:02x}", fmt::join(std::span(hash).first(8), ""));
}

std::vector<double> Repeat::valid_samples() const {
  if (throttled.empty()) return samples_ns;
  const std::set<std::uint64_t> dropped(throttled.begin(), throttled.end());
  std::vector<double> valid;
  valid.reserve(samples_ns.size());
  for (std::size_t i = 0; i < samples_ns.size(); ++i)
    if (!dropped.contains(i)) valid.push_back(samples_ns[i]);
  return valid;
}

const StackResult* RunRecord::stack(std::string_view wanted) const {
  const auto found =
      std::find_if(stacks.begin(), stacks.end(), [&](const auto& it) { return it.id == wanted; });
  return found == stacks.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> RunRecord::repeats_due() const {
  return protocol.until_percent ? std::nullopt : protocol.repeats;
}

bool RunRecord::is_timed() const {
  return std::ranges::any_of(stacks, [](const StackResult& stack) {
    const Latency latency = latency_of(stack);
    return stack.status == StackStatus::ok && (latency.p50_ns || latency.mean_ns);
  });
}

std::optional<double> percentile(std::vector<double> samples, double p) {
  if (samples.empty()) return std::nullopt;
  return percentile_in(samples, p);
}

Latency latency_of(const Repeat& repeat) {
  return repeat.samples_ns.empty() ? repeat.reported : of_samples(repeat.valid_samples());
}

Latency latency_of(const StackResult& stack) {
  std::vector<Latency> repeats;
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok) repeats.push_back(latency_of(repeat));
  Latency all;
  for (const auto figure : {&Latency::mean_ns, &Latency::p50_ns, &Latency::p95_ns, &Latency::min_ns,
                            &Latency::max_ns}) {
    std::vector<double> values;
    for (const auto& latency : repeats)
      if (latency.*figure) values.push_back(*(latency.*figure));
    if (!values.empty()) all.*figure = median(std::move(values));
  }
  return all;
}

std::vector<double> valid_samples_of(const StackResult& stack) {
  std::vector<double> all;
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok) {
      const auto valid = repeat.valid_samples();
      all.insert(all.end(), valid.begin(), valid.end());
    }
  return all;
}

std::optional<double> p95_of(const StackResult& stack) {
  const auto pooled = percentile(valid_samples_of(stack), 0.95);
  return pooled ? pooled : latency_of(stack).p95_ns;
}

}  // namespace gpuready::bench
