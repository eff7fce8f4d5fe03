// `bench history` as one self-contained page: each workload with its figures over runs and commits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/report/bench_plots.h"
#include "bench/report/compare_report.h"
#include "bench/report/history_report.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

using namespace bench;

constexpr double kLeft = 80, kHeight = 150, kBottom = kHeight - kAxisHeight, kTop = 8;
constexpr double kCommit = 68;  // width of a short commit

std::string short_commit(const std::string& commit) { return commit.substr(0, 10); }

// Each run as a dot over its commit; a step is a dashed line.
std::string curve(const Series& series) {
  if (series.points.size() < 2) return {};
  const auto [least, most] = std::ranges::minmax_element(series.points, {}, &HistoryPoint::value);
  const double low = least->value, high = std::max(most->value, low * 1.001);
  const auto x = [&](std::size_t i) {
    return kLeft + 8 +
           static_cast<double>(i) / static_cast<double>(series.points.size() - 1) *
               (kPlotWidth - kLeft - 16);
  };
  const auto y = [&](double value) {
    return kBottom - 8 - (value - low) / (high - low) * (kBottom - kTop - 8);
  };
  std::string line, dots, axes;
  for (const double tick : ticks(low, high, 4))
    axes += svg_line(kLeft, y(tick), kPlotWidth, y(tick), 0.2) +
            svg_text(kLeft - 6, y(tick) + 4, "end", value_text(series.kpi, tick));
  axes += svg_line(kLeft, kTop, kLeft, kBottom, 0.6) +
          svg_line(kLeft, kBottom, kPlotWidth, kBottom, 0.6) +
          svg_text((kLeft + kPlotWidth) / 2, kBottom + 33, "middle",
                   fmt::format("runs from {} to {}; {} is better",
                               series.points.front().started_utc, series.points.back().started_utc,
                               more_is_better(series.kpi) ? "more" : "less"));
  double free_from = 0;
  const std::string* commit = nullptr;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const auto& point = series.points[i];
    line += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x(i), y(point.value));
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"var(--c0)\"><title>{} {} "
        "{}</title></circle>",
        x(i), y(point.value), escape_html(point.run), escape_html(short_commit(point.git_commit)),
        escape_html(value_text(series.kpi, point.value)));
    const double label = std::min(x(i) - 4, kPlotWidth - kCommit);
    if ((commit == nullptr || *commit != point.git_commit) && label >= free_from) {
      axes += svg_text(label, kBottom + 16, "start", short_commit(point.git_commit));
      free_from = label + kCommit;
    }
    commit = &point.git_commit;
    for (const auto& step : series.steps)
      if (step.run == point.run)
        dots +=
            fmt::format("<path d=\"M{:.1f} {}V{}\" stroke=\"var(--{})\" stroke-dasharray=\"3 3\"/>",
                        x(i), kTop, kBottom, step.gain_percent > 0 ? "good" : "bad");
  }
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} from run to run\">"
      "<path d=\"{}\" fill=\"none\" stroke=\"var(--c0)\" stroke-width=\"1.5\"/>{}{}</svg>\n",
      kPlotWidth, kHeight, name_of(series.kpi), line, dots, axes);
}

std::string series_card(const Series& series) {
  const auto drawn = curve(series);
  if (drawn.empty()) return {};
  std::string out =
      fmt::format("<div class=\"card\"><h3>{}, {}</h3><p>{} runs on machine {}, last {}</p>{}",
                  escape_html(series.stack), name_of(series.kpi), series.points.size(),
                  escape_html(series.fingerprint),
                  escape_html(value_text(series.kpi, series.points.back().value)), drawn);
  for (const auto& step : series.steps)
    out += fmt::format("<p>{}</p>", escape_html(step_text(series, step)));
  return out + "</div>\n";
}

}  // namespace

std::string html_history(const History& history) {
  std::string out, last;
  for (const auto& series : history.series) {
    const auto card = series_card(series);
    if (card.empty()) continue;
    if (const auto title = work_text(series); title != last) {
      out += fmt::format("{}<section><h2>History of {}</h2>\n", last.empty() ? "" : "</section>\n",
                         escape_html(title));
      last = title;
    }
    out += card;
  }
  if (!out.empty()) out += "</section>\n";
  for (const auto& note : history.notes) out += "<p>" + escape_html(note) + "</p>\n";
  return out;
}

std::string render_html(const History& history, const Envelope& envelope) {
  return html_page(envelope, Tone::neutral, html_history(history));
}

}  // namespace gpuready
