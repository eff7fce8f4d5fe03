// What the plots of `bench report` and `bench history` share: round ticks, and parts of inline SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

inline constexpr double kPlotWidth = 640;
inline constexpr double kAxisHeight = 40;  // of an axis with its ticks and its title

inline constexpr double kFarApart = 5;  // values that differ by more need a logarithmic axis

// Round numbers from `low` to `high`: steps of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high, double most);
// 1, 2 and 5 times powers of ten, or only these where that is more than `most`.
std::vector<double> logarithmic_ticks(double low, double high, std::size_t most);
std::string svg_text(double x, double y, std::string_view anchor, std::string_view text);
std::string svg_line(double x1, double y1, double x2, double y2, double opacity);

}  // namespace gpuready
