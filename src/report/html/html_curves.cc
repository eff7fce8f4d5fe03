// What was sampled, as curves: inline SVG that needs nothing from outside.
#include "report/html/html_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/html/html_parts.h"
#include "report/sampled.h"

namespace gpuready {
namespace {

// In units of the drawing, which is about as wide on paper as a phone's screen.
constexpr double kWidth = 360, kLeft = 40, kRight = 6, kTop = 8, kPlotHeight = 110;
constexpr double kAxisHeight = 26, kLaneHeight = 15;
constexpr double kCharacter = 5.6;       // of a span's label
constexpr std::size_t kMostDrawn = 700;  // points a curve: two for each unit of width
constexpr std::size_t kMostLanes = 4;

struct Curve {
  const SampleSeries* series = nullptr;
  double scale = 1;
};
struct Line {
  std::string label;
  double value = 0;
};
struct Chart {
  std::string title, unit;
  std::vector<Curve> curves;
  std::vector<Line> lines;  // limits
  bool from_zero = true;
  std::optional<double> to;  // the highest value there can be
  bool counts = false;       // only whole numbers
};
struct Axis {
  double from = 0, to = 1, step = 1;
};

// Ticks at 1, 2 or 5 times a power of ten.
double nice_step(double span, int ticks) {
  if (!(span > 0)) return 1;
  const double raw = span / ticks, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power * 1.0001) return factor * power;
  return 10 * power;
}

Axis axis_of(double low, double high, bool counts) {
  constexpr int kTicks = 4;
  if (high - low < 1e-9) high = low + 1;
  Axis axis;
  axis.step = nice_step(high - low, kTicks);
  if (counts) axis.step = std::max(axis.step, 1.0);
  axis.from = std::floor(low / axis.step) * axis.step;
  axis.to = std::ceil(high / axis.step - 1e-9) * axis.step;
  return axis;
}

Axis value_axis(const Chart& chart) {
  double low = 1e300, high = -1e300;
  for (const Curve& curve : chart.curves) {
    low = std::min(low, curve.series->min * curve.scale);
    high = std::max(high, curve.series->max * curve.scale);
  }
  for (const Line& line : chart.lines) high = std::max(high, line.value);
  if (chart.from_zero) low = 0;
  if (chart.to) high = *chart.to;
  return axis_of(low, high, chart.counts);
}

// From `from` to `to`. Not by adding up: a step is lost in a number that is large enough.
std::vector<double> ticks(double from, double to, double step) {
  constexpr int kMost = 20;
  std::vector<double> out;
  for (int i = 0; i < kMost && from + i * step <= to + step * 1e-6; ++i)
    out.push_back(from + i * step);
  return out;
}

std::string tick_text(double value, double step) {
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fmt::format("{:.{}f}", value == 0 ? 0.0 : value, decimals);
}

struct TimeUnit {
  const char* name;
  double ms;
};
TimeUnit time_unit(double span_ms) {
  if (span_ms < 240e3) return {"s", 1e3};
  return span_ms < 4 * 3600e3 ? TimeUnit{"min", 60e3} : TimeUnit{"h", 3600e3};
}

struct TestSpan {
  std::string name;
  double from_ms, to_ms;
  Tone tone;
  std::size_t lane = 0;
};

// Maps times and values to the drawing.
struct Frame {
  double from_ms, to_ms;
  Axis values;
  double x(double t_ms) const {
    const double part = (t_ms - from_ms) / (to_ms - from_ms);
    return kLeft + std::clamp(part, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    const double part = (value - values.from) / (values.to - values.from);
    return kTop + (1 - std::clamp(part, 0.0, 1.0)) * kPlotHeight;
  }
};

// Of many points the least and the most of each stretch, so that no peak is lost.
std::string polyline(const Curve& curve, const Frame& frame, std::size_t colour) {
  const auto& t = curve.series->t_ms;
  const auto& v = curve.series->value;
  const std::size_t count = std::min(t.size(), v.size());
  const std::size_t stretch = count <= kMostDrawn ? 1 : (2 * count + kMostDrawn - 1) / kMostDrawn;
  std::string points;
  const auto add = [&](std::size_t i) {
    if (std::isfinite(t[i]) && std::isfinite(v[i]))
      points += fmt::format("{:.1f},{:.1f} ", frame.x(t[i]), frame.y(v[i] * curve.scale));
  };
  for (std::size_t begin = 0; begin < count; begin += stretch) {
    const auto first = v.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = v.begin() + static_cast<std::ptrdiff_t>(std::min(count, begin + stretch));
    const auto [low, high] = std::minmax_element(first, last);
    const auto a = static_cast<std::size_t>(std::min(low, high) - v.begin());
    const auto b = static_cast<std::size_t>(std::max(low, high) - v.begin());
    add(a);
    if (b != a) add(b);
  }
  if (points.empty()) return {};
  points.pop_back();
  // A single sample is a line of no length, which is not drawn.
  if (count == 1)
    return fmt::format("<circle class=\"dot c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", colour,
                       frame.x(t[0]), frame.y(v[0] * curve.scale));
  return fmt::format("<polyline class=\"curve c{}\" points=\"{}\"/>\n", colour, points);
}

std::string grid(const Frame& frame, const Chart& chart) {
  std::string out;
  const Axis& axis = frame.values;
  for (const double value : ticks(axis.from, axis.to, axis.step))
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text class=\"end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}"
        "</text>",
        kLeft, frame.y(value), kWidth - kRight, kLeft - 5, frame.y(value) + 3.5,
        tick_text(value, axis.step));
  for (const Line& line : chart.lines)
    out += fmt::format(
        "<path class=\"limit\" d=\"M{0} {1:.1f}H{2}\"/><text class=\"end limit-text\" x=\"{2}\" "
        "y=\"{3:.1f}\">{4}</text>",
        kLeft, frame.y(line.value), kWidth - kRight,
        frame.y(line.value) < kTop + 14 ? frame.y(line.value) + 11 : frame.y(line.value) - 3,
        escape_html(line.label));
  return out + "\n";
}

std::string time_axis(const Frame& frame) {
  const TimeUnit unit = time_unit(frame.to_ms - frame.from_ms);
  const double step = nice_step((frame.to_ms - frame.from_ms) / unit.ms, 5);
  const double bottom = kTop + kPlotHeight;
  std::string out;
  const double first = std::ceil(frame.from_ms / unit.ms / step - 1e-9) * step;
  for (const double at : ticks(first, frame.to_ms / unit.ms, step)) {
    const double x = frame.x(at * unit.ms);
    // The last tick's number would run into the unit.
    const bool numbered = x < kWidth - kRight - 24;
    out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1}v4\"/>", x, bottom);
    if (numbered)
      out += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>", x, bottom + 15,
                         tick_text(at, step));
  }
  return out + fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", kWidth - kRight,
                           bottom + 15, unit.name);
}

