#include "bench/report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "bench/report/exit_rules.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace bench;

Tone tone_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::faster:
      return Tone::good;
    case Outcome::slower:
    case Outcome::lost:
      return Tone::bad;
    case Outcome::same:
      return Tone::neutral;
    case Outcome::inconclusive:
      return Tone::warn;
  }
  return Tone::neutral;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3f} us", ns * 1e-3);
  if (ns < 1e9) return fmt::format("{:.3f} ms", ns * 1e-6);
  return fmt::format("{:.3f} s", ns * 1e-9);
}

std::string count_text(double per_second) {
  constexpr std::pair<double, const char*> kScales[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, letter] : kScales)
    if (per_second >= scale) return fmt::format("{:.3f} {}/s", per_second / scale, letter);
  return fmt::format("{:.3f} /s", per_second);
}

std::string side_text(const ComparedSide& side) {
  return fmt::format("{}: {}", side.name, counted(side.runs.size(), "run"));
}

std::string interval_text(const KpiComparison& kpi) {
  if (!kpi.low_percent) return "";
  if (kpi.runs_for_interval)
    return too_few_text("runs", std::min(kpi.base_runs, kpi.candidate_runs),
                        *kpi.runs_for_interval);
  return fmt::format("{} to {}", gain_text(*kpi.low_percent), gain_text(*kpi.high_percent));
}

std::string difference_text(const Difference& difference) {
  return fmt::format("{}: {} against {}", difference.what, difference.base, difference.candidate);
}

std::string refused_names(const Comparison& comparison, std::string_view separator) {
  std::vector<std::string> names;
  for (const auto& difference : comparison.differences)
    if (difference.refused) names.push_back(difference.what);
  return join(names, separator);
}

// What does not count, by side.
std::vector<std::string> losses_text(const StackComparison& stack) {
  std::vector<std::string> texts;
  for (const auto& reason : stack.base_losses.reasons) texts.push_back("base: " + reason);
  for (const auto& reason : stack.candidate_losses.reasons) texts.push_back("candidate: " + reason);
  return texts;
}

std::vector<std::string> titles(const KpiComparison& kpi) {
  return {std::string(name_of(kpi.kpi)), kpi.base_value ? value_text(kpi.kpi, *kpi.base_value) : "",
          kpi.candidate_value ? value_text(kpi.kpi, *kpi.candidate_value) : "",
          kpi.gain_percent ? gain_text(*kpi.gain_percent) : "", interval_text(kpi)};
}

std::string lost_text(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const auto& stack : comparison.stacks)
    if (stack.outcome == Outcome::lost) names.push_back(stack.base_stack);
  return names.empty() ? ""
                       : fmt::format("; {} lost {}", comparison.candidate.name, join(names, ", "));
}

// Of a stack that is not compared at all.
std::string not_compared_text(const StackComparison& stack) {
  return fmt::format("{}: {}", stack.outcome == Outcome::lost ? "lost" : "not compared",
                     stack.reason);
}

// "paired runs, Student's t" of the first KPI that was tested.
std::string method_text(const StackComparison& stack) {
  const auto first = std::find_if(stack.kpis.begin(), stack.kpis.end(),
                                  [](const auto& kpi) { return !kpi.method.empty(); });
  if (first == stack.kpis.end()) return "";
  constexpr std::pair<std::string_view, std::string_view> kDesigns[] = {
      {"paired", "Runs alternated: pairs are compared."},
      {"mixed", "Runs do not alternate: the means of the sides are compared."},
      {"regular",
       "The same side ran first in each pair: what a linear drift would explain is not counted. "
       "Change the order from pair to pair (base, candidate, candidate, base) to need fewer runs."},
      {"in_blocks",
       "All runs of one side come before those of the other: what a linear drift would explain is "
       "not counted, which costs most of the certainty. Alternate the runs to need fewer."}};
  for (const auto& [name, text] : kDesigns)
    if (first->design == name) return std::string(text);
  return "";
}

// On what the noise was learned from, by KPI; a line each.
std::vector<std::string> learned_lines(const StackComparison& stack) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names;  // by source
  for (const auto& kpi : stack.kpis) {
    if (kpi.learned.empty()) continue;
    auto place = std::ranges::find(names, kpi.learned, [](const auto& one) { return one.first; });
    if (place == names.end()) place = names.insert(names.end(), {kpi.learned, {}});
    place->second.emplace_back(name_of(kpi.kpi));
  }
  std::vector<std::string> lines;
  for (const auto& [from, kpis] : names)
    lines.push_back(
        fmt::format("How far runs vary in {} was also learned from {}.", join(kpis, ", "), from));
  return lines;
}

