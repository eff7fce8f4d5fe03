// What could not be looked at, and which causes can therefore not be told. Never an error: it says
// nothing against the machine.
#include <fmt/format.h>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

constexpr std::string_view kNotRecorded = "not in the recording";

struct Blind {
  std::string_view part;   // of Unseen::what
  std::string_view hides;  // what cannot be told without it
};
constexpr Blind kBlind[] = {
    {"kernel log",
     "GPUs that fell off the bus, rejected or unsuitable kernel modules, failed starts and Xids "
     "cannot be told"},
    {"/proc/driver/nvidia",
     "a mismatch of libraries and kernel module, and excluded GPUs, cannot be told"},
    {"/sys/bus/pci", "GPUs without a driver, and narrow links, cannot be told"},
    {"/dev", "missing or refused device nodes cannot be told"},
    {"cgroup", "the container's memory and CPU limits cannot be told"},
    {"NVML", "ECC errors, row remapping, NVLinks and slowdowns cannot be told"},
    {"CUDA", "whether CUDA starts cannot be told"},
    {"ROCm", "whether ROCm starts cannot be told"},
    {"Vulkan", "whether Vulkan sees the GPU cannot be told"},
};

std::string what_it_hides(std::string_view what) {
  for (const auto& blind : kBlind)
    if (contains(what, blind.part)) return fmt::format("Without it, {}.", blind.hides);
  return "What it would have told is missing from this diagnosis.";
}

std::vector<Match> not_recorded(const Facts& facts) {
  Match match;
  std::string hides;
  for (const auto& unseen : facts.machine.unseen) {
    if (unseen.why != kNotRecorded) continue;
    match.evidence.push_back(evidence(unseen.what, unseen.why));
    const auto sentence = what_it_hides(unseen.what);
    if (sentence.starts_with("Without") && !contains(hides, sentence))
      hides += " " + quote(unseen.what) + ": " + sentence;
  }
  if (match.evidence.empty()) return {};
  match.explanation = "The recording does not hold everything that a diagnosis reads." + hides;
  return {match};
}

std::vector<Match> blind(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& unseen : machine.unseen) {
    if (unseen.why == kNotRecorded) continue;
    Match match;
    const bool log = contains(unseen.what, "kernel log");
    match.id = log ? "kernel-log-unreadable" : "unseen";
    match.title =
        log ? "The kernel log could not be read" : quote(unseen.what) + " could not be read";
    if (contains(unseen.why, "suspended"))
      match.title = quote(unseen.what) + " was not asked about a suspended GPU";
    match.explanation = what_it_hides(unseen.what);
    match.evidence.push_back(evidence(unseen.what, unseen.why));
    if (machine.system.effective_uid != 0)
      match.evidence.push_back(evidence(
          "user", fmt::format("user {} is not root{}", machine.system.effective_uid,
                              in_container(machine) ? fmt::format(", in a container ({})",
                                                                  quote(*machine.container.runtime))
                                                    : "")));
    if (log) match.command = machine.system.effective_uid == 0 ? "" : "sudo gpuready doctor";
    if (contains(unseen.why, "suspended")) match.cure = "";
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
       .explains = {},
       .match = not_recorded},
      // "kernel-log-unreadable" for the kernel log, which hides the most.
      {.id = "unseen",
       .severity = Severity::info,
       .title = "Something could not be read",
       .explanation = "What it would have told is missing from this diagnosis.",
       .cure = "Run it as root, outside a container where possible.",
       .command = {},
       .explains = {},
       .match = blind},
  };
}

}  // namespace gpuready::doctor
