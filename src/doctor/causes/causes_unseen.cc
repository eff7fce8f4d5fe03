// What could not be looked at, and which causes can therefore not be reported. Never an error: it
// says nothing against the machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

constexpr std::string_view kNotRecorded = "not in the recording";
constexpr std::string_view kSuspended =
    "Asking a suspended GPU would wake it, so only the bus's own facts about it are known.";
constexpr std::string_view kPciBus = "/sys/bus/pci/devices";
constexpr std::size_t kEvidenceMax = 6;

struct Blind {
  std::string_view part;   // of Unseen::what
  std::string_view hides;  // what cannot be seen without it
};
constexpr Blind kBlind[] = {
    {"kernel log",
     "GPUs that fell off the bus, rejected or unsuitable kernel modules, failed starts and Xids "
     "cannot be seen"},
    {"/proc/driver/nvidia",
     "a mismatch of libraries and kernel module, and excluded GPUs, cannot be seen"},
    {"/sys/bus/pci", "GPUs without a driver, and narrow links, cannot be seen"},
    {"/dev", "missing or refused device nodes cannot be seen"},
    {"cgroup", "the container's memory and CPU limits cannot be seen"},
    {"NVML", "ECC errors, row remapping, NVLinks and slowdowns cannot be seen"},
    {"CUDA", "whether CUDA starts is not known"},
    {"ROCm", "whether ROCm starts is not known"},
    {"Vulkan", "whether Vulkan sees the GPU is not known"},
};

std::string what_it_hides(std::string_view what) {
  for (const auto& blind : kBlind)
    if (contains(what, blind.part)) return fmt::format("Without it, {}.", blind.hides);
  return "Its facts are missing from this diagnosis.";
}

std::vector<Match> not_recorded(const Facts& facts) {
  Match match;
  std::string hides;
  for (const auto& unseen : facts.machine.unseen) {
    if (unseen.why != kNotRecorded) continue;
    if (match.evidence.size() < kEvidenceMax)
      match.evidence.push_back(evidence(unseen.what, unseen.why));
    const auto sentence = what_it_hides(unseen.what);
    if (sentence.starts_with("Without") && !contains(hides, sentence))
      hides += " " + quote(unseen.what) + ": " + sentence;
  }
  if (match.evidence.empty()) return {};
  match.explanation = "The recording does not hold everything that a diagnosis reads." + hides;
  return {match};
}

// A reason to group by: what was hidden together is told together.
struct Group {
  std::string reason;
  std::vector<const Unseen*> items;
};

std::vector<Group> groups_of(const Machine& machine) {
  std::vector<Group> groups;
  for (const auto& unseen : machine.unseen) {
    if (unseen.why == kNotRecorded) continue;
    const auto reason =
        contains(unseen.why, "suspended") ? std::string(kSuspended) : what_it_hides(unseen.what);
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const Group& group) { return group.reason == reason; });
    if (it == groups.end()) it = groups.insert(groups.end(), {reason, {}});
    it->items.push_back(&unseen);
  }
  return groups;
}

Evidence who(const Machine& machine) {
  return evidence("user",
                  fmt::format("user {} is not root{}", machine.system.effective_uid,
                              in_container(machine) ? fmt::format(", in a container ({})",
                                                                  quote(*machine.container.runtime))
                                                    : ""));
}

std::vector<Match> blind(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& group : groups_of(machine)) {
    const auto& first = group.items.front()->what;
    const bool log = contains(first, "kernel log"), asleep = group.reason == kSuspended;
    Match match;
    match.id = log ? "kernel-log-unreadable" : "unseen";
    match.explanation = group.reason;
    match.title = quote(first);
    if (group.items.size() > 1) *match.title += fmt::format(" and {} more", group.items.size() - 1);
    *match.title += " could not be read";
    if (log) match.title = "The kernel log could not be read";
    if (first.starts_with("GPUREADY_")) {
      match.title = "The library that " + quote(first) + " names cannot be loaded";
      match.cure = "Let the variable name a library that the loader takes, or unset it.";
      match.terms = kAsUser;
    }
    if (first == kPciBus && machine.gpus.empty() && !in_wsl1(machine)) {
      match.id = "pci-bus-unreadable";
      match.severity = Severity::warning;
      match.title = "The PCI bus cannot be read";
      match.explanation = "Whether this machine has a GPU is not known.";
      match.cure = "Mount sysfs at /sys (in a container: do not mask it), and run this again.";
      match.command = "mount -t sysfs sysfs /sys";
      match.action = Action::configure;
    }
    if (asleep) match.title = "A suspended GPU was left asleep, and not asked";
    for (const auto* item : group.items)
      if (match.evidence.size() < kEvidenceMax)
        match.evidence.push_back(evidence(item->what, item->why));
    if (machine.system.effective_uid != 0 && !asleep) match.evidence.push_back(who(machine));
    if (log && machine.system.effective_uid != 0) match.command = "sudo gpuready doctor";
    if (asleep) match.cure = "";
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<Cause> unseen_causes() {
  return {
      {.id = "not-recorded",
       .severity = Severity::info,
       .title = "Some facts are not in the recording",
       .explanation = "The recording does not hold everything that a diagnosis reads.",
       .cure = "Record the machine again with this version, as root where possible.",
       .command = "gpuready record FILE.tar.zst",
       .match = not_recorded},
      // "kernel-log-unreadable" for the kernel log, which hides the most.
      {.id = "unseen",
       .severity = Severity::info,
       .title = "Something could not be read",
       .explanation = "Its facts are missing from this diagnosis.",
       .cure = "Run it as root, outside a container where possible.",
       .terms = kAsRoot,
       .match = blind,
       .finding_ids = {"unseen", "kernel-log-unreadable", "pci-bus-unreadable"}},
  };
}

}  // namespace gpuready::doctor
