#include <set>

#include "report/report.h"
#include "report/summary.h"
#include "value/json.h"

namespace gpuready {

Json to_json(const Report& report) {
  Json doc = Json::object();
  doc["schema"] = "gpuready.report";
  doc["schema_version"] = 1;
  doc["tool"] = Json{{"name", "gpuready"}};
  put(doc["tool"], "version", report.tool_version);
  put(doc, "command", report.command);
  put(doc, "created_utc", report.created_utc);
  put(doc, "conclusion", report.conclusion);
  doc["exit_code"] = static_cast<int>(report.exit);
  doc["exit_meaning"] = exit_meaning(report.exit);
  std::set<std::string> faults;
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      if (verdict.injected_fault) faults.insert(*verdict.injected_fault);
  if (!faults.empty()) doc["injected_faults"] = faults;
  if (!report.notes.empty()) doc["notes"] = report.notes;
  doc["machine"] = to_json(report.machine);
  // Absent: not asked. []: asked, and none.
  if (report.findings) {
    doc["findings"] = Json::array();
    for (const Finding& finding : *report.findings) doc["findings"].push_back(to_json(finding));
  }
  if (report.verdicts) {
    doc["verdicts"] = Json::array();
    for (const Verdict& verdict : *report.verdicts) doc["verdicts"].push_back(to_json(verdict));
  }
  if (report.samples) doc["samples"] = to_json(*report.samples);
  put(doc, "duration_ms", number(report.duration_ms));
  return doc;
}

}  // namespace gpuready