bool is_wrong(const StackComparison& stack) {
  return stack.kpis.empty() || !losses_text(stack).empty();
}

void write_kpis(TerminalText& text, const StackComparison& stack, double margin_percent) {
  Table table{{{"KPI"},
               {"base", Align::right},
               {"candidate", Align::right},
               {"gain", Align::right},
               {"interval", Align::right, true},
               {"verdict", Align::left, true}},
              {}};
  for (const auto& kpi : stack.kpis) {
    if (!kpi.base_value && !kpi.candidate_value) continue;
    std::vector<Span> row;
    for (const auto& cell : titles(kpi)) row.push_back({cell, Ink::plain});
    row.push_back(
        {outcome_text(kpi, margin_percent), kpi.p ? ink_of(tone_of(kpi.outcome)) : Ink::dim});
    table.rows.push_back(std::move(row));
  }
  text.table(4, table);
  for (const auto& kpi : stack.kpis)
    if (!kpi.reason.empty() && (kpi.base_value || kpi.candidate_value))
      text.paragraph(4, {std::string(name_of(kpi.kpi)) + ": "}, kpi.reason, Ink::dim);
}

void write_stack(TerminalText& text, const StackComparison& stack, const Comparison& comparison,
                 const TerminalStyle& style) {
  text.blank();
  text.line(2, {{title_of(stack), Ink::bold}});
  if (stack.kpis.empty()) {
    text.paragraph(4, {text.mark(tone_of(stack.outcome)) + " "}, not_compared_text(stack));
    return;
  }
  if (!style.quiet) write_kpis(text, stack, comparison.margin_percent);
  for (const auto& lost : losses_text(stack))
    text.paragraph(4, {text.mark(Tone::warn) + " "}, lost);
  if (style.quiet) return;
  if (const auto method = method_text(stack); !method.empty())
    text.paragraph(4, {""}, method, Ink::dim);
  for (const auto& line : learned_lines(stack)) text.paragraph(4, {""}, line, Ink::dim);
}

}  // namespace

std::string value_text(Kpi kpi, double value) {
  switch (kpi) {
    case Kpi::p50:
    case Kpi::p95:
      return time_text(value);
    case Kpi::throughput:
      return count_text(value);
    case Kpi::energy:
      return fmt::format("{:.3f} mJ", value);
    case Kpi::memory:
      return format_bytes(static_cast<std::uint64_t>(value));
  }
  return "";
}

std::string gain_text(double percent) {
  if (!std::isfinite(percent) || percent > 1e5) return "> +100000%";
  return fmt::format("{:+.{}f}%", percent, std::fabs(percent) < 10 ? 2 : 1);
}

std::string too_few_text(std::string_view what, std::size_t count, std::size_t least) {
  return fmt::format("too few {} for an interval ({} of at least {})", what, count, least);
}

std::string outcome_text(const KpiComparison& kpi, double margin_percent) {
  const bool less = kpi.kpi == Kpi::energy || kpi.kpi == Kpi::memory;
  switch (kpi.outcome) {
    case Outcome::faster:
      return less ? "less" : kpi.kpi == Kpi::throughput ? "more" : "faster";
    case Outcome::slower:
      return less ? "more" : kpi.kpi == Kpi::throughput ? "less" : "slower";
    case Outcome::same:
      return fmt::format("same within {:g}%", margin_percent);
    case Outcome::inconclusive:
      return kpi.p || !kpi.design.empty() ? "inconclusive" : "not compared";
    case Outcome::lost:
      return "lost";
  }
  return "";
}

std::string title_of(const StackComparison& stack) {
  if (stack.base_stack == stack.candidate_stack) return stack.base_stack;
  return fmt::format("{} (base) against {}", stack.base_stack, stack.candidate_stack);
}

