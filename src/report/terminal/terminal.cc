#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/obligations.h"
#include "report/terminal/terminal_parts.h"

namespace gpuready {
namespace {

// "gen5 x16"; "gen1/5 x8/16" when the link could do more.
std::string short_link(const Gpu& gpu) {
  const auto pair = [](std::string_view prefix, std::optional<int> now, std::optional<int> max) {
    if (!now) return std::string();
    if (max && *max > *now) return fmt::format("{}{}/{}", prefix, *now, *max);
    return fmt::format("{}{}", prefix, *now);
  };
  const auto generation = pair("gen", gpu.link_now.generation, gpu.link_max.generation);
  const auto width = pair("x", gpu.link_now.width, gpu.link_max.width);
  return generation.empty() || width.empty() ? generation + width : generation + " " + width;
}

std::string power_text(const GpuPower& power) {
  if (!power.draw_mw) return {};
  const auto watts = [](std::uint32_t mw) { return (mw + 500) / 1000; };
  if (!power.limit_mw) return fmt::format("{} W", watts(*power.draw_mw));
  return fmt::format("{}/{} W", watts(*power.draw_mw), watts(*power.limit_mw));
}

std::string headline(const Report& report) {
  std::vector<std::string> parts;
  if (!report.machine.system.host_name.empty()) parts.push_back(report.machine.system.host_name);
  if (report.machine.container.runtime) parts.push_back("in " + *report.machine.container.runtime);
  for (auto& text : driver_texts(report.machine)) parts.push_back(std::move(text));
  if (report.machine.source == "recorded") parts.push_back("from a recording");
  if (report.duration_ms > 0) parts.push_back("took " + format_duration_ms(report.duration_ms));
  return join(parts, ", ");
}

void write_first_lines(const Report& report, const Summary& summary, TerminalText& out) {
  const Tone tone = summary.tone;
  if (summary.faked)
    out.paragraph(0, {out.mark(Tone::warn) + " ", Ink::warn}, *summary.faked, Ink::warn);
  if (summary.injected)
    out.paragraph(0, {out.mark(Tone::warn) + " ", Ink::warn}, *summary.injected, Ink::warn);
  if (summary.no_gpu) out.paragraph(0, {}, *summary.no_gpu, Ink::bold);
  for (const std::string& note : report.notes) out.paragraph(0, {}, note);
  out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)}, summary.conclusion, Ink::bold);
}

void write_software_devices(const Summary& summary, TerminalText& out) {
  for (const VulkanDevice* device : summary.software_devices)
    out.paragraph(2, {"software  ", Ink::warn}, device->name + " (Vulkan on the CPU; no GPU)",
                  Ink::dim);
}

}  // namespace

void write_gpu_table(const Summary& summary, TerminalText& out) {
  if (summary.gpus.empty()) return;
  Table table;
  table.columns = {{.title = "GPU", .align = Align::right},
                   {.title = "Name", .flexible = true},
                   {.title = "Memory", .align = Align::right, .drop = 1},
                   {.title = "Temp", .align = Align::right, .drop = 3},
                   {.title = "Power", .align = Align::right, .drop = 4},
                   {.title = "Link", .drop = 2},
                   {.title = "Status"}};
  for (const GpuSummary& row : summary.gpus) {
    const Gpu& gpu = *row.gpu;
    table.rows.push_back({
        {std::to_string(gpu.index), Ink::bold},
        {gpu.name.empty() ? "(no name)" : gpu.name},
        {gpu.memory.total_bytes ? format_bytes(*gpu.memory.total_bytes) : ""},
        {gpu.thermal.gpu_celsius ? fmt::format("{} C", *gpu.thermal.gpu_celsius) : ""},
        {power_text(gpu.power)},
        {short_link(gpu)},
        {std::string(to_text(row.state)), ink_of(tone_of(row.state))},
    });
  }
  out.blank();
  out.table(0, table);
}

namespace {

// Why GPUs are not ready, where nothing below says it; GPUs of one reason stand together.
void write_reasons(const Summary& summary, TerminalText& out) {
  std::vector<std::pair<std::string, std::string>> reasons;  // reason -> "GPU 2, GPU 3"
  for (const GpuSummary& row : summary.gpus) {
    const bool told = row.state == GpuState::not_ready || is_set_apart(row.state);
    if (row.reason.empty() || !told) continue;
    const std::string name = fmt::format("GPU {}", row.gpu->index);
    const auto known =
        std::ranges::find(reasons, row.reason, &decltype(reasons)::value_type::first);
    if (known == reasons.end())
      reasons.emplace_back(row.reason, name);
    else
      known->second += ", " + name;
  }
  for (const auto& [reason, names] : reasons)
    out.paragraph(2, {names + ": ", Ink::bold}, reason, Ink::dim);
}

void write_obligations(const Summary& summary, TerminalText& out) {
  const auto groups = owed_groups(summary);
  if (groups.empty()) return;
  out.heading("Obligations");
  for (const OwedGroup& group : groups) {
    const std::string lead = fmt::format("GPU {}: ", fmt::join(group.gpus, ", "));
    if (!group.held.empty())
      out.paragraph(2, {lead, Ink::bold}, "held: " + join(group.held, ", ") + ".");
    for (const auto& [text, tone] : group.not_held)
      out.paragraph(2, {lead, Ink::bold}, text.ends_with('.') ? text : text + ".", ink_of(tone));
  }
}

}  // namespace

std::string render_terminal(const Report& report, const TerminalStyle& style) {
  const Summary summary = summarize(report);
  TerminalText out(style);
  write_first_lines(report, summary, out);
  if (!style.quiet) {
    if (const std::string text = headline(report); !text.empty())
      out.paragraph(0, {}, text, Ink::dim);
    write_gpu_table(summary, out);
    write_reasons(summary, out);
    if (report.command != "detect" && !summary.software_devices.empty()) {
      out.blank();
      write_software_devices(summary, out);
    }
  }
  if (!style.quiet) write_obligations(summary, out);
  write_tests(summary, style.quiet, out);
  write_samples(report, style.quiet, out);
  write_fitness(summary, style.quiet, out);
  write_findings(report, summary, style.quiet, out);
  if (style.quiet) return out.take();
  if (report.command == "detect") write_details(report.machine, out);
  write_unseen(report.machine, out);
  return out.take();
}

}  // namespace gpuready
