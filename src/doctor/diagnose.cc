// Runs the rows of causes over a machine.
#include "doctor/diagnose.h"

#include <algorithm>

#include "doctor/cause.h"
#include "doctor/facts.h"
#include "value/about.h"

namespace gpuready {

std::vector<std::string> finding_ids() {
  std::vector<std::string> ids;
  for (const auto& cause : doctor::causes()) {
    if (cause.finding_ids.empty()) ids.emplace_back(cause.id);
    ids.insert(ids.end(), cause.finding_ids.begin(), cause.finding_ids.end());
  }
  return ids;
}

bool blames(const Finding& finding, const Gpu& gpu) {
  if (finding.id == kExpectedGpuCount) return false;
  if (is_about(finding, gpu) && finding.severity == Severity::error) return true;
  return std::ranges::any_of(finding.explains,
                             [&](const Finding& inner) { return blames(inner, gpu); });
}

std::vector<Finding> diagnose(const Machine& machine, const DiagnoseOptions& options) {
  std::vector<doctor::ReportedCause> told;
  std::set<int> blamed;
  const doctor::Facts facts{machine, options, blamed, told};
  for (const auto& cause : doctor::causes()) {
    const auto first = told.size();
    for (auto& match : cause.match ? cause.match(facts) : doctor::refused(facts, cause.lines))
      if (!match.evidence.empty())  // nothing is reported without proof
        told.push_back(doctor::tell(cause, std::move(match), machine));
    for (const auto& gpu : machine.gpus)
      for (auto i = first; i < told.size(); ++i)
        if (blames(told[i].finding, gpu)) blamed.insert(gpu.index);
  }
  return doctor::fold(std::move(told), machine);
}

}  // namespace gpuready