std::string spans_below(const Frame& frame, const std::vector<TestSpan>& spans) {
  const double top = kTop + kPlotHeight + kAxisHeight;
  std::string out;
  for (const TestSpan& span : spans) {
    const double x = frame.x(span.from_ms), width = std::max(1.5, frame.x(span.to_ms) - x);
    const double y = top + static_cast<double>(span.lane) * kLaneHeight;
    out += fmt::format(
        "<g class=\"{}\"><title>{}: {:.1f} to {:.1f} s</title><rect class=\"span\" x=\"{:.1f}\" "
        "y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\"/>",
        css_class(span.tone), escape_html(span.name), span.from_ms / 1e3, span.to_ms / 1e3, x, y,
        width, kLaneHeight - 2);
    if (static_cast<double>(span.name.size()) * kCharacter + 4 <= width)
      out += fmt::format("<text class=\"middle span-text\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                         x + width / 2, y + 10, escape_html(span.name));
    out += "</g>";
  }
  return out + "\n";
}

std::string xid_marks(const Frame& frame, const Samples& samples, int gpu) {
  std::string out;
  for (const SampledXid& xid : samples.sampled_xids)
    if (xid.gpu == gpu)
      out += fmt::format(
          "<path class=\"xid\" d=\"M{0:.1f} {1}v{2}\"/><text class=\"xid-text\" x=\"{3:.1f}\" "
          "y=\"{4}\">Xid {5}</text>",
          frame.x(xid.at_ms), kTop, kPlotHeight, std::min(frame.x(xid.at_ms) + 3, kWidth - 42),
          kTop + 10, xid.xid);
  return out;
}

// "77 to 698, mean 512"; "3201" where it stayed so.
std::string range_text(const Curve& curve) {
  const SampleSeries& series = *curve.series;
  const std::string least = fmt::format("{:.0f}", series.min * curve.scale),
                    most = fmt::format("{:.0f}", series.max * curve.scale);
  if (least == most) return least;
  return fmt::format("{} to {}, mean {:.0f}", least, most, series.mean * curve.scale);
}

std::string chart_figure(const Chart& chart, const Samples& samples, int gpu, double from_ms,
                         double to_ms, const std::vector<TestSpan>& spans) {
  const Frame frame{from_ms, to_ms, value_axis(chart)};
  std::size_t lanes = 0;
  for (const TestSpan& span : spans) lanes = std::max(lanes, span.lane + 1);
  const double height = kTop + kPlotHeight + kAxisHeight + static_cast<double>(lanes) * kLaneHeight;
  std::string legend, curves, spoken;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    const std::string title = escape_html(series_title(*curve.series));
    const std::string figures = range_text(curve);
    legend += fmt::format("<li><i class=\"c{}\"></i>{} <span>{}</span></li>", i, title, figures);
    spoken += fmt::format("; {} {}", title, figures);
    curves += polyline(curve, frame, i);
  }
  return fmt::format(
      "<figure class=\"chart\"><figcaption><b>{0}, {1}</b><ul>{2}</ul></figcaption>\n<svg "
      "viewBox=\"0 0 {3} {4}\" role=\"img\" aria-label=\"{0} in {1}{5}\">\n{6}{7}{8}{9}{10}</svg>"
      "</figure>\n",
      chart.title, chart.unit, legend, kWidth, height, spoken, grid(frame, chart), curves,
      xid_marks(frame, samples, gpu), time_axis(frame), spans_below(frame, spans));
}

