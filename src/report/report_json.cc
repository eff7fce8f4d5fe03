#include <set>

#include "report/fields.h"
#include "value/about.h"
#include "value/action.h"

namespace gpuready {
namespace {

void add_ids(const std::vector<Finding>& findings, const Gpu& gpu, std::vector<std::string>& ids) {
  for (const Finding& finding : findings) {
    if (is_about(finding, gpu)) ids.push_back(finding.id);
    add_ids(finding.explains, gpu, ids);
  }
}

}  // namespace

std::vector<GpuStatus> statuses_of(const Report& report) {
  std::vector<GpuStatus> statuses;
  for (const GpuSummary& gpu : summarize(report).gpus) {
    auto& status = statuses.emplace_back(gpu.gpu, gpu.state, gpu.reason, std::nullopt, std::nullopt,
                                         gpu.obligations);
    if (!report.findings) continue;
    add_ids(*report.findings, *gpu.gpu, status.findings.emplace());
    status.action = strongest_action(*report.findings, *gpu.gpu);
  }
  return statuses;
}

std::vector<std::string> injected_faults_of(const Report& report) {
  std::set<std::string> faults;
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      if (verdict.injected_fault) faults.insert(*verdict.injected_fault);
  return {faults.begin(), faults.end()};
}

Json to_json(const Report& report) { return to_json(report, report); }
template Json to_json(const SelfTestReport&, const Envelope&);
template Json to_json(const StatusReport&, const Envelope&);
template Json to_json(const PolicyReport&, const Envelope&);

}  // namespace gpuready
