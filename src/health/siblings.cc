#include "health/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "value/about.h"
#include "value/action.h"

namespace gpuready {
namespace {

// The first row that fits a metric says how it is compared.
struct Comparison {
  std::string_view test, part_of_name, cause;
  std::optional<double> least_of_median;  // absent: not compared
  std::string_view hint;
};
// Of the median; the least that a clock may be, too. The host's memory has a part in host links.
constexpr double kBrokenShare = 0.75;
constexpr std::string_view kHostLink = "host link";

constexpr std::string_view kLinkHint =
    "Compare PCIe generation and width, NUMA node and slot of these GPUs.";
constexpr std::string_view kMemoryHint =
    "Compare memory clocks, temperatures and ECC errors of these GPUs.";
constexpr std::string_view kClockHint =
    "Compare clocks, power limits and temperatures of these GPUs.";
constexpr std::string_view kPeerHint =
    "Compare the links between these GPUs: `nvidia-smi nvlink -s`.";
constexpr Comparison kComparisons[] = {
    {"bandwidth", "pageable", "", {}, ""},
    {"bandwidth", "pcie_link", "", {}, ""},
    {"bandwidth", "_node", "", {}, ""},
    {"bandwidth", "together", "", {}, ""},
    {"bandwidth", "both_ways", kHostLink, 0.80, kLinkHint},
    {"bandwidth", "h2d", kHostLink, 0.90, kLinkHint},
    {"bandwidth", "d2h", kHostLink, 0.90, kLinkHint},
    {"bandwidth", "dram", "memory", 0.95, kMemoryHint},
    {"peers", "", "peer link", 0.95, kPeerHint},
    {"tensor", "", "clock", 0.95, kClockHint},
};

// The clocks of a GPU at its power limit settle within seconds, and each its own way.
constexpr double kSettledMs = 10'000;

const Comparison* comparison_of(const Verdict& verdict, const Metric& metric) {
  if (!metric.unit.ends_with("/s")) return nullptr;
  if (verdict.test == "tensor" && verdict.duration_ms < kSettledMs) return nullptr;
  for (const Comparison& row : kComparisons)
    if (row.test == verdict.test && contains(metric.name, row.part_of_name))
      return row.least_of_median ? &row : nullptr;
  return nullptr;
}

const Gpu* gpu_of(const Machine& machine, const std::optional<std::string>& uuid) {
  return uuid ? machine.find_gpu_by_uuid(*uuid) : nullptr;
}

PathKind path_between(const Machine& machine, const Gpu& a, const Gpu& b) {
  for (const GpuPath& path : machine.paths)
    if (std::minmax(path.gpu_a, path.gpu_b) == std::minmax(a.index, b.index)) return path.kind;
  return PathKind::unknown;
}

bool is_their_own(PathKind kind) {
  using enum PathKind;
  return kind == nvlink || kind == nvswitch || kind == xgmi || kind == same_switch;
}

bool counts(const Machine& machine, const Verdict& verdict) {
  // A fault made on purpose says nothing about the GPU.
  if (verdict.injected_fault ||
      (verdict.status != VerdictStatus::passed && verdict.status != VerdictStatus::failed))
    return false;
  const Gpu *gpu = gpu_of(machine, verdict.uuid), *peer = gpu_of(machine, verdict.peer_uuid);
  return !verdict.peer_uuid || (gpu && peer && is_their_own(path_between(machine, *gpu, *peer)));
}

std::string format_value(double value, const std::string& unit) {
  return unit == "B/s" ? format_rate(value) : fmt::format("{:.4g} {}", value, unit);
}

// GPUs are siblings when their models are the same: name and memory. For a pair, both models and
// the path between them. Nothing for what is not a whole GPU (a MIG instance, the host).
std::optional<std::string> sibling_model(const Machine& machine, const Verdict& verdict) {
  const Gpu* gpu = gpu_of(machine, verdict.uuid);
  if (!gpu || gpu->name.empty()) return std::nullopt;
  const auto model = [](const Gpu& of) {
    return fmt::format("{} {}", of.name, of.memory.total_bytes.value_or(0) / GiB);
  };
  if (!verdict.peer_uuid) return model(*gpu);
  const Gpu* peer = gpu_of(machine, verdict.peer_uuid);
  if (!peer) return std::nullopt;
  const std::string a = model(*gpu), b = model(*peer);
  return fmt::format("{} / {} / {}", std::min(a, b), std::max(a, b),
                     to_string(path_between(machine, *gpu, *peer)));
}

// A rate below those of the siblings.
struct Slow {
  const Comparison* how;
  const Verdict* verdict;
  const Metric* metric;
  double median;
  std::size_t others;
  std::vector<int> gpus;  // that it is about
  double share() const { return metric->value / median; }
  Evidence evidence() const {
    return {fmt::format("{}, {}", verdict->test, verdict->subject),
            fmt::format("{} = {}, of {} which is the median of {} other{}", metric->name,
                        format_value(metric->value, metric->unit),
                        format_value(median, metric->unit), others, others == 1 ? "" : "s")};
  }
};

std::vector<Slow> slow_rates(const Machine& machine, const std::vector<Verdict>& verdicts) {
  struct Measured {
    const Comparison* how;
    const Verdict* verdict;
    const Metric* metric;
  };
  // By model, test and metric, in a fixed order.
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Measured>> groups;
  for (const Verdict& verdict : verdicts) {
    const auto model = counts(machine, verdict) ? sibling_model(machine, verdict) : std::nullopt;
    if (!model) continue;
    for (const Metric& metric : verdict.metrics)
      if (const Comparison* how = comparison_of(verdict, metric))
        groups[{*model, verdict.test, metric.name}].push_back({how, &verdict, &metric});
  }
  std::vector<Slow> slow;
  for (const auto& [key, group] : groups) {
    for (const Measured& one : group) {
      std::vector<double> others;
      for (const Measured& other : group)
        if (other.verdict != one.verdict) others.push_back(other.metric->value);
      if (others.empty()) continue;
      const std::size_t count = others.size();
      const double middle = median(std::move(others));
      if (one.metric->value >= *one.how->least_of_median * middle) continue;
      slow.push_back({one.how, one.verdict, one.metric, middle, count, {}});
      for (const auto& uuid : {one.verdict->uuid, one.verdict->peer_uuid})
        if (const Gpu* gpu = gpu_of(machine, uuid)) slow.back().gpus.push_back(gpu->index);
    }
  }
  return slow;
}

// The GPU that most pairs have in common stands for them; a single pair stays a pair.
std::vector<int> common_gpus(const std::vector<Slow>& slow) {
  std::map<int, std::map<const Verdict*, int>> pairs_of;
  for (const Slow& one : slow)
    for (const int gpu : one.gpus) ++pairs_of[gpu][one.verdict];
  const auto most =
      std::ranges::max_element(pairs_of, {}, [](const auto& entry) { return entry.second.size(); });
  return most->second.size() > 1 ? std::vector{most->first} : slow.front().gpus;
}

bool is_of(const Slow& slow, const std::vector<int>& gpus) {
  return std::ranges::all_of(
      gpus, [&](int gpu) { return std::ranges::find(slow.gpus, gpu) != slow.gpus.end(); });
}

std::string name_of(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += fmt::format("{}GPU {}", text.empty() ? "" : " and ", gpu);
  return text;
}

Finding finding_of(const std::vector<int>& gpus, const std::vector<Slow>& slow) {
  const Slow& worst = *std::ranges::min_element(slow, {}, &Slow::share);
  const std::string value = format_value(worst.metric->value, worst.metric->unit);
  Finding finding;
  finding.id = kSlowerThanSiblings;
  const bool broken = worst.share() < kBrokenShare && worst.how->cause != kHostLink;
  finding.severity = broken ? Severity::error : Severity::warning;
  finding.title = fmt::format("{} {} slower than {} siblings: {} of {}", name_of(gpus),
                              gpus.size() == 1 ? "is" : "are", gpus.size() == 1 ? "its" : "their",
                              worst.metric->name, value);
  finding.explanation = fmt::format(
      "That is {} of the {} which is the median of {} other{} of the same model in this machine; "
      "{} is the least for this rate.",
      format_percent(worst.share()), format_value(worst.median, worst.metric->unit), worst.others,
      worst.others == 1 ? "" : "s", format_percent(*worst.how->least_of_median, 0));
  if (slow.size() > 1)
    finding.explanation += fmt::format(" {} rates of the same cause are low.", slow.size());
  finding.gpus = gpus;
  for (const Slow& one : slow) finding.evidence.push_back(one.evidence());
  finding.cure = worst.how->hint;
  finding.action = Action::check_again;
  finding.terms = usual_terms(finding.action);
  return finding;
}

// "slower-than-siblings": a finding for each GPU and cause (its memory, its SMs, its link to the
// host, its links to other GPUs), with every metric that shows it. A GPU that is slow in more than
// one pair is reported once. Compared are rates that no one else had a share in while they were
// measured:
//   memory, SMs        below 0.95 of the median of the others
//   links to others    the same; over NVLink, xGMI or one PCIe switch alone, because pairs that
//                      share a host bridge are measured at the same time
//   link to the host   below 0.90 one way and 0.80 both ways: the host's memory, which lies nearer
//                      to some GPUs than to others, has a part in it
// An error below 0.75 of it, but for links to the host; a warning else.
// The memory test runs first and its passes take 30 ms each, so its rates depend on how far a GPU
// has woken up. Pageable memory, single NUMA nodes and copies of all GPUs together are not
// compared.
std::vector<Finding> find_slower_siblings(const Machine& machine,
                                          const std::vector<Verdict>& verdicts) {
  std::map<std::string_view, std::vector<Slow>> by_cause;
  for (Slow& one : slow_rates(machine, verdicts))
    by_cause[one.how->cause].push_back(std::move(one));
  std::vector<Finding> findings;
  for (auto& [cause, left] : by_cause)
    while (!left.empty()) {
      const auto gpus = common_gpus(left);
      const auto theirs =
          std::ranges::stable_partition(left, [&](const Slow& one) { return !is_of(one, gpus); });
      const std::vector<Slow> slow(theirs.begin(), theirs.end());
      left.erase(theirs.begin(), theirs.end());
      findings.push_back(finding_of(gpus, slow));
    }
  return findings;
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
    const auto model = sibling_model(machine, verdict);
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
    finding.id = kDiffersFromSiblings;
    finding.severity = majority ? Severity::error : Severity::warning;
    finding.title = fmt::format("GPUs of the same model compute different {}", name);
    finding.explanation =
        majority ? "The same instructions on the same data gave the results of the majority on "
                   "all but those named."
                 : "The same instructions on the same data gave different results, without a "
                   "majority that would show which are right.";
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
            "its {} differ from those of another GPU of the same model, and no majority shows "
            "which is right",
            name);
      }
    }
    finding.cure =
        "Test the named GPUs again, one at a time and for longer, before any of them is used.";
    finding.action = Action::check_again;
    finding.terms = usual_terms(finding.action);
    findings.push_back(std::move(finding));
  }
}

}  // namespace

bool is_comparable(const Verdict& verdict, const Metric& metric) {
  return comparison_of(verdict, metric) != nullptr;
}

std::vector<Finding> compare_siblings(const Machine& machine, std::vector<Verdict>& verdicts,
                                      const std::vector<int>& shared) {
  std::vector<Finding> findings;
  vote(machine, verdicts, findings);
  std::vector<Verdict> comparable = verdicts;
  std::erase_if(comparable, [&](const Verdict& verdict) {
    return std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
      return std::ranges::find(shared, gpu.index) != shared.end() && is_about(verdict, gpu);
    });
  });
  std::ranges::move(find_slower_siblings(machine, comparable), std::back_inserter(findings));
  return findings;
}

}  // namespace gpuready