std::string conclusion_of(const Comparison& comparison) {
  if (comparison.refused())
    return fmt::format("These runs cannot be compared: they differ in {}.",
                       refused_names(comparison, ", "));
  std::size_t counts[5] = {};
  for (const auto& stack : comparison.stacks) ++counts[static_cast<std::size_t>(stack.outcome)];
  if (comparison.stacks.size() > 1)
    return fmt::format("Of {} stacks {} faster, {} slower, {} the same and {} inconclusive{}.",
                       comparison.stacks.size(), counts[0], counts[1], counts[2], counts[3],
                       lost_text(comparison));
  if (comparison.stacks.empty()) return "Nothing was compared.";
  const auto& stack = comparison.stacks[0];
  switch (stack.outcome) {
    case Outcome::faster:
      return fmt::format("{} is faster than {}: {}.", comparison.candidate.name,
                         comparison.base.name, stack.reason);
    case Outcome::slower:
      return fmt::format("{} is slower than {}: {}.", comparison.candidate.name,
                         comparison.base.name, stack.reason);
    case Outcome::same:
      return fmt::format("{} and {} are the same within {:g}%.", comparison.base.name,
                         comparison.candidate.name, comparison.margin_percent);
    case Outcome::inconclusive:
      return fmt::format("It is not decided: {}.", stack.reason);
    case Outcome::lost:
      return fmt::format("{} lost {}: {}.", comparison.candidate.name, stack.base_stack,
                         stack.reason);
  }
  return "";
}

std::string render_terminal(const Comparison& comparison, const Envelope& envelope,
                            const TerminalStyle& style) {
  TerminalText text(style);
  const bool refused = comparison.refused();
  if (!style.quiet) {
    text.heading("Benchmark comparison");
    text.paragraph(2, {"base       "}, side_text(comparison.base));
    text.paragraph(2, {"candidate  "}, side_text(comparison.candidate));
  }
  if (!comparison.differences.empty()) {
    text.blank();
    text.line(2, {{"These runs differ", Ink::bold}});
    for (const auto& difference : comparison.differences)
      text.paragraph(2, {text.mark(difference.refused ? Tone::bad : Tone::warn) + " "},
                     difference_text(difference));
  }
  for (const auto& stack : comparison.stacks)
    if (!style.quiet || is_wrong(stack)) write_stack(text, stack, comparison, style);
  text.blank();
  text.paragraph(0, {text.mark(gpuready::tone_of(envelope.exit)) + " "}, conclusion_of(comparison),
                 ink_of(gpuready::tone_of(envelope.exit)));
  if (refused && envelope.command == "bench compare")
    text.paragraph(
        2, {""},
        fmt::format("Give --allow {} to compare all the same.", refused_names(comparison, ",")));
  return text.take();
}

std::string markdown_table(const StackComparison& stack, double margin_percent) {
  if (stack.kpis.empty()) return fmt::format("**{}**\n", markdown_text(not_compared_text(stack)));
  std::string text =
      "| KPI | base | candidate | gain | interval | verdict |\n|---|---:|---:|---:|---|---|\n";
  for (const auto& kpi : stack.kpis) {
    if (!kpi.base_value && !kpi.candidate_value) continue;
    text +=
        fmt::format("| {} | {} |\n", join(titles(kpi), " | "), outcome_text(kpi, margin_percent));
  }
  for (const auto& line : learned_lines(stack)) text += "\n" + line + "\n";
  const auto lost = losses_text(stack);
  if (!lost.empty()) text += "\n";
  for (const auto& each : lost) text += fmt::format("- does not count: {}\n", markdown_text(each));
  return text;
}

std::string markdown_differences(const Comparison& comparison) {
  std::string text;
  for (const auto& difference : comparison.differences)
    text += fmt::format("- differs{}: {}\n", difference.refused ? " (refused)" : "",
                        markdown_text(difference_text(difference)));
  return text;
}

std::string render_markdown(const Comparison& comparison, const Envelope& envelope) {
  std::string text = fmt::format(
      "# Benchmark comparison\n\n**{}**\n\n- base: {}\n- candidate: {}\n",
      markdown_text(envelope.conclusion.value_or(conclusion_of(comparison))),
      markdown_text(side_text(comparison.base)), markdown_text(side_text(comparison.candidate)));
  text += markdown_differences(comparison);
  for (const auto& stack : comparison.stacks)
    text += fmt::format("\n## {}\n\n{}\n{}\n", markdown_text(title_of(stack)),
                        markdown_table(stack, comparison.margin_percent), method_text(stack));
  return text;
}

}  // namespace gpuready
