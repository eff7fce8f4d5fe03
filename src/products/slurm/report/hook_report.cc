#include "slurm/report/hook_report.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready {

std::string conclusion(const SlurmHookReport& report) {
  const auto& decision = report.decision;
  const char* mode = report.done ? "" : "would be ";
  const std::string subject = "node " + printable(report.node);
  if (report.slurm_error) {
    const auto reason = slurm::reason_of(report.causes);
    return fmt::format("{}: {}{}", subject, reason.empty() ? "" : reason + "; Slurm was not told: ",
                       *report.slurm_error);
  }
  switch (decision.act) {
    case slurm::Act::drain:
      return fmt::format("{} {}drained: {}", subject, mode, decision.reason);
    case slurm::Act::resume:
      return fmt::format("{} {}resumed: {}", subject, mode, decision.why);
    case slurm::Act::nothing:
      break;
  }
  if (!report.causes.empty())
    return fmt::format("{}: {}: {}", subject, slurm::reason_of(report.causes), decision.why);
  if (report.unknown) return fmt::format("{}: not known: {}", subject, *report.unknown);
  return fmt::format("{}: {}", subject, decision.why);
}

std::string render_terminal(const SlurmHookReport& report, const TerminalStyle& style) {
  const bool quiet = style.quiet && report.causes.empty() && !report.slurm_error &&
                     report.decision.act == slurm::Act::nothing;
  return quiet ? "" : printable(conclusion(report)) + "\n";
}

}  // namespace gpuready
