#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/html/html_parts.h"
#include "report/obligations.h"

namespace gpuready {
namespace {

std::string stat(std::string_view label, const std::string& value) {
  if (value.empty()) return {};
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", label, escape_html(value));
}

std::string stats(const Gpu& gpu) {
  std::string power;
  if (gpu.power.draw_mw) {
    power = fmt::format("{:.0f}", *gpu.power.draw_mw / 1000.0);
    if (gpu.power.limit_mw) power += fmt::format("/{:.0f}", *gpu.power.limit_mw / 1000.0);
    power += " W";
  }
  std::string links;
  if (!gpu.nvlinks.empty()) {
    const auto up = std::count_if(gpu.nvlinks.begin(), gpu.nvlinks.end(),
                                  [](const NvLink& link) { return link.up.value_or(false); });
    links = fmt::format("{}/{} up", up, gpu.nvlinks.size());
  }
  std::string out = "<dl class=\"stats\">";
  out += stat("Memory", gpu.memory.total_bytes ? format_bytes(*gpu.memory.total_bytes) : "");
  out += stat("Temperature",
              gpu.thermal.gpu_celsius ? fmt::format("{} \u00b0C", *gpu.thermal.gpu_celsius) : "");
  out += stat("Power", power);
  out += stat("PCIe link", link_text(gpu.link_now, gpu.link_max).value_or(""));
  out += stat("NVLink", links);
  return out + "</dl>\n";
}

// Bars of rates share one scale: the copy rate, else the fastest of them.
std::string rate_bars(const TestSummary& test) {
  double scale = test.copy_bytes_per_second.value_or(0);
  for (const Figure& rate : test.slowest_rates) scale = std::max(scale, rate.value);
  std::string out;
  for (const Figure& rate : test.slowest_rates) {
    Bar bar;
    bar.label = rate.name;
    bar.value = quantity_text(rate.value, rate.unit);
    if (rate.of_copy_rate)
      bar.value += " \u00b7 " + format_percent(*rate.of_copy_rate, 0) + " of copy rate";
    bar.fraction = scale > 0 ? rate.value / scale : 0;
    bar.tone = rate.below_threshold ? Tone::bad : Tone::good;
    if (rate.threshold && scale > 0) bar.mark = *rate.threshold / scale;
    out += html_bar(bar);
  }
  return out;
}

// One line a test, where there are several.
std::string test_list(const Summary& summary, int gpu) {
  if (summary.test_names.size() < 2) return {};
  std::string out;
  for (const TestRow& row : summary.test_rows) {
    if (row.subject != fmt::format("GPU {}", gpu)) continue;
    for (const auto& name : summary.test_names)
      if (const auto cell = test_cell(summary, row, name))
        out += fmt::format("<li>{}{} <span class=\"{}\">{}</span></li>", html_icon(cell->tone),
                           escape_html(name), css_class(cell->tone), escape_html(cell->text));
  }
  return out.empty() ? out : "<ul class=\"mini\">" + out + "</ul>\n";
}

// Each obligation that is owed, with its figure and limit on hovering.
std::string owed_list(const GpuSummary& row) {
  std::string out;
  for (const Obligation& owed : row.obligations) {
    if (owed.status == ObligationStatus::not_judged && effect_of(owed) == Effect::none) continue;
    const Tone tone = tone_of(owed);
    std::string why = owed.reason;
    if (owed.figure && owed.figure->threshold)
      why +=
          fmt::format("; {}, limit {} ({})", quantity_text(owed.figure->value, owed.figure->unit),
                      quantity_text(*owed.figure->threshold, owed.figure->unit),
                      owed.figure->threshold_source.value_or(""));
    out +=
        fmt::format("<li title=\"{}\">{}{} <span class=\"{}\">{}</span></li>", escape_html(why),
                    html_icon(tone), words_of(owed.kind), css_class(tone), words_of(owed.status));
  }
  return out.empty() ? out : "<ul class=\"mini\">" + out + "</ul>\n";
}

}  // namespace

std::string html_gpu_cards(const Report& report, const Summary& summary) {
  std::string out;
  const auto test_bars = [](const TestSummary& test) {
    std::string bars;
    if (test.verdict->coverage && test.tested_of_total) {
      Bar bar;
      bar.label = test.verdict->test + " tested";
      bar.value = fmt::format("{} \u00b7 {}", coverage_text(*test.verdict->coverage),
                              format_percent(*test.tested_of_total));
      bar.fraction = *test.tested_of_total;
      bar.tone = test.tone;
      bars += html_bar(bar);
    }
    // Bars compare what has one scale: passes over memory, with the copy rate.
    return test.copy_bytes_per_second || test.verdict->test == "memory" ? bars + rate_bars(test)
                                                                        : bars;
  };
  for (const GpuSummary& row : summary.gpus) {
    const Gpu& gpu = *row.gpu;
    out += fmt::format(
        "<article class=\"card gpu {}\"><header><div><span class=\"index\">GPU {}</span><h3>{}</h3>"
        "</div>{}</header>\n",
        css_class(tone_of(row.state)), gpu.index,
        escape_html(gpu.name.empty() ? "(no name)" : gpu.name),
        html_pill(tone_of(row.state), to_text(row.state)));
    if (!row.reason.empty())
      out += fmt::format("<p class=\"why\">{}</p>\n", escape_html(row.reason));
    out += stats(gpu);
    for (const std::size_t index : row.tests)
      if (!summary.tests[index].peer) out += test_bars(summary.tests[index]);
    out += test_list(summary, gpu.index);
    out += owed_list(row);
    out += "<p class=\"id\">";
    if (gpu.pci) out += gpu.pci->text() + "<br/>";
    out += escape_html(gpu.uuid.value_or("")) + "</p>";
    out += "</article>\n";
  }
  // What was tested and is not a GPU of the list: the host on a machine without one.
  for (const TestSummary& test : summary.tests) {
    if (test.gpu) continue;
    out += fmt::format(
        "<article class=\"card gpu {}\"><header><div><span "
        "class=\"index\">{}</span><h3>{}</h3></div>"
        "{}</header>\n<p class=\"why\">{}</p>\n",
        css_class(test.tone), escape_html(test.verdict->executor),
        escape_html(test.verdict->subject), html_pill(test.tone, words_of(test.verdict->status)),
        escape_html(test.verdict->reason));
    out += test_bars(test) + "</article>\n";
  }
  for (const VulkanDevice* device : summary.software_devices)
    out += fmt::format(
        "<article class=\"card gpu neutral\"><header><div><span "
        "class=\"index\">Vulkan</span><h3>{}</h3></div>{}</header><p class=\"why\">Runs on the "
        "CPU: not a GPU.</p></article>\n",
        escape_html(device->name), html_pill(Tone::neutral, "software"));
  if (out.empty()) return {};
  const bool gpus = !report.machine.gpus.empty();
  return fmt::format("<section><h2>{}</h2>\n<div class=\"cards\">\n{}</div></section>\n",
                     gpus ? "GPUs" : "Devices", out);
}

}  // namespace gpuready
