#include <algorithm>
#include <set>

#include "report/report.h"
#include "report/summary.h"
#include "value/json.h"

namespace gpuready {
namespace {

bool is_about(const Finding& finding, const Gpu& gpu) {
  return std::ranges::find(finding.gpus, gpu.index) != finding.gpus.end() ||
         (gpu.pci && std::ranges::find(finding.pci, *gpu.pci) != finding.pci.end());
}

void add_ids(const std::vector<Finding>& findings, const Gpu& gpu, Json& ids) {
  for (const Finding& finding : findings) {
    if (is_about(finding, gpu)) ids.push_back(finding.id);
    add_ids(finding.explains, gpu, ids);
  }
}

// One GPU by every name that others know it by, and what the report says of it.
Json status_json(const Report& report, const GpuSummary& summary) {
  const Gpu& gpu = *summary.gpu;
  Json doc = {{"index", gpu.index}};
  put(doc, "uuid", gpu.uuid);
  if (gpu.pci) doc["pci"] = gpu.pci->text();
  put(doc, "nvml_index", gpu.nvml_index);
  put(doc, "cuda_ordinal", gpu.cuda_ordinal);
  doc["status"] = to_label(summary.state);
  put(doc, "reason", summary.reason);
  if (report.findings) add_ids(*report.findings, gpu, doc["findings"] = Json::array());
  return doc;
}

}  // namespace

Json to_json(const Report& report) {
  Json doc = begin_document("gpuready.report", report);
  std::set<std::string> faults;
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      if (verdict.injected_fault) faults.insert(*verdict.injected_fault);
  if (!faults.empty()) doc["injected_faults"] = faults;
  doc["gpu_status"] = Json::array();
  for (const GpuSummary& gpu : summarize(report).gpus)
    doc["gpu_status"].push_back(status_json(report, gpu));
  doc["machine"] = to_json(report.machine);
  // Absent: not asked. []: asked, and none.
  if (report.findings) {
    doc["findings"] = Json::array();
    for (const Finding& finding : *report.findings) doc["findings"].push_back(to_json(finding));
  }
  for (const Finding& finding : report.ignored) doc["ignored"].push_back(to_json(finding));
  if (report.verdicts) {
    doc["verdicts"] = Json::array();
    for (const Verdict& verdict : *report.verdicts) doc["verdicts"].push_back(to_json(verdict));
  }
  if (report.samples) doc["samples"] = to_json(*report.samples);
  return doc;
}

}  // namespace gpuready
