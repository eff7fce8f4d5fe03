#include "pack/report/install_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "pack/report/exit_rules.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace pack;

std::string conclusion_of(const InstallReport& report) {
  const auto& outcome = report.outcome;
  const auto what = fmt::format("{} {}", report.name, report.version);
  const auto variant = outcome.installed ? outcome.installed->variant : "";
  switch (outcome.end) {
    case InstallEnd::installed: {
      std::uint64_t gpus = 0;
      for (const auto& load : outcome.installed->loads) gpus += load.device != "cpu";
      return fmt::format(
          "{}, variant {}, is installed{}.", what, variant,
          gpus > 0 ? fmt::format(" and loads on {} GPU{}", gpus, gpus == 1 ? "" : "s") : "");
    }
    case InstallEnd::unchanged:
      return fmt::format("{}, variant {}, is installed already.", what, variant);
    case InstallEnd::planned:
      return fmt::format("{} would be installed: {} are fetched, {} of {} files are here already.",
                         what, format_bytes(outcome.to_fetch_bytes), outcome.reused_files,
                         outcome.files);
    case InstallEnd::nothing:
      return fmt::format("{} has nothing to install here.", what);
    case InstallEnd::refused:
    case InstallEnd::not_loaded:
    case InstallEnd::failed:
      return outcome.error ? printable(outcome.error->message) : "Nothing was installed.";
  }
  return {};
}

}  // namespace

void conclude(const InstallReport& report, Envelope& envelope) {
  envelope.exit = exit_of(report.outcome);
  envelope.conclusion = conclusion_of(report);
}

std::string progress_text(std::string_view step, std::uint64_t done, std::uint64_t total,
                          double elapsed_ms) {
  if (total == 0) return std::string(step);
  const double rate = elapsed_ms > 0 ? static_cast<double>(done) * 1000 / elapsed_ms : 0;
  return fmt::format("{} {} of {}, {}", step, format_bytes(done), format_bytes(total),
                     format_rate(rate));
}

std::string render_terminal(const InstallReport& report, const Envelope& envelope,
                            const TerminalStyle& style) {
  TerminalText out(style);
  const auto& outcome = report.outcome;
  const bool good = envelope.exit == Exit::ok;
  const Tone tone = good ? Tone::good : Tone::bad;
  out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)}, *envelope.conclusion);
  if (style.quiet) return out.take();
  for (const auto& note : envelope.notes) out.paragraph(2, {}, note);
  if (report.model) out.paragraph(2, {}, "Model: " + *report.model);
  if (outcome.end == InstallEnd::installed)
    out.paragraph(
        2, {},
        fmt::format("{} fetched, {} written in {}; {} of {} files were here already.",
                    format_bytes(outcome.fetched_bytes), format_bytes(outcome.written_bytes),
                    format_duration_ms(envelope.duration_ms), outcome.reused_files, outcome.files));
  if (outcome.without_ranges)
    out.paragraph(2, {}, "The server knows no ranges, so the whole archive was read.");
  if (outcome.installed)
    for (const auto& load : outcome.installed->loads)
      out.paragraph(
          2, {},
          fmt::format("{}: {} libraries and {} pieces of device code loaded{}{}",
                      load.name.empty() ? load.device : load.name, load.libraries, load.modules,
                      load.probes > 0 ? fmt::format(", {} probe kernel{} launched", load.probes,
                                                    load.probes == 1 ? "" : "s")
                                      : "",
                      load.failure ? ", then: " + *load.failure : ""));
  if (good && outcome.end != InstallEnd::planned && outcome.end != InstallEnd::nothing)
    out.paragraph(2, {}, "Use it from " + outcome.folder);
  return out.take();
}

}  // namespace gpuready
