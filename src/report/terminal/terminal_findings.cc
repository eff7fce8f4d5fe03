#include <fmt/format.h>

#include "base/text.h"
#include "report/terminal/terminal_parts.h"
#include "value/action.h"
#include "value/names.h"

namespace gpuready {
namespace {

constexpr std::size_t kQuotesShown = 6;  // the rest is in the other formats

// All that follows, at any depth, by title.
void collect_titles(const Finding& finding, std::vector<std::string>& titles) {
  for (const Finding& inner : finding.explains) {
    titles.push_back(inner.title);
    collect_titles(inner, titles);
  }
}

void write_evidence(const Finding& finding, TerminalText& out) {
  const std::string bar = out.unicode() ? "\u2502 " : "| ";
  const auto count = std::min(finding.evidence.size(), kQuotesShown);
  for (std::size_t i = 0; i < count; ++i) {
    const Evidence& evidence = finding.evidence[i];
    out.line(4, {{bar + evidence.source, Ink::dim}});
    for (const auto quote : lines(evidence.quote)) out.paragraph(4, {bar + "  ", Ink::dim}, quote);
  }
  if (finding.evidence.size() > count)
    out.line(4, {{bar + fmt::format("and {} more", finding.evidence.size() - count), Ink::dim}});
}

std::string tally_text(const Summary& summary) {
  std::vector<std::string> parts;
  if (summary.errors > 0)
    parts.push_back(counted(static_cast<std::size_t>(summary.errors), "error"));
  if (summary.warnings > 0)
    parts.push_back(counted(static_cast<std::size_t>(summary.warnings), "warning"));
  if (summary.infos > 0) parts.push_back(counted(static_cast<std::size_t>(summary.infos), "note"));
  return join(parts, ", ");
}

}  // namespace

void write_finding(const Finding& finding, bool quiet, TerminalText& out) {
  const Tone tone = tone_of(finding.severity);
  out.blank();
  out.paragraph(2,
                {out.mark(tone) + " " + to_upper(to_string(finding.severity)) + "  ", ink_of(tone)},
                finding.title, Ink::bold);
  std::string about = finding.id;
  if (const auto concerned = concerned_text(finding); !concerned.empty()) about += ", " + concerned;
  out.paragraph(4, {}, about, Ink::dim);
  if (!quiet) {
    if (!finding.explanation.empty()) out.paragraph(4, {}, finding.explanation);
    write_evidence(finding, out);
    if (finding.logged) out.paragraph(4, {"Logged: ", Ink::bold}, logged_text(*finding.logged));
  }
  if (finding.cure) out.paragraph(4, {"Cure: ", Ink::bold}, *finding.cure);
  if (finding.command) out.command(6, *finding.command);
  if (finding.terms) out.paragraph(4, {"Risk: ", Ink::bold}, words_of(*finding.terms));
  if (finding.action != Action::none)
    out.paragraph(4, {"Action: ", Ink::bold}, words_of(finding.action));
  std::vector<std::string> titles;
  collect_titles(finding, titles);
  if (!titles.empty()) out.paragraph(4, {"explains: ", Ink::dim}, join(titles, "; "), Ink::dim);
}

void write_findings(const Report& report, const Summary& summary, bool quiet, TerminalText& out) {
  if (!report.findings) return;
  if (report.findings->empty()) {
    if (quiet) return;
    out.blank();
    out.paragraph(0, {"No findings: ", Ink::bold}, "looked at " + looked_at(report.machine) + ".");
    return;
  }
  if (quiet && summary.errors + summary.warnings == 0) return;
  out.heading("Findings: " + tally_text(summary));
  for (const Finding& finding : *report.findings)
    if (!quiet || finding.severity != Severity::info) write_finding(finding, quiet, out);
}

void write_unseen(const Machine& machine, TerminalText& out) {
  if (machine.unseen.empty()) return;
  out.blank();
  out.line(0, {{"Could not be seen", Ink::dim}});
  for (const Unseen& unseen : machine.unseen)
    out.paragraph(2, {unseen.what + ": ", Ink::dim}, unseen.why, Ink::dim);
}

}  // namespace gpuready
