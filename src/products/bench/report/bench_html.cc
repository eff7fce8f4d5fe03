// `bench report` as one self-contained page: tables and inline SVG, no request to anywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/compare/ranking.h"
#include "bench/report/bench_plots.h"
#include "bench/report/bench_report.h"
#include "bench/report/compare_report.h"
#include "bench/report/history_report.h"
#include "bench/report/report_parts.h"
#include "bench/report/sweep_report.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

using namespace bench;

constexpr double kWidth = kPlotWidth, kLabel = 150, kRow = 34, kPlot = kWidth - kLabel - 40;
constexpr std::size_t kMostDots = 400;  // of a stack
constexpr std::size_t kLongName = 22;   // longer ones are drawn narrower

// Each repeat's samples as dots on one axis for all stacks, with the stack's median: what an
// average hides is seen here.
std::string distributions(const RunRecord& run, const Ranking& ranking) {
  std::size_t count = 0;
  double low = HUGE_VAL, high = 0, fastest = HUGE_VAL, slowest = 0;
  for (const auto& entry : ranking.ranked) {
    const auto samples = valid_samples_of(*run.stack(entry.id));
    if (samples.empty()) continue;
    count += samples.size();
    low = std::min(low, *std::ranges::min_element(samples));
    // The slowest 1% may lie far out; they are drawn at the edge.
    high = std::max({high, *percentile(samples, 0.99), low * 1.001});
    const double middle = *percentile(samples, 0.5);
    fastest = std::min(fastest, middle);
    slowest = std::max(slowest, middle);
  }
  if (count < 2) return {};
  const bool logarithmic = low > 0 && slowest > kFarApart * fastest;
  const auto x = [&](double ns) {
    const double share = logarithmic ? std::log(std::max(ns, low) / low) / std::log(high / low)
                                     : (ns - low) / (high - low);
    return kLabel + std::clamp(share, 0.0, 1.0) * kPlot;
  };
  const double bottom = kRow * static_cast<double>(ranking.ranked.size());
  const double height = bottom + kAxisHeight;
  std::string svg = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
      "aria-label=\"Distributions of samples\">",
      kWidth, height);
  for (const double tick : logarithmic ? logarithmic_ticks(low, high, 6) : ticks(low, high, 5))
    svg += svg_line(x(tick), 0, x(tick), bottom + 4, 0.2) +
           svg_text(x(tick), bottom + 16, "middle", value_text(Kpi::p50, tick));
  svg += svg_line(kLabel, bottom, kLabel + kPlot, bottom, 0.6) +
         svg_text(kLabel + kPlot / 2, bottom + 33, "middle",
                  fmt::format("time of an iteration{}; bar: the stack's p50; the slowest 1% at the "
                              "right edge",
                              logarithmic ? ", logarithmic" : ""));
  double y = kRow / 2;
  std::size_t colour = 0;
  for (const auto& entry : ranking.ranked) {
    svg += fmt::format(
        "<text x=\"0\" y=\"{:.1f}\" font-size=\"12\" fill=\"currentColor\"{}>{}</text>", y + 4,
        entry.id.size() <= kLongName
            ? ""
            : fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", kLabel - 8),
        escape_html(entry.id));
    const auto samples = valid_samples_of(*run.stack(entry.id));
    const std::size_t step = samples.size() / kMostDots + 1;
    for (std::size_t i = 0; i < samples.size(); i += step)
      // Spread in a fixed pattern, so that equal samples lie beside each other.
      svg += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\" fill=\"var(--c{})\" "
          "fill-opacity=\".45\"/>",
          x(samples[i]), y + static_cast<double>((i / step * 7) % 19) - 9, colour % 4);
    if (const auto middle = entry.latency.p50_ns)
      svg += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}v22\" stroke=\"currentColor\" "
          "stroke-width=\"2\"/>",
          x(*middle), y - 11);
    y += kRow;
    ++colour;
  }
  svg += "</svg>";
  return "<h3>Samples</h3>\n" + svg + "\n";
}

std::string ranking_table(const RunRecord& run, const Ranking& ranking) {
  std::string out;
  if (!ranking.ranked.empty())
    out += fmt::format(
        "<div "
        "class=\"scroll\"><table><thead><tr><th>stack</th><th>p50</th><th>p95</th><th>mean</"
        "th><th>{}</th>"
        "<th></th></tr></thead><tbody>\n",
        ranking.same_work ? "of the fastest, 99%" : "");
  for (const auto& stack : ranking.ranked) {
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(stack.id), time_or_none(stack.latency.p50_ns), p95_text(stack),
        time_or_none(stack.latency.mean_ns), ratio_text(ranking, stack), rank_text(ranking, stack));
  }
  if (!ranking.ranked.empty()) out += "</tbody></table></div>\n";
  for (const auto& note : {p95_note(ranking), learned_text(ranking), states_text(ranking)})
    if (!note.empty()) out += "<p>" + escape_html(note) + "</p>\n";
  for (const auto& note : run.notes) out += "<p>" + escape_html(note) + "</p>\n";
  if (!ranking.losses.empty()) out += "<p>Does not count:</p><ul>";
  for (const auto& lost : ranking.losses) out += "<li>" + escape_html(lost) + "</li>";
  if (!ranking.losses.empty()) out += "</ul>\n";
  if (ranking.others.empty()) return out;
  out += "<p>Not ranked:</p><ul>";
  for (const auto& other : ranking.others)
    out += "<li>" + escape_html(unranked_text(other)) + "</li>";
  return out + "</ul>\n";
}

}  // namespace

std::string render_html(const BenchReport& report) {
  std::string out;
  for (const auto& sweep : sweeps_of(report.runs)) out += html_sweep(sweep);
  for (const auto& run : report.runs) {
    const auto ranking = ranking_of(run);
    out += fmt::format("<section><h2>{} \u00b7 {}</h2>\n<div class=\"card\">{}{}</div>\n",
                       escape_html(run.tag), escape_html(workload_text(run.workload)),
                       ranking_table(run, ranking), distributions(run, ranking));
    out +=
        "<details class=\"card row\"><summary><span class=\"grow\"><b>Environment</b></span>"
        "</summary><ul>";
    for (const auto& [name, value] : environment_texts(run))
      out += fmt::format("<li>{}: {}</li>", escape_html(name), escape_html(value));
    out += "</ul></details></section>\n";
  }
  return html_page(report, Tone::neutral, out + html_history(report.history));
}

}  // namespace gpuready
