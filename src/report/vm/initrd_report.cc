#include "report/vm/initrd_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "report/text_layout.h"

namespace gpuready {

Json to_json(const std::string& path, const vm::InitrdReport& report, const Envelope& envelope) {
  Json json = begin_document("gpuready.vm-initrd", envelope);
  json["path"] = printable(path);
  json["unchanged"] = report.unchanged;
  json["driver_version"] = report.driver_version;
  put(json, "kernel_release", report.kernel_release);
  json["files"] = report.files;
  json["content_bytes"] = report.content_bytes;
  json["written_bytes"] = report.written_bytes;
  return json;
}

std::string render_terminal(const std::string& path, const vm::InitrdReport& report) {
  return fmt::format(
      "{}: driver {}{}, {} files, {}; {} {}\n", one_line(path), report.driver_version,
      report.kernel_release.empty() ? " without modules" : " for kernel " + report.kernel_release,
      report.files, format_bytes(report.content_bytes),
      report.unchanged ? "unchanged," : "written,", format_bytes(report.written_bytes));
}

}  // namespace gpuready
