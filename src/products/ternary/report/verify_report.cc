#include "ternary/report/verify_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_text.h"
#include "ternary/report/exit_rules.h"

namespace gpuready {
namespace {

using namespace ternary;

bool was_interrupted(const auto& result) { return result.reason == kInterrupted; }

// "int32, f32 and bf16; 3 of 12 tensors; the GPUs": what an interrupt left out. Empty: nothing.
std::string left_out(const VerifyReport& report) {
  std::vector<std::string> parts;
  for (const CheckResult& check : report.checks)
    if (was_interrupted(check) && check.check != kFileCheck &&
        std::ranges::find(parts, check.check) == parts.end())
      parts.push_back(check.check);
  if (const auto tensors = std::ranges::count_if(report.tensors, was_interrupted<TensorResult>))
    parts.push_back(fmt::format("{} of {} tensors", tensors, report.tensors.size()));
  for (const SubjectResult& subject : report.subjects)
    if (was_interrupted(subject))
      parts.push_back(subject.name == "gpu" ? "the GPUs" : subject.name);
  return join(parts, ", ");
}

std::string known_by_then(const VerifyReport& report) {
  if (!report.tensors.empty())
    return fmt::format(
        "By then {} of {} ternary tensors were verified, and nothing was wrong.",
        std::ranges::count(report.tensors, CheckStatus::passed, &TensorResult::status),
        report.tensors.size());
  const auto ended = std::ranges::count(report.checks, CheckStatus::passed, &CheckResult::status);
  return ended == 0 ? "By then no check had ended."
                    : fmt::format("By then {} of {} checks had ended, and nothing was wrong.",
                                  ended, report.checks.size());
}

std::string conclusion(const VerifyReport& report) {
  std::uint64_t cases = 0, elements = 0, passed = 0, failed = 0, missing = 0, asked = 0;
  for (const CheckResult& check : report.checks) cases += check.cases, elements += check.elements;
  for (const SubjectResult& subject : report.subjects) {
    const bool wanted = subject.asked || !subject.device.empty();
    passed += subject.status == CheckStatus::passed;
    failed += subject.status == CheckStatus::failed;
    asked += wanted;
    missing +=
        wanted && subject.status != CheckStatus::passed && subject.status != CheckStatus::failed;
  }
  const auto bad_tensors =
      std::count_if(report.tensors.begin(), report.tensors.end(),
                    [](const auto& t) { return t.status == CheckStatus::failed; });
  if (bad_tensors > 0)
    return fmt::format("{} of {} ternary tensors failed verification.", bad_tensors,
                       report.tensors.size());
  if (!report.file_problems.empty()) return "The file is wrong; the tensors by themselves are not.";
  if (exit_of(report) == Exit::unhealthy)
    return fmt::format("{} of {} tested tiers and devices give wrong results or errors.", failed,
                       passed + failed);
  if (!left_out(report).empty()) return known_by_then(report);
  const auto unsupported =
      std::count_if(report.tensors.begin(), report.tensors.end(),
                    [](const auto& t) { return t.status == CheckStatus::not_supported; });
  if (unsupported > 0)
    return fmt::format(
        "{} of {} ternary tensors are well-formed, but their products could not be verified.",
        unsupported, report.tensors.size());
  if (missing > 0)
    return fmt::format("{} of {} that were asked for were not tested.", missing, asked);
  if (passed == 0) return "Nothing was tested.";
  if (!report.tensors.empty()) {
    const auto good = std::count_if(report.tensors.begin(), report.tensors.end(),
                                    [](const auto& t) { return t.status == CheckStatus::passed; });
    return fmt::format(
        "{} of {} ternary tensors are well-formed, and {} of {} tested tiers and devices multiply "
        "them exactly.",
        good, report.tensors.size(), passed, passed);
  }
  return fmt::format(
      "{} of {} tested tiers and devices agree with 64-bit sums, bit for bit: {} comparisons of {} "
      "values.",
      passed, passed, cases, elements);
}

Tone tone_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::passed:
      return Tone::good;
    case CheckStatus::failed:
      return Tone::bad;
    case CheckStatus::timed_out:
      return Tone::warn;
    case CheckStatus::not_tested:
    case CheckStatus::not_supported:
      return Tone::neutral;
  }
  return Tone::neutral;
}

