#include "vm/report/initrd_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "report/text_layout.h"

namespace gpuready {

std::string render_terminal(const InitrdOutcome& outcome, const TerminalStyle& style) {
  if (style.quiet) return {};
  const auto& report = outcome.report;
  return fmt::format(
      "{}: driver {}{}, {} files, {}; {} {}\n", one_line(outcome.path), report.driver_version,
      report.kernel_release.empty() ? " without modules" : " for kernel " + report.kernel_release,
      report.files, format_bytes(report.content_bytes),
      report.unchanged ? "unchanged," : "written,", format_bytes(report.written_bytes));
}

}  // namespace gpuready
