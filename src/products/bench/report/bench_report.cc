#include "bench/report/bench_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "bench/compare/ranking.h"
#include "bench/report/compare_report.h"
#include "bench/report/history_report.h"
#include "bench/report/report_parts.h"
#include "bench/report/sweep_report.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"
#include "report/text_layout.h"

namespace gpuready {

using namespace bench;

std::vector<std::pair<std::string, std::string>> environment_texts(const RunRecord& run) {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) texts.emplace_back(name, text);
  };
  const Environment& environment = run.environment;
  for (const auto& gpu : environment.gpus) add("GPU", gpu.name + " " + gpu.uuid);
  add("driver", environment.driver_version);
  add("CUDA", environment.cuda_version);
  add("kernel", environment.kernel_release);
  add("OS", environment.os_name);
  add("CPU", environment.cpu_model);
  for (const auto& [name, value] : environment.variables) add(name.c_str(), value);
  add("commit", run.git_commit + (run.git_dirty.value_or(false) ? " with changes" : ""));
  add("started", run.started_utc);
  add("fingerprint", environment.fingerprint());
  return texts;
}

std::string ratio_text(const Ranking& ranking, const RankedStack& stack) {
  if (!ranking.same_work) return "";
  if (&stack == &ranking.ranked.front()) return "1";
  if (stack.repeats_for_interval)
    return fmt::format("{:.3f}; {}", *stack.ratio,
                       too_few_text("repeats", stack.repeats, *stack.repeats_for_interval));
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", *stack.ratio, *stack.low, *stack.high);
}

std::string rank_text(const Ranking& ranking, const RankedStack& stack) {
  if (!ranking.same_work) return "";
  if (&stack == &ranking.ranked.front())
    return not_told_apart(ranking).empty() ? "fastest" : "shortest time";
  return stack.told_apart ? "slower" : "not told apart";
}

std::string unranked_text(const bench::UnrankedStack& stack) {
  return stack.id + ": " + (stack.ns ? value_text(Kpi::p50, *stack.ns) + ", " : "") + stack.status +
         (stack.reason.empty() ? "" : ": " + stack.reason);
}
std::string time_or_none(const std::optional<double>& ns) {
  return ns ? value_text(Kpi::p50, *ns) : "";
}

std::string typical_text(const Latency& latency) {
  if (latency.p50_ns || !latency.mean_ns) return time_or_none(latency.p50_ns);
  return time_or_none(latency.mean_ns) + " (mean)";
}

std::string p95_text(const RankedStack& stack) {
  const auto text = time_or_none(stack.latency.p95_ns);
  return text.empty() || stack.p95_counts ? text : text + "*";
}
std::string p95_note(const Ranking& ranking) {
  for (const auto& stack : ranking.ranked)
    if (p95_text(stack).ends_with('*'))
      return fmt::format("* of fewer than {} samples: no figure to compare", kSamplesForP95);
  return "";
}

std::string fastest_text(const Ranking& ranking, std::string_view name, std::string_view where,
                         std::string_view time) {
  if (ranking.ranked.size() == 1) return fmt::format("{}{}: {}", name, where, time);
  const auto of = counted(ranking.ranked.size(), "stack").append(where);
  const auto others = not_told_apart(ranking);
  if (others.empty()) return fmt::format("{} is the fastest of {}: {}", name, of, time);
  const auto states = too_few_to_tell_states(ranking);
  return fmt::format(
      "{} has the shortest time of {}: {}. The repeats do not tell it apart from {}{}{}", name, of,
      time, join(others, ", "), states.empty() ? "" : ": ", states);
}

std::string learned_text(const Ranking& ranking) {
  return ranking.learned.empty()
             ? ""
             : fmt::format("How far repeats vary was also learned from {}.", ranking.learned);
}

std::string states_text(const Ranking& ranking) {
  const auto why = too_few_to_tell_states(ranking);
  if (why.empty()) return "";
  std::vector<std::string> names;
  for (const auto& stack : ranking.ranked)
    if (stack.repeats_for_states) names.push_back(stack.id);
  return fmt::format("Of {}: {}.", join(names, ", "), why);
}

