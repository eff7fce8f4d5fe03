// The topology as a drawing: NVLink above the GPUs, PCIe below them, on the NUMA node or host
// bridge that they hang on.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/html/html_parts.h"
#include "report/text_layout.h"
#include "report/topology.h"

namespace gpuready {
namespace {

constexpr int kGpuWidth = 104, kGpuHeight = 62, kGap = 14, kGroupGap = 26, kMargin = 14;
constexpr int kGroupHeight = 34, kPcieHeight = 52, kSwitchHeight = 30;
constexpr std::size_t kMaxLabels = 16;  // of arcs; more could not be read

struct Layout {
  std::map<int, int> center_x;  // by GPU index
  int width = 0, gpu_y = 0, group_y = 0, height = 0;
  std::vector<std::pair<int, int>> group_spans;  // x and width
};

bool direct(const GpuPath& path) {
  return path.kind == PathKind::nvlink || path.kind == PathKind::xgmi;
}

Layout lay_out(const Machine& machine, const std::vector<GpuGroup>& groups) {
  Layout layout;
  int x = kMargin;
  for (const GpuGroup& group : groups) {
    const int start = x;
    for (const int gpu : group.gpus) {
      layout.center_x[gpu] = x + kGpuWidth / 2;
      x += kGpuWidth + kGap;
    }
    x -= kGap;
    layout.group_spans.emplace_back(start, x - start);
    x += kGroupGap;
  }
  layout.width = x - kGroupGap + kMargin;
  int above = 12;
  for (const GpuPath& path : machine.paths) {
    if (path.kind == PathKind::nvswitch) above = std::max(above, kSwitchHeight + 52);
    if (!direct(path) || !layout.center_x.contains(path.gpu_a) ||
        !layout.center_x.contains(path.gpu_b))
      continue;
    const int span = std::abs(layout.center_x[path.gpu_a] - layout.center_x[path.gpu_b]);
    above = std::max(above, 34 + std::min(span / 5, 110));
  }
  layout.gpu_y = above;
  layout.group_y = above + kGpuHeight + kPcieHeight;
  layout.height = layout.group_y + kGroupHeight + 12;
  return layout;
}

std::string text(int x, int y, std::string_view css, std::string_view value) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, css,
                     escape_html(value));
}

std::string draw_switch(const Machine& machine, const Layout& layout) {
  std::map<int, int> bundle;  // links of each GPU into the switches
  for (const GpuPath& path : machine.paths)
    if (path.kind == PathKind::nvswitch)
      for (const int gpu : {path.gpu_a, path.gpu_b})
        bundle[gpu] = std::max(bundle[gpu], path.links);
  std::erase_if(bundle, [&](const auto& entry) { return !layout.center_x.contains(entry.first); });
  if (bundle.empty()) return {};
  int left = layout.width, right = 0;
  std::string out;
  for (const auto& [gpu, links] : bundle) {
    const int x = layout.center_x.at(gpu);
    left = std::min(left, x);
    right = std::max(right, x);
    out += fmt::format("<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" class=\"nvlink\"/>\n", x,
                       12 + kSwitchHeight, layout.gpu_y);
    out += text(x + 8, (12 + kSwitchHeight + layout.gpu_y) / 2 + 4, "label start",
                fmt::format("NV{}", links));
  }
  left -= kGpuWidth / 2;
  right += kGpuWidth / 2;
  out += fmt::format(
      "<rect x=\"{}\" y=\"12\" width=\"{}\" height=\"{}\" rx=\"8\" class=\"switch\"/>\n", left,
      right - left, kSwitchHeight);
  return out + text((left + right) / 2, 12 + kSwitchHeight / 2 + 5, "on-switch", "NVSwitch");
}

std::string draw_arcs(const Machine& machine, const Layout& layout) {
  const auto arcs =
      static_cast<std::size_t>(std::count_if(machine.paths.begin(), machine.paths.end(), direct));
  std::string out;
  for (const GpuPath& path : machine.paths) {
    if (!direct(path)) continue;
    const auto a = layout.center_x.find(path.gpu_a), b = layout.center_x.find(path.gpu_b);
    if (a == layout.center_x.end() || b == layout.center_x.end()) continue;
    const int middle = (a->second + b->second) / 2;
    const int rise = 20 + std::min(std::abs(a->second - b->second) / 5, 110);
    // A quadratic curve passes at half the height of its control point.
    out += fmt::format(
        "<path d=\"M{} {} Q{} {} {} {}\" class=\"nvlink arc\"><title>GPU {} to GPU {}: "
        "{}</title></path>\n",
        a->second, layout.gpu_y, middle, layout.gpu_y - 2 * rise, b->second, layout.gpu_y,
        path.gpu_a, path.gpu_b, path_label(path));
    if (arcs <= kMaxLabels) out += text(middle, layout.gpu_y - rise - 4, "label", path_label(path));
  }
  return out;
}