// Pairs of one GPU that are tested at the same time are one span, by the worst of them.
void add_span(std::vector<TestSpan>& spans, TestSpan span) {
  for (TestSpan& each : spans)
    if (each.name == span.name && each.from_ms <= span.to_ms && span.from_ms <= each.to_ms) {
      each.from_ms = std::min(each.from_ms, span.from_ms);
      each.to_ms = std::max(each.to_ms, span.to_ms);
      if (each.tone == Tone::good || span.tone == Tone::bad) each.tone = span.tone;
      return;
    }
  spans.push_back(std::move(span));
}

std::vector<TestSpan> spans_of(const Summary& summary, int gpu) {
  std::vector<TestSpan> out;
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    if (!verdict.started_ms || (test.gpu != gpu && test.peer != gpu)) continue;
    add_span(out, {verdict.test, *verdict.started_ms, *verdict.started_ms + verdict.duration_ms,
                   test.tone});
  }
  std::sort(out.begin(), out.end(),
            [](const TestSpan& a, const TestSpan& b) { return a.from_ms < b.from_ms; });
  std::array<double, kMostLanes> free_from{};
  free_from.fill(-1e300);
  for (TestSpan& span : out) {
    const auto free = std::find_if(free_from.begin(), free_from.end(),
                                   [&](double end) { return end <= span.from_ms + 1; });
    span.lane = free == free_from.end() ? kMostLanes - 1
                                        : static_cast<std::size_t>(free - free_from.begin());
    free_from[span.lane] = std::max(free_from[span.lane], span.to_ms);
  }
  return out;
}

