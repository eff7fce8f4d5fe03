#include "bench/report/promote_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "bench/report/compare_report.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace bench;

std::string further_text(const Promotion& promotion) {
  if (!promotion.further_runs) return "";
  return fmt::format("About {} more run{} a side may decide it.", *promotion.further_runs,
                     *promotion.further_runs == 1 ? "" : "s");
}

std::vector<std::string> guard_lines(const Promotion& promotion) {
  std::vector<std::string> lines;
  for (const auto& [kpi, reason] : promotion.unguarded)
    lines.push_back(fmt::format("Not guarded: {}: {}", name_of(kpi), reason));
  for (const auto& [kpi, reason] : promotion.too_noisy)
    lines.push_back(fmt::format("Too noisy to guard: {}: {}", name_of(kpi), reason));
  return lines;
}

}  // namespace

std::string conclusion_of(const Promotion& promotion) {
  const auto& candidate = promotion.comparison.candidate.name;
  if (promotion.refused())
    return fmt::format("{} cannot be judged: the runs differ in more than {}.", candidate,
                       promotion.idea.empty() ? "what is to be judged" : promotion.idea);
  const auto reasons = join(promotion.reasons, "; ");
  switch (promotion.decision) {
    case Decision::promote:
      return fmt::format("Promote {}: {}.", candidate, reasons);
    case Decision::reject:
      return fmt::format("Reject {}: {}.", candidate, reasons);
    case Decision::need_more_runs:
      return fmt::format("{} needs more runs: {}.", candidate, reasons);
  }
  return "";
}

std::string render_terminal(const Promotion& promotion, const Envelope& envelope,
                            const TerminalStyle& style) {
  std::string comparison;
  if (!style.quiet)
    comparison = render_terminal(promotion.comparison, Envelope(envelope), style) + "\n";
  TerminalText text(style);
  const Tone tone = tone_of(envelope.exit);
  text.paragraph(0, {text.mark(tone) + " "}, conclusion_of(promotion), ink_of(tone));
  if (const auto further = further_text(promotion); !further.empty())
    text.paragraph(2, {""}, further);
  for (const auto& line : guard_lines(promotion)) text.paragraph(2, {""}, line + ".", Ink::dim);
  return comparison + text.take();
}

std::string render_markdown(const Promotion& promotion, const Envelope& envelope) {
  const Comparison& comparison = promotion.comparison;
  std::string text = fmt::format(
      "# {}\n\n**{}**\n\n- date: {}\n- rule: at least 3 runs a side, a gain above {:g}%, "
      "no KPI lost by more than its allowance; risk {:g}%\n- base: {} ({})\n"
      "- candidate: {} ({})\n",
      promotion.idea.empty() ? "Promotion" : "Promotion of " + markdown_text(promotion.idea),
      markdown_text(conclusion_of(promotion)), envelope.created_utc, promotion.least_gain_percent,
      promotion.risk_percent, markdown_text(comparison.base.name),
      markdown_text(join(comparison.base.runs, ", ")), markdown_text(comparison.candidate.name),
      markdown_text(join(comparison.candidate.runs, ", ")));
  text += markdown_differences(comparison);
  if (const auto further = further_text(promotion); !further.empty()) text += "- " + further + "\n";
  for (const auto& line : guard_lines(promotion))
    text += fmt::format("- {}\n", markdown_text(line));
  for (const auto& stack : comparison.stacks)
    text += fmt::format("\n## {}\n\n{}", markdown_text(title_of(stack)),
                        markdown_table(stack, comparison.margin_percent));
  return text;
}

}  // namespace gpuready