std::string draw_gpu(const GpuSummary& row, const Layout& layout) {
  const Gpu& gpu = *row.gpu;
  const int x = layout.center_x.at(gpu.index), left = x - kGpuWidth / 2, y = layout.gpu_y;
  const bool narrow =
      gpu.link_now.width && gpu.link_max.width && *gpu.link_now.width < *gpu.link_max.width;
  std::string name = gpu.name;
  if (name.starts_with("NVIDIA ")) name = name.substr(7);
  std::string out = fmt::format(
      "<g class=\"{}\"><title>GPU {}: {}, {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" "
      "height=\"{}\" "
      "rx=\"9\" class=\"gpu-box\"/><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"4\" rx=\"2\" "
      "class=\"strip\"/></g>\n",
      css_class(tone_of(row.state)), gpu.index, escape_html(gpu.name), to_text(row.state), left, y,
      kGpuWidth, kGpuHeight, left + 10, y + kGpuHeight - 9, kGpuWidth - 20);
  out += text(x, y + 22, "gpu-index", fmt::format("GPU {}", gpu.index));
  out += text(x, y + 41, "gpu-name", cut(one_line(name), 15));
  out += fmt::format("<line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\" class=\"pcie{3}\"/>\n", x,
                     y + kGpuHeight, layout.group_y, narrow ? " narrow" : "");
  std::string link;
  if (gpu.link_now.generation) link = fmt::format("gen {}", *gpu.link_now.generation);
  if (gpu.link_now.width)
    link += fmt::format("{}x{}", link.empty() ? "" : " ", *gpu.link_now.width);
  if (narrow) link += fmt::format("/{}", *gpu.link_max.width);
  if (!link.empty())
    out += text(x + 7, y + kGpuHeight + kPcieHeight / 2 + 4,
                narrow ? "label start narrow" : "label start", link);
  return out;
}

std::string draw_groups(const std::vector<GpuGroup>& groups, const Layout& layout) {
  std::string out;
  const int y = layout.group_y;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [x, width] = layout.group_spans[i];
    if (i > 0) {
      const auto [before, before_width] = layout.group_spans[i - 1];
      out += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" class=\"between\"/>\n",
                         before + before_width, x, y + kGroupHeight / 2);
    }
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" class=\"group\"/>\n", x, y,
        width, kGroupHeight);
    // A blank is about 7.5 units wide at this size.
    const auto room = static_cast<std::size_t>(std::max(width / 8, 4));
    out += text(x + width / 2, y + kGroupHeight / 2 + 5, "group-name",
                cut(one_line(groups[i].name.empty() ? "PCIe" : groups[i].name), room));
  }
  return out;
}

std::string matrix_table(const Machine& machine) {
  const TopologyMatrix matrix = topology_matrix(machine);
  if (matrix.gpus.empty()) return {};
  std::string out =
      "<details><summary>As a table</summary><div class=\"scroll\"><table "
      "class=\"matrix\"><thead><tr><td></td>";
  for (const int gpu : matrix.gpus) out += fmt::format("<th scope=\"col\">GPU {}</th>", gpu);
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    out += fmt::format("<tr><th scope=\"row\">GPU {}</th>", matrix.gpus[i]);
    for (const auto& label : matrix.labels[i])
      out += fmt::format("<td>{}</td>", escape_html(label));
    out += "</tr>\n";
  }
  out += "</tbody></table></div><ul class=\"legend\">";
  for (const LegendEntry& entry : matrix.legend)
    out +=
        fmt::format("<li><b>{}</b> {}</li>", escape_html(entry.label), escape_html(entry.meaning));
  return out + "</ul></details>\n";
}

}  // namespace

std::string html_topology(const Report& report, const Summary& summary) {
  const Machine& machine = report.machine;
  const bool placed = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                  [](const Gpu& gpu) { return gpu.pci.has_value(); });
  if (!placed) return {};
  const auto groups = gpu_groups(machine);
  const Layout layout = lay_out(machine, groups);
  std::string out = fmt::format(
      "<section><h2>Topology</h2>\n<div class=\"card\"><div class=\"scroll\" tabindex=\"0\" "
      "role=\"group\" "
      "aria-label=\"Topology drawing\">"
      "<svg class=\"topology\" role=\"img\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">"
      "<title>How {2} connected</title>\n",
      layout.width, layout.height,
      counted(machine.gpus.size(), "GPU") + (machine.gpus.size() == 1 ? " is" : " are"));
  out += draw_switch(machine, layout) + draw_arcs(machine, layout);
  for (const GpuSummary& row : summary.gpus) out += draw_gpu(row, layout);
  out += draw_groups(groups, layout);
  return out + "</svg></div>\n" + matrix_table(machine) + "</div></section>\n";
}

}  // namespace gpuready
