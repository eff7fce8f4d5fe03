#include "report/pack/select_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "pack/rules/releases.h"
#include "report/exit_rules.h"
#include "report/terminal_text.h"

namespace gpuready {
namespace {

using namespace pack;

Json names_of(const std::vector<std::size_t>& gpus, const SelectMachine& machine) {
  Json list = Json::array();
  for (const auto gpu : gpus) list.push_back(machine.gpus[gpu].text());
  return list;
}

}  // namespace

void conclude(const SelectReport& report, Envelope& envelope) {
  envelope.exit = exit_of(report.selection);
  envelope.conclusion = report.selection.reason;
}

Json to_json(const Selection& selection, const SelectMachine& machine) {
  Json doc;
  doc["variants"] = selection.variants;
  put(doc, "model", selection.model);
  put(doc, "model_note", selection.model_note);
  doc["for_cpu"] = selection.for_cpu;
  doc["reason"] = selection.reason;
  doc["gpus"] = Json::array();
  for (const auto& gpu : machine.gpus) {
    Json item = {{"target", gpu.target.name()}};
    put(item, "name", gpu.name);
    put(item, "uuid", gpu.uuid);
    put(item, "free_bytes", gpu.free_bytes);
    doc["gpus"].push_back(std::move(item));
  }
  if (machine.driver.version) doc["driver"] = version_text(*machine.driver.version);
  doc["unserved"] = names_of(selection.unserved, machine);
  doc["considered"] = Json::array();
  for (const auto& variant : selection.considered)
    doc["considered"].push_back({{"name", variant.name},
                                 {"chosen", variant.chosen},
                                 {"serves", names_of(variant.serves, machine)},
                                 {"by_jit", names_of(variant.by_jit, machine)},
                                 {"problems", variant.problems}});
  return doc;
}

Json to_json(const SelectReport& report, const Envelope& envelope) {
  Json doc = begin_document("gpuready.pack-select", envelope);
  doc["name"] = report.name;
  doc["version"] = report.version;
  doc.update(to_json(report.selection, report.machine));
  return doc;
}

std::string render_terminal(const SelectReport& report, const Envelope& envelope,
                            const TerminalStyle& style) {
  TerminalText out(style);
  const auto& selection = report.selection;
  const Tone tone = envelope.exit != Exit::ok                          ? Tone::bad
                    : selection.for_cpu || !selection.unserved.empty() ? Tone::warn
                                                                       : Tone::good;
  out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)},
                fmt::format("{} {}: {}", report.name, report.version, selection.reason));
  if (style.quiet) return out.take();
  if (selection.model) out.paragraph(2, {}, "Model: " + *selection.model);
  if (selection.model_note) out.paragraph(2, {}, *selection.model_note);
  for (const auto& variant : selection.considered) {
    const auto serves =
        variant.serves.empty()
            ? "serves no GPU here"
            : fmt::format(
                  "serves {} of {} GPUs{}", variant.serves.size(), report.machine.gpus.size(),
                  variant.by_jit.empty()
                      ? ""
                      : fmt::format(", {} by compiling at the first start", variant.by_jit.size()));
    out.line(2, {{variant.name, variant.chosen ? Ink::good : Ink::bold},
                 {variant.chosen ? "  chosen; " : "  "},
                 {serves}});
    for (const auto& problem : variant.problems) out.paragraph(4, {"- "}, problem);
  }
  return out.take();
}

}  // namespace gpuready