std::string count_text(std::uint64_t count) {
  if (count < 100'000) return std::to_string(count);
  return fmt::format("{:.1f} M", static_cast<double>(count) * 1e-6);
}

// "cpu/avx2", "cuda NVIDIA H200". `device` is not empty.
std::string label_of(const std::string& subject, const std::string& device) {
  const auto colon = subject.find(':');
  return colon == subject.npos ? subject : subject.substr(0, colon) + " " + device;
}

void subject_table(TerminalText& out, const VerifyReport& report) {
  Table table;
  table.columns = {{""},
                   {"Tier or device", Align::left, true},
                   {"Checks", Align::right},
                   {"Products", Align::right},
                   {"Values", Align::right},
                   {"NMSE", Align::right},
                   {"Took", Align::right}};
  for (const SubjectResult& subject : report.subjects) {
    if (subject.device.empty()) continue;
    std::uint64_t checks = 0, passed = 0, cases = 0, elements = 0;
    double ms = 0;
    std::optional<double> nmse;
    for (const CheckResult& check : report.checks) {
      if (check.subject != subject.name || check.status == CheckStatus::not_supported) continue;
      ++checks;
      passed += check.status == CheckStatus::passed;
      cases += check.cases;
      elements += check.elements;
      ms += check.duration_ms;
      if (check.nmse) nmse = check.nmse;
    }
    // Of a device that is here all was to be tested.
    const bool ended = subject.status != CheckStatus::not_tested;
    const Tone tone = ended ? tone_of(subject.status) : Tone::warn;
    table.rows.push_back({{out.mark(tone), ink_of(tone)},
                          {label_of(subject.name, subject.device)},
                          {fmt::format("{} of {}", passed, checks)},
                          {count_text(cases)},
                          {count_text(elements)},
                          {nmse ? fmt::format("{:.1e}", *nmse) : "-"},
                          {format_duration_ms(ms)}});
  }
  if (!table.rows.empty()) out.table(2, table);
}

void tensor_table(TerminalText& out, const VerifyReport& report) {
  Table table;
  table.columns = {{""},
                   {"Tensor", Align::left, true},
                   {"Format"},
                   {"Rows", Align::right},
                   {"Columns", Align::right},
                   {"Result"}};
  for (const TensorResult& tensor : report.tensors) {
    if (was_interrupted(tensor)) continue;
    const Tone tone = tone_of(tensor.status);
    table.rows.push_back({{out.mark(tone), ink_of(tone)},
                          {tensor.name},
                          {tensor.format},
                          {std::to_string(tensor.shape.rows)},
                          {std::to_string(tensor.shape.cols)},
                          {words_of(tensor.status)}});
  }
  if (!table.rows.empty()) out.table(2, table);
}

}  // namespace

void conclude(const VerifyReport& report, Envelope& envelope) {
  envelope.exit = exit_of(report);
  envelope.conclusion = conclusion(report);
  envelope.duration_ms = report.duration_ms;
}

std::string render_terminal(const VerifyReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet) {
    out.heading(report.file.empty() ? "Ternary products against exact 64-bit sums, bit for bit"
                                    : "Ternary tensors of " + report.file);
    if (!report.tensors.empty()) {
      tensor_table(out, report);
      out.blank();
    }
    subject_table(out, report);
    out.blank();
    if (report.file.empty())
      out.paragraph(2, {""},
                    fmt::format("{} shapes; seed {}; NMSE against fp32 may be {:.0e}.",
                                report.problems, report.seed, kMostNmse),
                    Ink::dim);
    out.blank();
  }
  for (const std::string& problem : report.file_problems)
    out.paragraph(2, {"wrong: ", Ink::bad}, problem);
  const auto note = [&](CheckStatus status, const std::string& what, const std::string& reason) {
    out.paragraph(
        2, {out.mark(tone_of(status)) + " ", ink_of(tone_of(status))},
        fmt::format("{}: {}{}{}", what, words_of(status), reason.empty() ? "" : ": ", reason));
  };
  for (const CheckResult& check : report.checks)
    if (!was_interrupted(check) && (check.status != CheckStatus::passed || !check.reason.empty()))
      note(check.status, check.subject + ", " + check.check, check.reason);
  for (const TensorResult& tensor : report.tensors)
    if (!was_interrupted(tensor) && tensor.status != CheckStatus::passed)
      note(tensor.status, tensor.name, tensor.reason);
  for (const SubjectResult& subject : report.subjects)
    if (subject.device.empty() && !was_interrupted(subject) && (!style.quiet || subject.asked))
      note(subject.status, subject.name, subject.reason);
  if (const std::string rest = left_out(report); !rest.empty())
    out.paragraph(2, {out.mark(Tone::warn) + " ", Ink::warn}, "Interrupted; not finished: " + rest);
  out.blank();
  out.paragraph(0, {""}, conclusion(report), Ink::bold);
  return out.take();
}

void merge(VerifyReport& report, const VerifyReport& theirs) {
  for (std::size_t i = 0; i < theirs.tensors.size(); ++i) {
    if (i == report.tensors.size()) report.tensors.push_back(theirs.tensors[i]);
    if (theirs.tensors[i].status == CheckStatus::failed &&
        report.tensors[i].status == CheckStatus::passed)
      report.tensors[i] = theirs.tensors[i];
  }
  report.subjects.insert(report.subjects.end(), theirs.subjects.begin(), theirs.subjects.end());
  report.checks.insert(report.checks.end(), theirs.checks.begin(), theirs.checks.end());
  report.problems = std::max(report.problems, theirs.problems);
}

}  // namespace gpuready
