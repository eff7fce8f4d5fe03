#include <fmt/format.h>

#include "base/json.h"
#include "base/units.h"
#include "report/html/html_curves.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

std::string chips(const Report& report) {
  std::vector<std::string> parts;
  const SystemState& system = report.machine.system;
  if (system.os_name) parts.push_back(*system.os_name);
  if (!system.kernel_release.empty()) parts.push_back("kernel " + system.kernel_release);
  if (report.machine.container.runtime) parts.push_back("in " + *report.machine.container.runtime);
  for (auto& text : driver_texts(report.machine)) parts.push_back(std::move(text));
  if (report.machine.source == "recorded") parts.push_back("from a recording");
  if (report.duration_ms > 0) parts.push_back("took " + format_duration_ms(report.duration_ms));
  if (parts.empty()) return {};
  std::string out = "<ul class=\"chips\">";
  for (const auto& part : parts) out += "<li>" + escape_html(part) + "</li>";
  return out + "</ul>";
}

std::string hero(const Report& report, const Summary& summary) {
  std::string out;
  if (summary.faked) out += "<div class=\"faked\">" + escape_html(*summary.faked) + "</div>\n";
  if (summary.injected)
    out += "<div class=\"faked\">" + escape_html(*summary.injected) + "</div>\n";
  const Tone tone = summary.tone;
  out += fmt::format("<section class=\"card hero {}\">{}<div><h1>{}</h1>", css_class(tone),
                     html_icon(tone), escape_html(summary.conclusion));
  if (summary.no_gpu) out += "<p>" + escape_html(*summary.no_gpu) + "</p>";
  for (const auto& note : report.notes) out += "<p>" + escape_html(note) + "</p>";
  return out + chips(report) + "</div></section>\n";
}

std::string details(const Machine& machine) {
  std::string out = "<section><h2>Details</h2>\n";
  for (const Gpu& gpu : machine.gpus)
    out += fmt::format(
        "<details class=\"card row\"><summary><span class=\"grow\"><b>GPU {}</b> \u00b7 "
        "{}</span></summary>"
        "{}</details>\n",
        gpu.index, escape_html(gpu.name), html_facts(gpu_facts(gpu)));
  const auto facts = machine_facts(machine);
  if (!facts.empty())
    out +=
        "<details class=\"card row\"><summary><span class=\"grow\"><b>Machine</b> \u00b7 system, "
        "software, "
        "container</span></summary>" +
        html_facts(facts) + "</details>\n";
  if (!machine.unseen.empty()) {
    out +=
        "<details class=\"card row\" open><summary><span class=\"grow\"><b>Could not be seen</b>"
        "</span></summary><ul>\n";
    for (const Unseen& unseen : machine.unseen)
      out += fmt::format("<li>{}: {}</li>\n", escape_html(unseen.what), escape_html(unseen.why));
    out += "</ul></details>\n";
  }
  return out;
}

// Without the samples: they are drawn, and one number a line they would be most of the file.
std::string raw_json(const Report& report) {
  Json doc = to_json(report);
  if (doc.contains("samples")) doc["samples"]["series"] = "drawn above; whole with --json";
  return dump(doc);
}

}  // namespace

std::string render_html(const Report& report) {
  const Summary summary = summarize(report);
  const std::string& host = report.machine.system.host_name;
  std::string out = html_head(fmt::format("{} \u00b7 gpuready{}{}", summary.conclusion,
                                          host.empty() ? "" : " \u00b7 ", host),
                              kHtmlScript);
  out += fmt::format(
      "<body>\n<div class=\"top\"><span class=\"brand\">gpu<i>ready</i></span><span>{}</span>"
      "<span class=\"meta\">{}{}{}</span></div>\n<main>\n",
      escape_html(report.command), escape_html(host), host.empty() ? "" : " \u00b7 ",
      escape_html(report.created_utc));
  out += hero(report, summary);
  out += html_gpu_cards(report, summary);
  out += html_findings(report);
  out += html_topology(report, summary);
  out += html_tests(summary);
  out += html_curves(report, summary);
  out += html_fitness(summary);
  out += details(report.machine);
  out +=
      "<details class=\"card row\"><summary><span class=\"grow\"><b>Raw data</b> \u00b7 "
      "JSON</span></summary>"
      "<pre>" +
      escape_html_lines(raw_json(report)) + "</pre></details></section>\n";
  out += fmt::format(
      "<footer>gpuready {} \u00b7 exit code {}: {}</footer>\n</main>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      escape_html(report.tool_version), static_cast<int>(report.exit), exit_meaning(report.exit),
      kHtmlScript);
  return out;
}

}  // namespace gpuready
