#include "health/siblings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "health/sibling_rates.h"
#include "value/about.h"

namespace gpuready {
namespace {

const Gpu* gpu_of(const Machine& machine, const std::optional<std::string>& uuid) {
  return uuid ? machine.find_gpu_by_uuid(*uuid) : nullptr;
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
    findings.push_back(std::move(finding));
  }
}

}  // namespace

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