std::string conclusion_of(const BenchReport& report) {
  if (report.runs.empty()) return "No run.";
  const auto ranking = ranking_of(report.runs.back());
  if (ranking.ranked.empty()) return "No stack of the last run could be ranked.";
  if (!ranking.same_work)
    return fmt::format(
        "{} of {} in the last of {}, for {}; each is work of its own, and none is ranked.",
        counted(ranking.ranked.size(), "benchmark"), report.runs.back().protocol.origin,
        counted(report.runs.size(), "run"), workload_text(report.runs.back().workload));
  const auto& best = ranking.ranked.front();
  const auto where = report.runs.size() == 1
                         ? std::string()
                         : fmt::format(" in the last of {} tables", report.runs.size());
  const auto time = fmt::format("{} for {}", typical_text(best.latency),
                                workload_text(report.runs.back().workload));
  return fastest_text(ranking, best.id, where, time) + ".";
}

std::string render_markdown(const BenchReport& report) {
  std::string text =
      fmt::format("# Benchmark report\n\n**{}**\n", markdown_text(conclusion_of(report)));
  for (const auto& sweep : sweeps_of(report.runs)) text += markdown_sweep(sweep);
  for (const auto& run : report.runs) {
    text += fmt::format("\n## {}: {}\n\n", markdown_text(run.tag),
                        markdown_text(workload_text(run.workload)));
    const auto ranking = ranking_of(run);
    if (!ranking.ranked.empty())
      text += fmt::format("| stack | p50 | p95 | mean | {} | |\n|---|---:|---:|---:|---|---|\n",
                          ranking.same_work ? "of the fastest" : "");
    for (const auto& stack : ranking.ranked) {
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_text(stack.id),
                          time_or_none(stack.latency.p50_ns), p95_text(stack),
                          time_or_none(stack.latency.mean_ns), ratio_text(ranking, stack),
                          rank_text(ranking, stack));
    }
    if (const auto note = p95_note(ranking); !note.empty()) text += "\n\\" + note + "\n";
    for (const auto& note : {learned_text(ranking), states_text(ranking)})
      if (!note.empty()) text += "\n" + markdown_text(note) + "\n";
    for (const auto& note : run.notes) text += "\n" + markdown_text(note) + "\n";
    if (!ranking.losses.empty()) text += "\nDoes not count:\n\n";
    for (const auto& lost : ranking.losses) text += "- " + markdown_text(lost) + "\n";
    if (!ranking.others.empty()) text += "\nNot ranked:\n\n";
    for (const auto& other : ranking.others)
      text += "- " + markdown_text(unranked_text(other)) + "\n";
    text += "\n";
    for (const auto& [name, value] : environment_texts(run))
      text += fmt::format("- {}: {}\n", markdown_text(name), markdown_text(value));
  }
  return text + "\n" + render_markdown(report.history, report).substr(2);
}

std::string render_terminal(const BenchReport& report, const TerminalStyle& style) {
  TerminalText text(style);
  for (const auto& run : report.runs) {
    if (style.quiet) break;
    text.blank();
    text.line(0, {{run.tag, Ink::bold}, {"  " + workload_text(run.workload), Ink::dim}});
    const auto ranking = ranking_of(run);
    Table table{{{"stack", Align::left, true},
                 {"p50", Align::right},
                 {"p95", Align::right},
                 {ranking.same_work ? "of the fastest" : "", Align::left, true}},
                {}};
    for (const auto& stack : ranking.ranked) {
      table.rows.push_back({{stack.id},
                            {typical_text(stack.latency)},
                            {p95_text(stack)},
                            {ratio_text(ranking, stack)}});
    }
    text.table(2, table);
    for (const auto& note : {p95_note(ranking), learned_text(ranking), states_text(ranking)})
      if (!note.empty()) text.paragraph(2, {""}, note, Ink::dim);
    for (const auto& note : run.notes) text.paragraph(2, {""}, note, Ink::dim);
    for (const auto& lost : ranking.losses) text.paragraph(2, {text.mark(Tone::warn) + " "}, lost);
    for (const auto& other : ranking.others)
      text.paragraph(2, {""}, unranked_text(other), Ink::dim);
  }
  if (!style.quiet)
    for (const auto& sweep : sweeps_of(report.runs)) print_sweep(text, sweep);
  text.blank();
  for (const auto& note : report.history.notes)
    text.paragraph(0, {text.mark(Tone::warn) + " "}, note);
  text.paragraph(0, {""}, conclusion_of(report));
  return text.take();
}

}  // namespace gpuready
