#include "pack/report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "pack/report/code_text.h"
#include "pack/rules/releases.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {

using namespace pack;

Result<std::vector<ExplainedGpu>> kinds_of(const SelectMachine& machine) {
  std::vector<ExplainedGpu> kinds;
  for (const auto& gpu : machine.gpus)
    if (std::ranges::find(kinds, gpu.target, &ExplainedGpu::gpu) == kinds.end())
      kinds.push_back({gpu.target, gpu.text()});
  if (kinds.empty())
    return fail(ErrorKind::no_device,
                "found no GPU of a known architecture that programs can use: name one with --gpu");
  return kinds;
}

Driver driver_named(const Driver& of_machine, const std::optional<Version>& driver,
                    const std::optional<Version>& cuda) {
  auto named = driver ? Driver{.version = driver, .cuda = {}} : of_machine;
  if (cuda) named.cuda = cuda;
  if (cuda && cuda->parts.size() == 1) named.cuda->parts.push_back(0);
  return named;
}

Explanation explain_all(const Inspection& inspection, std::vector<ExplainedGpu> gpus,
                        const Driver& driver) {
  Explanation explanation{.path = inspection.path,
                          .gpus = std::move(gpus),
                          .driver = driver,
                          .files = {},
                          .answers = {},
                          .problems = inspection.problems};
  const auto codes = code_of(inspection);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const FileReport& file = inspection.files[i];
    for (const auto& problem : file.problems)
      explanation.problems.push_back(file.path + ": " + problem);
    if (!file.has_code()) continue;
    explanation.files.push_back(file.path);
    auto& answers = explanation.answers.emplace_back();
    for (const ExplainedGpu& gpu : explanation.gpus)
      answers.push_back(pack::explain(codes[i], gpu.gpu, driver));
  }
  return explanation;
}

namespace {

std::string named_driver(const Driver& driver) {
  if (!driver.version && !driver.cuda) return "no driver named: one that is new enough is assumed";
  std::string text = driver.version ? "driver " + driver_text(*driver.version) : "a driver";
  if (const auto cuda = driver.cuda_known()) text += ", CUDA " + version_text(*cuda);
  return text;
}

std::string how_text(const FileAnswer& answer) {
  std::string text;
  if (answer.by_cubin > 0) text = fmt::format("{} by machine code", answer.by_cubin);
  if (answer.by_jit > 0)
    text += fmt::format("{}{} by PTX", text.empty() ? "" : ", ", answer.by_jit);
  return text;
}

void write_answer(TerminalText& out, const std::string& file, const FileAnswer& answer) {
  const Tone tone = answer.runs == Runs::all    ? Tone::good
                    : answer.runs == Runs::none ? Tone::bad
                    : answer.runs == Runs::part ? Tone::warn
                                                : Tone::neutral;
  std::string text = fmt::format("{}: {}", file, runs_text(answer));
  if (answer.runs == Runs::all || answer.runs == Runs::part)
    text += fmt::format(" ({})", how_text(answer));
  out.paragraph(2, {out.mark(tone) + " ", ink_of(tone)}, text);
  if (!answer.driver.empty()) out.paragraph(6, {"because "}, answer.driver);
  if (answer.driver.empty())
    for (const auto& reason : answer.reasons)
      if (!reason.because.empty())
        out.paragraph(6, {"because "},
                      answer.modules == 1 ? reason.because
                                          : fmt::format("{} ({} of {})", reason.because,
                                                        reason.modules, answer.modules));
  if (answer.runs == Runs::none && !answer.change.empty())
    out.paragraph(6, {"helps:  "}, answer.change.text);
}

}  // namespace

std::string render_terminal(const Explanation& explanation, const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& problem : explanation.problems)
    out.paragraph(0, {"wrong: ", Ink::warn}, problem);
  if (explanation.files.empty()) out.paragraph(0, {""}, "No device code was found.");
  for (std::size_t k = 0; k < explanation.gpus.size() && !explanation.files.empty(); ++k) {
    out.heading(fmt::format("{}: {}", explanation.gpus[k].name, named_driver(explanation.driver)));
    for (std::size_t i = 0; i < explanation.files.size(); ++i)
      if (!style.quiet || explanation.answers[i][k].runs == Runs::none)
        write_answer(out, explanation.files[i], explanation.answers[i][k]);
    out.blank();
  }
  return out.take();
}

}  // namespace gpuready
