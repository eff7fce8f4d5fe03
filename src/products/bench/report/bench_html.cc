// `bench report` as one self-contained page: tables and inline SVG, no request to anywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/compare/ranking.h"
#include "bench/report/bench_report.h"
#include "bench/report/compare_report.h"
#include "bench/report/report_parts.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

using namespace bench;

constexpr double kWidth = 640, kLabel = 150, kRow = 34, kPlot = kWidth - kLabel - 40;
constexpr std::size_t kMostDots = 400;  // of a stack
constexpr double kAxis = 40;            // height of an axis with its ticks and its title
constexpr double kFarApart = 5;         // stacks that differ by more need a logarithmic axis
constexpr std::size_t kLongName = 22;   // longer ones are drawn narrower

// Round numbers from `low` to `high`: steps of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, double most) {
  const double rough = (high - low) / most;
  if (!(rough > 0)) return {low};
  double step = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (step * factor >= rough) {
      step *= factor;
      break;
    }
  std::vector<double> all;
  for (double at = std::ceil(low / step) * step; at <= high + step * 1e-6; at += step)
    all.push_back(at);
  return all;
}

// 1, 2 and 5 times powers of ten, or only these where that is more than `most`.
std::vector<double> logarithmic_ticks(double low, double high, std::size_t most) {
  std::vector<double> all, tens;
  for (double ten = std::pow(10, std::floor(std::log10(low))); ten <= high; ten *= 10) {
    if (ten >= low) tens.push_back(ten);
    for (const double factor : {1.0, 2.0, 5.0})
      if (ten * factor >= low && ten * factor <= high) all.push_back(ten * factor);
  }
  return all.size() > most ? tens : all;
}

std::string svg_text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" fill=\"currentColor\" "
      "text-anchor=\"{}\">{}</text>",
      x, y, anchor, escape_html(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, double opacity) {
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"currentColor\" "
      "stroke-opacity=\"{}\"/>",
      x1, y1, x2, y2, opacity);
}

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
  const double height = bottom + kAxis;
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

std::string ranking_table(const Ranking& ranking) {
  std::string out;
  if (!ranking.ranked.empty())
    out += fmt::format(
        "<table><thead><tr><th>stack</th><th>p50</th><th>p95</th><th>mean</th><th>{}</th>"
        "<th></th></tr></thead><tbody>\n",
        ranking.same_work ? "of the fastest, 99%" : "");
  for (const auto& stack : ranking.ranked) {
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(stack.id), time_or_none(stack.latency.p50_ns), p95_text(stack),
        time_or_none(stack.latency.mean_ns), ratio_text(ranking, stack), rank_text(ranking, stack));
  }
  if (!ranking.ranked.empty()) out += "</tbody></table>\n";
  if (const auto note = p95_note(ranking); !note.empty()) out += "<p>" + note + "</p>\n";
  if (!ranking.losses.empty()) out += "<p>Does not count:</p><ul>";
  for (const auto& lost : ranking.losses) out += "<li>" + escape_html(lost) + "</li>";
  if (!ranking.losses.empty()) out += "</ul>\n";
  if (ranking.others.empty()) return out;
  out += "<p>Not ranked:</p><ul>";
  for (const auto& other : ranking.others)
    out += "<li>" + escape_html(unranked_text(other)) + "</li>";
  return out + "</ul>\n";
}

