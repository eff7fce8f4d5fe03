// JUnit's XML and GitHub's workflow commands, from the same report as every other form.
#include <fmt/format.h>

#include <algorithm>

#include "report/html/html_parts.h"
#include "report/summary.h"
#include "report/text_layout.h"

namespace gpuready {
namespace {

// What CI systems tell apart: unhealthy, could not be tried, not tried.
enum class Outcome { passed, failure, error, skipped };

struct Case {
  std::string of, name;
  Outcome outcome;
  std::string text;
  double duration_ms = 0;
  std::vector<std::string> details = {};  // lines
};

std::vector<std::string> details_of(const Finding& finding) {
  std::vector<std::string> lines;
  for (const Evidence& item : finding.evidence) lines.push_back(item.source + ": " + item.quote);
  if (finding.logged) lines.push_back("Logged: " + logged_text(*finding.logged));
  if (finding.cure) lines.push_back("Cure: " + *finding.cure);
  if (finding.command) lines.push_back("Command: " + *finding.command);
  return lines;
}

Outcome outcome_of(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::passed:
      return Outcome::passed;
    case VerdictStatus::failed:
      return Outcome::failure;
    case VerdictStatus::timed_out:
    case VerdictStatus::inconclusive:
      return Outcome::error;
    case VerdictStatus::not_tested:
    case VerdictStatus::not_supported:
      break;
  }
  return Outcome::skipped;
}

Outcome outcome_of(const GpuState state) {
  if (state == GpuState::degraded || state == GpuState::not_ready) return Outcome::failure;
  if (state == GpuState::unknown) return Outcome::error;
  return is_ready(state) || state == GpuState::no_problem || state == GpuState::warned ||
                 state == GpuState::found
             ? Outcome::passed
             : Outcome::skipped;
}

// The command's exit code, so that the document is as good as the command was.
Outcome outcome_of(Exit exit) {
  if (exit == Exit::ok) return Outcome::passed;
  return exit == Exit::unhealthy || exit == Exit::required_absent ? Outcome::failure
                                                                  : Outcome::error;
}

std::vector<Case> cases_of(const Report& report, const Summary& summary) {
  std::vector<Case> cases = {{"the machine", report.command, outcome_of(report.exit),
                              summary.conclusion, report.duration_ms}};
  for (const GpuSummary& gpu : summary.gpus)
    cases.push_back({fmt::format("GPU {}", gpu.gpu->index), "ready", outcome_of(gpu.state),
                     gpu.reason.empty() ? std::string(to_text(gpu.state)) : gpu.reason});
  if (report.findings)
    for (const Finding& finding : *report.findings)
      cases.push_back({"findings", finding.id,
                       finding.severity == Severity::error ? Outcome::failure : Outcome::passed,
                       finding.title, 0, details_of(finding)});
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      cases.push_back({verdict.subject, verdict.test, outcome_of(verdict.status), verdict.reason,
                       verdict.duration_ms});
  // Such as a GPU that --device does not name.
  if (report.exit == Exit::ok)
    for (Case& each : cases)
      if (each.outcome != Outcome::passed) each.outcome = Outcome::skipped;
  return cases;
}

std::string_view element_of(Outcome outcome) {
  if (outcome == Outcome::failure) return "failure";
  return outcome == Outcome::error ? "error" : "skipped";
}

// GitHub's runner reads one line for each, and decodes these.
std::string encoded(std::string_view text, std::string_view more = "") {
  std::string out;
  for (const char c : one_line(text))
    if (c == '%' || more.contains(c))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  return out;
}

}  // namespace

std::string render_junit(const Report& report) {
  const Summary summary = summarize(report);
  const auto cases = cases_of(report, summary);
  const auto count = [&](Outcome outcome) {
    return std::ranges::count(cases, outcome, &Case::outcome);
  };
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"gpuready {}\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
      "timestamp=\"{}\">\n",
      escape_html(report.command), cases.size(), count(Outcome::failure), count(Outcome::error),
      count(Outcome::skipped), report.duration_ms / 1000, escape_html(report.created_utc));
  for (const Case& each : cases) {
    out += fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                       escape_html(each.of), escape_html(each.name), each.duration_ms / 1000);
    if (each.outcome == Outcome::passed) {
      out += "/>\n";
      continue;
    }
    const std::string_view element = element_of(each.outcome);
    out += fmt::format("><{}", element);
    if (each.outcome != Outcome::skipped)
      out += fmt::format(" type=\"{}\"", escape_html(each.name));
    out += fmt::format(" message=\"{}\"", escape_html(each.text));
    if (each.details.empty() || each.outcome == Outcome::skipped) {
      out += "/></testcase>\n";
      continue;
    }
    out += ">";
    for (const std::string& line : each.details) out += escape_html(line) + "\n";
    out += fmt::format("</{}></testcase>\n", element);
  }
  return out + "</testsuite>\n</testsuites>\n";
}

std::string without_workflow_commands(std::string_view text) {
  std::string out;
  bool first = true;  // nothing but blanks of any script before in this line
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (first && text.substr(at).starts_with("::"))
      out += ": ";
    else if (text.substr(at).starts_with("##["))
      out += "# ";
    else
      out += c;
    first = c == '\n' || (first && (c <= ' ' || c > '~'));
  }
  return out;
}

std::string render_annotations(const Report& report) {
  constexpr int kMost = 10;  // of each kind, which GitHub shows
  const Summary summary = summarize(report);
  std::string out;
  int errors = 0, warnings = 0;
  const auto add = [&](bool error, std::string_view title, std::string_view text) {
    int& count = error ? errors : warnings;
    if (count++ < kMost)
      out += fmt::format("::{} title={}::{}\n", error ? "error" : "warning", encoded(title, ":,"),
                         encoded(text));
  };
  if (report.exit != Exit::ok)
    add(report.exit != Exit::unknown, "gpuready " + report.command, summary.conclusion);
  for (const Case& each : cases_of(report, summary))
    if (each.of.starts_with("GPU ") &&
        (each.outcome == Outcome::failure || each.outcome == Outcome::error))
      add(each.outcome == Outcome::failure, each.of + " " + each.name, each.text);
  if (report.findings)
    for (const Finding& finding : *report.findings)
      if (finding.severity != Severity::info)
        add(finding.severity == Severity::error, finding.id,
            finding.title + (finding.cure ? ". " + *finding.cure : ""));
  return out;
}

}  // namespace gpuready
