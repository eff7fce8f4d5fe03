// Axes of the plots of reports: inline SVG.
#include "bench/report/bench_plots.h"

#include <fmt/format.h>

#include <cmath>

#include "report/html/html_parts.h"

namespace gpuready {

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

}  // namespace gpuready
