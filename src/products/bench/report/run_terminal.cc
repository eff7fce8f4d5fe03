#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "bench/report/report_parts.h"
#include "bench/report/run_report.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace bench;

std::optional<double> typical_ns(const StackResult& stack) {
  const Latency latency = latency_of(stack);
  return latency.p50_ns ? latency.p50_ns : latency.mean_ns;
}

// Those that were timed, the fastest first where it is the same work, and at last those that are
// not ranked; the others as they stand.
std::vector<const StackResult*> timed_stacks(const RunRecord& run) {
  std::vector<const StackResult*> stacks;
  for (const StackResult& stack : run.stacks)
    if (stack.status == StackStatus::ok && typical_ns(stack)) stacks.push_back(&stack);
  if (run.protocol.is_ours())
    std::ranges::stable_sort(stacks, [](const StackResult* a, const StackResult* b) {
      return std::pair(!a->is_contestant(), *typical_ns(*a)) <
             std::pair(!b->is_contestant(), *typical_ns(*b));
    });
  return stacks;
}

std::size_t samples_of(const StackResult& stack) {
  std::size_t count = 0;
  for (const Repeat& repeat : stack.repeats) count += repeat.valid_samples().size();
  return count;
}

std::string rate_text(const RunRecord& run, const Latency& latency) {
  if (!run.workload.flops || *run.workload.flops == 0 || !latency.p50_ns) return "";
  return quantity_text(static_cast<double>(*run.workload.flops) / *latency.p50_ns * 1e9, "FLOP/s");
}

std::string first_cold(const StackResult& stack) {
  std::vector<double> cold;
  for (const Repeat& repeat : stack.repeats)
    cold.insert(cold.end(), repeat.cold_samples_ns.begin(), repeat.cold_samples_ns.end());
  return time_or_none(percentile(std::move(cold), 0.5));
}

std::string work_text(const RunRecord& run) {
  const Workload& work = run.workload;
  const std::string& where =
      run.environment.gpus.empty() ? work.device : run.environment.gpus[0].name;
  std::string text = work.name.empty() ? "a workload without a name" : work.name;
  if (!work.dtype.empty()) text += " in " + work.dtype;
  if (!where.empty()) text += " on " + where;
  for (const auto& [name, size] : work.shape) text += fmt::format(", {} {}", name, size);
  return text;
}

void write_figures(TerminalText& text, const RunRecord& run) {
  text.heading(work_text(run));
  Table table;
  table.columns = {{"stack", Align::left, true},
                   {"p50", Align::right},
                   {"p95", Align::right},
                   {"ratio", Align::right, true},
                   {"FLOP/s", Align::right, false, 2},
                   {"cold", Align::right, false, 3},
                   {"samples", Align::right, false, 4}};
  const auto stacks = timed_stacks(run);
  const Ranking ranking = ranking_of(run);
  const auto ratio = [&](const StackResult& stack) {
    if (ranking.same_work)
      for (const auto& entry : ranking.ranked)
        if (entry.id == stack.id) return ratio_text(ranking, entry);
    return std::string("-");
  };
  for (const StackResult* stack : stacks) {
    const Latency latency = latency_of(*stack);
    const std::size_t samples = samples_of(*stack);
    table.rows.push_back(
        {{fmt::format("{}{}{}", stack->name(), stack->mode == "proxy" ? " (proxy)" : "",
                      stack->is_verified() ? "" : " (unverified)")},
         {typical_text(latency)},
         {samples >= kSamplesForP95 ? time_or_none(p95_of(*stack)) : "-"},
         {ratio(*stack)},
         {rate_text(run, latency)},
         {first_cold(*stack)},
         {std::to_string(samples)}});
  }
  if (!stacks.empty()) text.table(2, table);
  if (const auto note = learned_text(ranking); !note.empty())
    text.paragraph(2, {""}, note, Ink::dim);
}

}  // namespace

std::string conclusion_of(const RunRecord& run) {
  const auto stacks = timed_stacks(run);
  if (stacks.empty()) return "No stack was timed.";
  if (!run.is_whole()) return "The run was interrupted: it is not whole, and nothing is ranked.";
  const Ranking ranking = ranking_of(run);
  const Latency latency = latency_of(*stacks[0]);
  const std::string time =
      latency.p50_ns ? typical_text(latency) + " (p50)" : typical_text(latency);
  if (ranking.ranked.empty())
    return fmt::format(
        "{}: {}. It is not ranked: {}.", stacks[0]->name(), time,
        std::ranges::find(ranking.others, stacks[0]->id, &UnrankedStack::id)->reason);
  return fastest_text(ranking, stacks[0]->name(), "", time) + ".";
}

std::string render_terminal(const RunRecord& run, const Envelope& envelope, const std::string& path,
                            const TerminalStyle& style) {
  TerminalText text(style);
  if (!style.quiet) write_figures(text, run);
  for (const StackResult& stack : run.stacks) {
    if (stack.status == StackStatus::ok && stack.reason.empty()) continue;
    const bool missing = stack.status == StackStatus::unavailable;
    if (style.quiet && missing && envelope.exit == Exit::ok) continue;
    text.paragraph(2, {text.mark(missing ? Tone::neutral : Tone::bad) + " "},
                   fmt::format("{}: {}: {}{}", stack.id, name_of(stack.status), stack.reason,
                               stack.cure.empty() ? "" : ". To get it: " + stack.cure),
                   missing ? Ink::dim : Ink::plain);
  }
  text.blank();
  if (!style.quiet)
    for (const std::string& note : run.notes) text.paragraph(2, {""}, note, Ink::dim);
  text.paragraph(2, {""}, envelope.conclusion.value_or(""), Ink::bold);
  if (!style.quiet)
    text.paragraph(2, {""}, fmt::format("Kept as {} with the tag {}.", path, run.tag));
  return text.take();
}

}  // namespace gpuready
