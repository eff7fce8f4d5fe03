#include "health/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr double kLeastOfMedian = 0.95;

const Gpu* gpu_of(const Machine& machine, const std::optional<std::string>& uuid) {
  return uuid ? machine.find_gpu_by_uuid(*uuid) : nullptr;
}

// GPUs are siblings when their models are the same: name and memory. For a pair, both models and
// the path between them. Nothing for what is no whole GPU (a MIG instance, the host).
std::optional<std::string> model_of(const Machine& machine, const Verdict& verdict) {
  const Gpu* gpu = gpu_of(machine, verdict.uuid);
  if (!gpu || gpu->name.empty()) return std::nullopt;
  const auto model = [](const Gpu& of) {
    return fmt::format("{} {}", of.name, of.memory.total_bytes.value_or(0) / GiB);
  };
  if (!verdict.peer_uuid) return model(*gpu);
  const Gpu* peer = gpu_of(machine, verdict.peer_uuid);
  if (!peer) return std::nullopt;
  std::string kind;
  for (const GpuPath& path : machine.paths)
    if (std::minmax(path.gpu_a, path.gpu_b) == std::minmax(gpu->index, peer->index))
      kind = to_string(path.kind);
  const std::string a = model(*gpu), b = model(*peer);
  return fmt::format("{} / {} / {}", std::min(a, b), std::max(a, b), kind);
}

// The clocks of a GPU at its power limit settle within seconds, and each its own way.
constexpr double kSettledMs = 10'000;

bool comparable(const Verdict& verdict, const Metric& metric) {
  if (verdict.test == "tensor" && verdict.duration_ms < kSettledMs) return false;
  return metric.unit.ends_with("/s") && !contains(metric.name, "pageable") &&
         !contains(metric.name, "_node");
}

std::string format_value(double value, const std::string& unit) {
  return unit == "B/s" ? format_rate(value) : fmt::format("{:.4g} {}", value, unit);
}

struct Measured {
  const Verdict* verdict;
  double value;
  std::string unit;
};

void compare_rates(const Machine& machine, const std::vector<Verdict>& verdicts,
                   std::vector<Finding>& findings) {
  // By model, test and metric, in a fixed order.
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Measured>> groups;
  for (const Verdict& verdict : verdicts) {
    // A fault made on purpose says nothing about the GPU.
    if (verdict.injected_fault ||
        (verdict.status != VerdictStatus::passed && verdict.status != VerdictStatus::failed))
      continue;
    const auto model = model_of(machine, verdict);
    if (!model) continue;
    for (const Metric& metric : verdict.metrics)
      if (comparable(verdict, metric) && metric.value > 0)
        groups[{*model, verdict.test, metric.name}].push_back(
            {&verdict, metric.value, metric.unit});
  }
  for (const auto& [key, group] : groups) {
    const auto& [model, test, name] = key;
    for (const Measured& one : group) {
      std::vector<double> others;
      for (const Measured& other : group)
        if (other.verdict != one.verdict) others.push_back(other.value);
      if (others.empty()) continue;
      const double middle = median(others);
      if (one.value >= kLeastOfMedian * middle) continue;
      Finding finding;
      finding.id = "slower-than-siblings";
      finding.severity = Severity::warning;
      finding.title = fmt::format("{} is slower than its siblings: {} of {}", one.verdict->subject,
                                  name, format_value(one.value, one.unit));
      finding.explanation = fmt::format(
          "That is {} of the {} which is the median of {} other{} of the same model in "
          "this machine.",
          format_percent(one.value / middle), format_value(middle, one.unit), others.size(),
          others.size() == 1 ? "" : "s");
      for (const auto& uuid : {one.verdict->uuid, one.verdict->peer_uuid})
        if (const Gpu* gpu = gpu_of(machine, uuid)) finding.gpus.push_back(gpu->index);
      for (const Measured& other : group)
        finding.evidence.push_back(
            {fmt::format("{}, {}", test, other.verdict->subject),
             fmt::format("{} = {}", name, format_value(other.value, other.unit))});
      finding.cure = "Compare clocks, power limits, temperatures and links of these GPUs.";
      findings.push_back(std::move(finding));
    }
  }
}

struct Vote {
  Verdict* verdict;
  std::uint64_t value;
};

void fail_by_vote(Verdict& verdict, const std::string& name, std::size_t differing,
                  std::size_t agreeing) {
  if (verdict.status == VerdictStatus::failed) return;
  verdict.status = VerdictStatus::failed;
  verdict.reason = fmt::format(
      "by vote: its {} differ from those of {} other GPU{} of the same "
      "model, which agree{}",
      name, agreeing, agreeing == 1 ? "" : "s",
      differing > 1 ? fmt::format(" ({} differ)", differing) : "");
}

void vote(const Machine& machine, std::vector<Verdict>& verdicts, std::vector<Finding>& findings) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Vote>> groups;
  for (Verdict& verdict : verdicts) {
    const auto model = model_of(machine, verdict);
    if (!model) continue;
    for (const Digest& digest : verdict.digests)
      groups[{*model, verdict.test, digest.name}].push_back({&verdict, digest.value});
  }
  for (auto& [key, votes] : groups) {
    const auto& [model, test, name] = key;
    std::map<std::uint64_t, std::size_t> counts;
    for (const Vote& one : votes) ++counts[one.value];
    if (counts.size() < 2) continue;
    const auto most = *std::max_element(counts.begin(), counts.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    const bool majority = 2 * most.second > votes.size();
    Finding finding;
    finding.id = "differs-from-siblings";
    finding.severity = majority ? Severity::error : Severity::warning;
    finding.title = fmt::format("GPUs of the same model compute different {}", name);
    finding.explanation =
        majority ? "The same instructions on the same data gave the results of the majority on "
                   "all but those named."
                 : "The same instructions on the same data gave different results, and there is "
                   "no majority to tell which are right.";
    for (const Vote& one : votes) {
      finding.evidence.push_back({fmt::format("{}, {}", test, one.verdict->subject),
                                  fmt::format("{} = {:#018x}", name, one.value)});
      if (majority && one.value == most.first) continue;
      if (const Gpu* gpu = gpu_of(machine, one.verdict->uuid)) finding.gpus.push_back(gpu->index);
      if (majority) {
        fail_by_vote(*one.verdict, name, votes.size() - most.second, most.second);
      } else if (one.verdict->status == VerdictStatus::passed) {
        one.verdict->status = VerdictStatus::inconclusive;
        one.verdict->reason = fmt::format(
            "its {} differ from those of another GPU of the same model, and no majority tells "
            "which is right",
            name);
      }
    }
    finding.cure = "Test the GPUs named again alone, at length, before any of them is used.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Finding> compare_siblings(const Machine& machine, std::vector<Verdict>& verdicts) {
  std::vector<Finding> findings;
  vote(machine, verdicts, findings);
  compare_rates(machine, verdicts, findings);
  return findings;
}

}  // namespace gpuready