void add_curve(Chart& chart, const SampleSeries* series, double scale = 1) {
  if (series && !series->value.empty()) chart.curves.push_back({series, scale});
}

std::vector<Chart> charts_of(const SampledGpu& sampled, const Gpu* gpu) {
  constexpr double kPercent = 100;
  std::vector<Chart> out;
  Chart power{"Power", "W", {}, {}, true, {}, false};
  add_curve(power, sampled.power);
  if (gpu && gpu->power.limit_mw) power.lines.push_back({"limit", *gpu->power.limit_mw / 1e3});
  Chart clocks{"Clocks", "MHz", {}, {}, true, {}, false};
  add_curve(clocks, sampled.sm_clock);
  add_curve(clocks, sampled.memory_clock);
  Chart temperatures{"Temperatures", "\u00b0C", {}, {}, false, {}, false};
  add_curve(temperatures, sampled.gpu_temperature);
  add_curve(temperatures, sampled.memory_temperature);
  if (gpu && gpu->thermal.slowdown_celsius)
    temperatures.lines.push_back(
        {"GPU slows down", static_cast<double>(*gpu->thermal.slowdown_celsius)});
  Chart held{"Clocks held back", "% of the time", {}, {}, true, 100, false};
  for (const SampleSeries* event : sampled.events)
    if (held.curves.size() < 4) add_curve(held, event, kPercent);
  Chart busy{"Utilization", "% of the time", {}, {}, true, 100, false};
  add_curve(busy, sampled.utilization, kPercent);
  Chart errors{"Errors", "counted since boot", {}, {}, false, {}, true};
  for (const SampleSeries* counter : sampled.counters)
    if (counter->last > counter->min) add_curve(errors, counter);
  for (Chart* chart : {&power, &clocks, &temperatures, &held, &busy, &errors})
    if (!chart->curves.empty()) out.push_back(std::move(*chart));
  return out;
}

}  // namespace

std::string html_curves(const Report& report, const Summary& summary) {
  if (!report.samples) return {};
  const Samples& samples = *report.samples;
  std::string out;
  for (const SampledGpu& sampled : sampled_gpus(samples)) {
    const Gpu* gpu = nullptr;
    for (const Gpu& each : report.machine.gpus)
      if (each.index == sampled.gpu) gpu = &each;
    const auto spans = spans_of(summary, sampled.gpu);
    double from_ms = 1e300, to_ms = -1e300;
    for (const SampleSeries& series : samples.series) {
      if (series.gpu != sampled.gpu || series.t_ms.empty()) continue;
      from_ms = std::min(from_ms, series.t_ms.front());
      to_ms = std::max(to_ms, series.t_ms.back());
    }
    if (!(to_ms - from_ms >= 1)) to_ms = from_ms + 1;
    const std::string held = held_back_text(sampled), counted = counted_text(sampled);
    out += fmt::format("<div class=\"card curves\"><h3>GPU {}{}</h3>", sampled.gpu,
                       gpu ? " \u00b7 " + escape_html(gpu->name) : "");
    if (!held.empty()) out += fmt::format("<p>Clocks held back by: {}</p>", escape_html(held));
    if (!counted.empty())
      out += fmt::format("<p class=\"warn\">Counted meanwhile: {}</p>", escape_html(counted));
    out += "<div class=\"charts\">\n";
    for (const Chart& chart : charts_of(sampled, gpu))
      out += chart_figure(chart, samples, sampled.gpu, from_ms, to_ms, spans);
    out += "</div></div>\n";
  }
  for (const auto& text : samples.absent)
    out += fmt::format("<p>Not sampled: {}</p>\n", escape_html(text));
  if (out.empty()) return {};
  return "<section><h2>While the tests ran</h2>\n" + out + "</section>\n";
}

}  // namespace gpuready
