#include "pack/report/env_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "pack/report/exit_rules.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
void conclude(const EnvReport& report, Envelope& envelope) {
  envelope.exit = exit_of(report);
  if (report.checks == EnvCheck::none) return;
  const auto variant = report.variant.value_or("");
  if (report.checks == EnvCheck::another_machine)
    envelope.conclusion =
        report.right     ? fmt::format("The variant {} is right for that machine, too.", variant)
        : report.variant ? fmt::format("That machine needs the variant {}.", variant)
                         : "No variant fits that machine.";
  else if (!report.change)
    envelope.conclusion = "The GPUs and the driver are those that it was installed for.";
  else if (report.right)
    envelope.conclusion = fmt::format(
        "The machine changed ({}), and the variant is still the right one.", *report.change);
  else
    envelope.conclusion = fmt::format(
        "The machine changed ({}): {}.", *report.change,
        report.variant ? "the variant " + variant + " is right now" : "no variant fits now");
}

std::string render_terminal(const EnvReport& report, const Envelope& envelope,
                            const TerminalStyle& style) {
  if (report.checks != EnvCheck::none) {
    TerminalText out(style);
    const Tone tone = report.right ? Tone::good : Tone::bad;
    out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)}, *envelope.conclusion);
    if (!report.right && !report.again.empty()) out.command(2, report.again);
    return out.take();
  }
  // For a shell to read: nothing is wrapped.
  std::string lines;
  for (const auto& [name, path] : report.shadowed)
    lines += fmt::format("# {}\n", one_line(fmt::format("{} replaces {}", name, path)));
  // An empty part of that variable is the folder that a program is started in.
  if (report.folders.empty()) return lines;
  return lines + fmt::format("export LD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\n",
                             shell_quoted(join(report.folders, ":")));
}

}  // namespace gpuready
