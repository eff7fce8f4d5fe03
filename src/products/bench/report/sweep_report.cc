#include "bench/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/record/result_files.h"
#include "bench/report/bench_plots.h"
#include "bench/report/compare_report.h"
#include "report/html/html_parts.h"
#include "report/markdown_text.h"

namespace gpuready {
namespace {

using namespace bench;

std::string title_of(const Sweep& sweep) {
  return fmt::format("{} by {}", workload_text(sweep.workload), sweep.axis);
}

std::string note_of(const Sweep& sweep) {
  if (sweep.older == 0) return {};
  return fmt::format(
      "Of each {} the latest run counts; {} left out here.", sweep.axis,
      sweep.older == 1 ? "1 older one is" : fmt::format("{} older ones are", sweep.older));
}

// A row for each size: the size, and each stack's p50 or nothing.
std::vector<std::vector<std::string>> rows_of(const Sweep& sweep) {
  std::vector<std::vector<std::string>> rows;
  for (const auto size : sweep.sizes) {
    auto& row = rows.emplace_back(std::vector{std::to_string(size)});
    for (const auto& stack : sweep.stacks) {
      const auto point = std::ranges::find(stack.points, size, &SweepPoint::size);
      row.push_back(point == stack.points.end() ? "" : value_text(Kpi::p50, point->p50_ns));
    }
  }
  return rows;
}

// Both axes logarithmic, so that work that grows with the size is a straight line.
std::string curves(const Sweep& sweep) {
  constexpr double kLeft = 80, kRight = kPlotWidth - 16, kTop = 10, kBottom = 250, kNames = 18;
  double low = HUGE_VAL, high = 0;
  for (const auto& stack : sweep.stacks)
    for (const auto& point : stack.points) {
      low = std::min(low, point.p50_ns);
      high = std::max(high, point.p50_ns);
    }
  high = std::max(high, low * 1.1);
  const auto first = static_cast<double>(sweep.sizes.front());
  const auto last = static_cast<double>(sweep.sizes.back());
  const auto x = [&](double size) {
    return kLeft + std::log(size / first) / std::log(last / first) * (kRight - kLeft);
  };
  const auto y = [&](double ns) {
    return kBottom - std::log(ns / low) / std::log(high / low) * (kBottom - kTop);
  };
  std::string svg = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"p50 by {}\">",
      kPlotWidth, kBottom + kAxisHeight + kNames * static_cast<double>(sweep.stacks.size()),
      escape_html(sweep.axis));
  for (const double tick :
       high > kFarApart * low ? logarithmic_ticks(low, high, 8) : ticks(low, high, 5))
    svg += svg_line(kLeft, y(tick), kRight, y(tick), 0.2) +
           svg_text(kLeft - 6, y(tick) + 4, "end", value_text(Kpi::p50, tick));
  double free_from = 0;
  for (const auto size : sweep.sizes) {
    const double at = x(static_cast<double>(size));
    svg += svg_line(at, kBottom, at, kBottom + 4, 0.6);
    if (at < free_from) continue;
    svg += svg_text(at, kBottom + 16, "middle", std::to_string(size));
    free_from = at + 40;
  }
  svg += svg_line(kLeft, kTop, kLeft, kBottom, 0.6) +
         svg_line(kLeft, kBottom, kRight, kBottom, 0.6) +
         svg_text((kLeft + kRight) / 2, kBottom + 33, "middle",
                  fmt::format("{}; p50 of an iteration; both axes logarithmic", sweep.axis));
  std::size_t number = 0;
  for (const auto& stack : sweep.stacks) {
    // Four colours, then the same ones dashed.
    const std::string ink =
        fmt::format("stroke=\"var(--c{})\" stroke-width=\"1.5\"{}", number % 4,
                    number < 4 ? "" : fmt::format(" stroke-dasharray=\"{} 3\"", number / 4 * 3));
    std::string line, dots;
    for (const auto& point : stack.points) {
      const double at = x(static_cast<double>(point.size));
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", at, y(point.p50_ns));
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"var(--c{})\"><title>{} {} {}: "
          "{}</title></circle>",
          at, y(point.p50_ns), number % 4, escape_html(stack.id), escape_html(sweep.axis),
          point.size, escape_html(value_text(Kpi::p50, point.p50_ns)));
    }
    const double name = kBottom + kAxisHeight + kNames * (static_cast<double>(number) + 0.5);
    svg += fmt::format("<path d=\"{}\" fill=\"none\" {}/>{}<path d=\"M{} {}h24\" {}/>{}", line, ink,
                       dots, kLeft, name, ink, svg_text(kLeft + 32, name + 4, "start", stack.id));
    ++number;
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string html_sweep(const Sweep& sweep) {
  std::string out = fmt::format(
      "<section><h2>{}</h2>\n<div class=\"card\">{}<div class=\"scroll\"><table>"
      "<thead><tr><th>{}</th>",
      escape_html(title_of(sweep)), curves(sweep), escape_html(sweep.axis));
  for (const auto& stack : sweep.stacks) out += "<th>" + escape_html(stack.id) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows_of(sweep)) {
    out += "<tr>";
    for (const auto& cell : row) out += "<td>" + escape_html(cell) + "</td>";
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (const auto note = note_of(sweep); !note.empty()) out += "<p>" + escape_html(note) + "</p>";
  return out + "</div></section>\n";
}

std::string markdown_sweep(const Sweep& sweep) {
  std::string out =
      fmt::format("\n## {}\n\n| {} |", markdown_text(title_of(sweep)), markdown_text(sweep.axis));
  std::string rule = "|---:|";
  for (const auto& stack : sweep.stacks) {
    out += " " + markdown_text(stack.id) + " |";
    rule += "---:|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : rows_of(sweep)) out += "| " + join(row, " | ") + " |\n";
  if (const auto note = note_of(sweep); !note.empty()) out += "\n" + markdown_text(note) + "\n";
  return out;
}

void print_sweep(TerminalText& text, const Sweep& sweep) {
  text.blank();
  text.line(0, {{title_of(sweep), Ink::bold}, {"  p50", Ink::dim}});
  Table table{{{sweep.axis, Align::right}}, {}};
  for (const auto& stack : sweep.stacks) table.columns.push_back({stack.id, Align::right, true});
  for (const auto& row : rows_of(sweep)) {
    auto& spans = table.rows.emplace_back();
    for (const auto& cell : row) spans.push_back({cell});
  }
  text.table(2, table);
  if (const auto note = note_of(sweep); !note.empty()) text.paragraph(2, {""}, note, Ink::dim);
}

}  // namespace gpuready
