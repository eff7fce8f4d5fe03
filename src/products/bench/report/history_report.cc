#include "bench/report/history_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bench/report/compare_report.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"
#include "report/text_layout.h"

namespace gpuready {
namespace {

using namespace bench;

std::string title_of(const Series& series) {
  const auto work = work_text(series);
  return work.empty() ? series.stack : work + ", " + series.stack;
}

// The last values as a line of eight heights.
std::string curve(const Series& series, bool unicode) {
  constexpr std::size_t kMost = 24;
  constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!unicode || series.points.size() < 2) return "";
  const std::size_t from = series.points.size() > kMost ? series.points.size() - kMost : 0;
  const auto [least, most] = std::minmax_element(
      series.points.begin() + static_cast<std::ptrdiff_t>(from), series.points.end(),
      [](const auto& a, const auto& b) { return a.value < b.value; });
  const double low = least->value, range = most->value - low;
  std::string text;
  for (std::size_t i = from; i < series.points.size(); ++i)
    text +=
        kHeights[range > 0 ? static_cast<int>((series.points[i].value - low) / range * 7.99) : 0];
  return text;
}

}  // namespace

std::string work_text(const Series& series) {
  std::vector<std::string> parts;
  for (const auto* part : {&series.workload, &series.dtype, &series.device})
    if (!part->empty()) parts.push_back(*part);
  return join(parts, ", ");
}

std::string step_text(const Series& series, const Step& step) {
  return fmt::format("{}: {} to {} from run {}{}", gain_text(step.gain_percent),
                     value_text(series.kpi, step.before), value_text(series.kpi, step.after),
                     step.run, step.git_commit.empty() ? "" : ", commit " + step.git_commit);
}

std::string conclusion_of(const History& history) {
  std::size_t steps = 0;
  for (const auto& series : history.series) steps += series.steps.size();
  return fmt::format("{}, {} series of figures, {}.", counted(history.runs, "run"),
                     history.series.size(), counted(steps, "step"));
}

std::string render_terminal(const History& history, const TerminalStyle& style) {
  TerminalText text(style);
  std::string last;
  for (const auto& series : history.series) {
    if (style.quiet && series.steps.empty()) continue;
    if (const auto title = title_of(series); title != last) {
      text.blank();
      text.line(0, {{title, Ink::bold}});
      last = title;
    }
    text.line(2, {{pad(name_of(series.kpi), 11)},
                  {pad(value_text(series.kpi, series.points.back().value), 14, Align::right)},
                  {fmt::format("  {}  ", counted(series.points.size(), "run")), Ink::dim},
                  {curve(series, text.unicode())}});
    for (const auto& step : series.steps)
      text.paragraph(4, {text.mark(step.gain_percent > 0 ? Tone::good : Tone::bad) + " "},
                     step_text(series, step));
  }
  text.blank();
  for (const auto& note : history.notes) text.paragraph(0, {text.mark(Tone::warn) + " "}, note);
  text.paragraph(0, {""}, conclusion_of(history));
  return text.take();
}

std::string render_markdown(const History& history, const Envelope&) {
  std::string text = fmt::format("# Benchmark history\n\n{}\n", conclusion_of(history));
  for (const auto& note : history.notes) text += "\n- " + markdown_text(note) + "\n";
  std::string last;
  for (const auto& series : history.series) {
    if (const auto title = title_of(series); title != last) {
      text += fmt::format("\n## {}\n\n", markdown_text(title));
      last = title;
    }
    text += fmt::format("- {}: {} in the last of {}\n", name_of(series.kpi),
                        value_text(series.kpi, series.points.back().value),
                        counted(series.points.size(), "run"));
    for (const auto& step : series.steps)
      text += fmt::format("  - {}\n", markdown_text(step_text(series, step)));
  }
  return text;
}

}  // namespace gpuready
