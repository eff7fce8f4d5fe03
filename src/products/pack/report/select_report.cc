#include "pack/report/select_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "pack/report/exit_rules.h"
#include "pack/rules/releases.h"
#include "pack/store/pip_index.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
using namespace pack;

namespace {

std::string names_of(const std::vector<std::size_t>& gpus, const SelectMachine& machine) {
  std::vector<std::string> names;
  for (const auto gpu : gpus)
    if (const auto name = machine.gpus[gpu].text(); std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return join(names, ", ");
}

}  // namespace

std::vector<std::string> pip_notes(const SelectReport& report) {
  const auto& [machine, selection] = report.decision;
  const bool several = selection.variants.size() > 1;
  std::vector<std::string> notes;
  if (selection.for_cpu || several || !selection.unserved.empty())
    notes.push_back(selection.reason);
  if (selection.for_cpu) return notes;
  for (const auto& build : selection.considered)
    if (build.chosen && several)
      notes.push_back(fmt::format("{} serves {}{}", build.name, names_of(build.serves, machine),
                                  build.name == selection.variants.front()
                                      ? ""
                                      : ": in an environment of its own, pip install " +
                                            pip_arguments(report.name, build.name)));
  if (!selection.unserved.empty())
    notes.push_back("no build serves " + names_of(selection.unserved, machine));
  return notes;
}

void conclude(const SelectReport& report, Envelope& envelope) {
  const auto& selection = report.decision.selection;
  envelope.exit = exit_of(selection);
  envelope.conclusion = selection.reason;
}

std::string render_terminal(const SelectReport& report, const Envelope& envelope,
                            const TerminalStyle& style) {
  TerminalText out(style);
  const auto& [machine, selection] = report.decision;
  const Tone tone = envelope.exit != Exit::ok                          ? Tone::bad
                    : selection.for_cpu || !selection.unserved.empty() ? Tone::warn
                                                                       : Tone::good;
  out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)},
                fmt::format("{} {}: {}", report.name, report.version, selection.reason));
  if (style.quiet) return out.take();
  if (selection.model) out.paragraph(2, {}, "Model: " + *selection.model);
  if (selection.model_note) out.paragraph(2, {}, *selection.model_note);
  for (const auto& variant : selection.considered) {
    const auto serves =
        variant.serves.empty()
            ? "serves no GPU here"
            : fmt::format(
                  "serves {} of {} GPUs{}", variant.serves.size(), machine.gpus.size(),
                  variant.by_jit.empty()
                      ? ""
                      : fmt::format(", {} by compiling at the first start", variant.by_jit.size()));
    out.line(2, {{variant.name, variant.chosen ? Ink::good : Ink::bold},
                 {variant.chosen ? "  chosen; " : "  "},
                 {serves}});
    for (const auto& problem : variant.problems) out.paragraph(4, {"- "}, problem);
    if (!variant.why_not.empty()) out.paragraph(4, {"- not chosen: "}, variant.why_not);
  }
  return out.take();
}

}  // namespace gpuready