std::string curve(const Series& series) {
  constexpr double kLeft = 80, kHeight = 110, kBottom = kHeight - kAxis, kTop = 8;
  if (series.points.size() < 2) return {};
  double low = HUGE_VAL, high = 0;
  for (const auto& point : series.points) {
    low = std::min(low, point.value);
    high = std::max(high, point.value);
  }
  if (!(high > low)) high = low * 1.001;
  const auto x = [&](std::size_t i) {
    return kLeft + 8 +
           static_cast<double>(i) / static_cast<double>(series.points.size() - 1) *
               (kWidth - kLeft - 16);
  };
  const auto y = [&](double value) {
    return kBottom - 8 - (value - low) / (high - low) * (kBottom - kTop - 8);
  };
  std::string line, dots, axes;
  for (const double tick : ticks(low, high, 3))
    axes += svg_line(kLeft, y(tick), kWidth, y(tick), 0.2) +
            svg_text(kLeft - 6, y(tick) + 4, "end", value_text(series.kpi, tick));
  axes +=
      svg_line(kLeft, kTop, kLeft, kBottom, 0.6) + svg_line(kLeft, kBottom, kWidth, kBottom, 0.6) +
      svg_text(kLeft, kBottom + 16, "start", series.points.front().started_utc) +
      svg_text(kWidth, kBottom + 16, "end", series.points.back().started_utc) +
      svg_text(
          (kLeft + kWidth) / 2, kBottom + 33, "middle",
          fmt::format("runs in time; {} is better", more_is_better(series.kpi) ? "more" : "less"));
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const auto& point = series.points[i];
    line += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x(i), y(point.value));
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"var(--c0)\"><title>{} "
        "{}</title></circle>",
        x(i), y(point.value), escape_html(point.run),
        escape_html(value_text(series.kpi, point.value)));
    for (const auto& step : series.steps)
      if (step.run == point.run)
        dots += fmt::format(
            "<path d=\"M{:.1f} {}V{}\" stroke=\"var(--{})\" "
            "stroke-dasharray=\"3 3\"/>",
            x(i), kTop, kBottom, step.gain_percent > 0 ? "good" : "bad");
  }
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} from run to run\">"
      "<path d=\"{}\" fill=\"none\" stroke=\"var(--c0)\" stroke-width=\"1.5\"/>{}{}</svg>\n",
      kWidth, kHeight, name_of(series.kpi), line, dots, axes);
}

std::string history_section(const History& history) {
  std::string out;
  for (const auto& series : history.series) {
    const auto drawn = curve(series);
    if (drawn.empty()) continue;
    out += fmt::format("<div class=\"card\"><h3>{}, {}</h3><p>{}, {} runs, last {}</p>{}",
                       escape_html(series.stack), name_of(series.kpi), escape_html(series.workload),
                       series.points.size(),
                       escape_html(value_text(series.kpi, series.points.back().value)), drawn);
    for (const auto& step : series.steps)
      out += fmt::format("<p>{} from run {} {}</p>", gain_text(step.gain_percent),
                         escape_html(step.run), escape_html(step.git_commit));
    out += "</div>\n";
  }
  return out.empty() ? out : "<section><h2>History</h2>\n" + out + "</section>\n";
}

}  // namespace

std::string render_html(const BenchReport& report) {
  const auto conclusion = conclusion_of(report);
  std::string out = html_head(conclusion) +
                    fmt::format(
                        "<body>\n<div class=\"top\">"
                        "<span class=\"brand\">gpu<i>ready</i></span><span>bench report</span>"
                        "<span class=\"meta\">{}</span></div>\n<main>\n"
                        "<section class=\"card hero neutral\"><div><h1>{}</h1></div></section>\n",
                        escape_html(report.created_utc), escape_html(conclusion));
  for (const auto& run : report.runs) {
    const auto ranking = ranking_of(run);
    out += fmt::format("<section><h2>{} \u00b7 {}</h2>\n<div class=\"card\">{}{}</div>\n",
                       escape_html(run.tag), escape_html(workload_text(run.workload)),
                       ranking_table(ranking), distributions(run, ranking));
    out +=
        "<details class=\"card row\"><summary><span class=\"grow\"><b>Environment</b></span>"
        "</summary><ul>";
    for (const auto& [name, value] : environment_texts(run))
      out += fmt::format("<li>{}: {}</li>", escape_html(name), escape_html(value));
    out += "</ul></details></section>\n";
  }
  out += history_section(report.history);
  for (const auto& note : report.history.notes) out += "<p>" + escape_html(note) + "</p>\n";
  return out + fmt::format("<footer>gpuready {}</footer>\n</main>\n</body>\n</html>\n",
                           escape_html(report.tool_version));
}

}  // namespace gpuready
