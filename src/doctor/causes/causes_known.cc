// What the versions of this machine's driver, kernel and toolkits are known for. It proves nothing
// about this machine, so it is an info, and told only beside a symptom or where the fault is
// severe.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/characters.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/known_faults.h"

namespace gpuready::doctor {
namespace {

constexpr std::size_t kFaultsMax = 3;  // reported for one machine

// What of the machine the row is about, as evidence.
std::vector<Evidence> versions_named(const Machine& machine, const KnownFault& fault) {
  std::vector<Evidence> named;
  if (!fault.drivers.empty())
    named.push_back(evidence("driver version", known_driver(machine, fault.vendor)));
  if (!fault.kernels.empty())
    named.push_back(evidence("kernel release", machine.system.kernel_release));
  for (const auto& version : known_toolkits(machine, fault.vendor))
    if (is_in(version, fault.toolkits)) named.push_back(evidence("toolkit version", version));
  return named;
}

std::string subject(const Machine& machine, const KnownFault& fault) {
  std::vector<std::string> parts;
  for (const auto& item : versions_named(machine, fault))
    parts.push_back((item.source.starts_with("driver")   ? "driver "
                     : item.source.starts_with("kernel") ? "Linux "
                     : fault.vendor == Vendor::amd       ? "ROCm "
                                                         : "CUDA ") +
                    item.quote);
  return capitalized(join(parts, " with "));
}

// A finding that the row may explain, as far as the finding itself tells.
bool is_symptom(const ReportedCause& told, const KnownFault& fault) {
  const auto& finding = told.finding;
  if (finding.severity == Severity::info) return false;
  const auto ids = split(fault.symptoms, " ");
  return std::ranges::any_of(ids,
                             [&](std::string_view id) {
                               return id == finding.id ||
                                      (id == "xid-*" && finding.id.starts_with("xid-"));
                             }) &&
         std::ranges::any_of(finding.evidence, [&](const Evidence& item) {
           return contains(item.quote, fault.says);
         });
}

bool overlap(const std::vector<int>& some, const std::vector<int>& others) {
  return std::ranges::find_first_of(some, others) != some.end();
}

std::vector<Match> known(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  std::set<std::string_view> told;  // of each kind of symptom the first: it fits best
  for (const auto& fault : known_faults()) {
    if (matches.size() == kFaultsMax) break;
    if (told.contains(fault.symptoms)) continue;
    if (fault.vendor == Vendor::nvidia && fault.text.starts_with("not to build") &&
        (machine.nvidia.module_loaded || machine.nvidia.module_installed.value_or(false)))
      continue;
    auto symptoms = facts.told | std::views::filter([&](const ReportedCause& each) {
                      return is_symptom(each, fault);
                    });
    if (symptoms.empty() && !fault.severe) continue;
    const auto gpus = concerned(machine, fault);
    const auto symptom = std::ranges::find_if(symptoms, [&](const ReportedCause& each) {
      return each.finding.gpus.empty() || overlap(each.finding.gpus, gpus);
    });
    if (gpus.empty() || (symptom == symptoms.end() && !fault.severe)) continue;
    told.insert(fault.symptoms);
    Match match{.gpus = gpus, .evidence = versions_named(machine, fault)};
    for (const int gpu : gpus)
      if (const auto& pci = machine.gpus[static_cast<std::size_t>(gpu)].pci)
        match.pci.push_back(*pci);
    match.title = fmt::format("{} is known {}", subject(machine, fault), fault.text);
    match.explanation = fmt::format("Published {}: {}.", words_for(fault.sureness), fault.source);
    if (symptom != symptoms.end())
      *match.explanation += fmt::format(" It would fit {}.", symptom->finding.id);
    match.cure = fault.fixed.empty()
                     ? "No version that fixes it is published there."
                     : fmt::format("Fixed in {}. Install that, or a newer one.", fault.fixed);
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<Cause> known_causes() {
  return {{.id = "known-fault",
           .severity = Severity::info,
           .title = "These versions are known for a fault",
           .explanation = "It was published with versions that this machine has.",
           .match = known}};
}

}  // namespace gpuready::doctor
