#include "fleet/report/slow_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nodes/hostlist.h"
#include "base/text.h"
#include "fleet/report/exit_rules.h"
#include "fleet/report/slow_fields.h"
#include "report/markdown_text.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {

using namespace fleet;

namespace {

std::string title_of(const auto& part) {
  return part.other.empty() ? fmt::format("{} {}", name_of(part.kind), part.name)
                            : fmt::format("link {} - {}", part.name, part.other);
}

std::string share_of(const SlowPart& part) { return fmt::format("{:.1f}%", part.share * 100); }

// 99.95 and not 100.00 for what is not certain.
std::string confidence_of(const SlowPart& part) {
  return fmt::format("{:.2f}%", std::min(part.confidence * 100, 99.99));
}

// "2 of 3 measurements had wrong values; 1 gave no answer; with n[2-3]"
std::string failures_of(const FailedPart& part) {
  std::vector<std::string> parts;
  for (const auto& [number, what] :
       {std::pair{part.wrong, "had wrong values"}, {part.failed - part.wrong, "gave no answer"}})
    if (number > 0)
      parts.push_back(
          fmt::format("{} of {} {}", number, counted(part.measurements, "measurement"), what));
  if (!part.partners.empty()) parts.push_back("with " + fold_hostlist(part.partners));
  return join(parts, "; ");
}

// Lines of nodes by what is not known of them.
std::vector<std::pair<std::string, std::string>> lists_of(const SlowFindings& findings) {
  std::vector<std::pair<std::string, std::string>> lists;
  if (!findings.unknown.empty())
    lists.emplace_back("Unknown, never answered", fold_hostlist(findings.unknown));
  if (!findings.left.empty())
    lists.emplace_back("Unknown, no longer answer", fold_hostlist(findings.left));
  return lists;
}

std::string basis_of(const SlowFindings& findings) {
  if (!findings.usual_rate) return "No pair was measured.";
  std::string text = fmt::format(
      "{}, {}; usual rate {:.4g}; a measurement varies by {:.1f}%; slow is below {:.1f}%.",
      counted(findings.rounds, "round"), counted(findings.measured_pairs, "pair"),
      *findings.usual_rate, *findings.noise * 100, *findings.limit_share * 100);
  if (findings.failed_pairs > 0)
    text +=
        fmt::format(" {} gave no answer or wrong values.", counted(findings.failed_pairs, "pair"));
  return text;
}

constexpr std::pair<SearchEnd, std::string_view> kEnds[] = {
    {SearchEnd::most_rounds, "the limit of rounds ended the search"},
    {SearchEnd::no_answers, "the rounds gave no answers"},
    {SearchEnd::too_varied, "the measurements vary too much to decide"},
    {SearchEnd::ended_before, "nothing was measured now"},
};

constexpr std::size_t kShownFailures = 5, kShownSuspects = 20;

}  // namespace

std::string conclusion_of(const SlowFindings& findings) {
  if (findings.ended == SearchEnd::planned)
    return fmt::format("Round {} has {}.", findings.rounds + 1,
                       counted(findings.next_round.size(), "pair"));
  const auto slow = [&](FleetPart kind) {
    return static_cast<std::size_t>(std::ranges::count(findings.slow, kind, &SlowPart::kind));
  };
  std::vector<std::string> parts;
  for (const FleetPart kind : {FleetPart::node, FleetPart::group, FleetPart::link})
    if (const auto number = slow(kind); number > 0)
      parts.push_back(counted(number, fmt::format("slow {}", name_of(kind))));
  std::string text = parts.empty() ? "Nothing is known to be slow" : join(parts, ", ");
  const std::size_t silent = findings.unknown.size() + findings.left.size();
  if (parts.empty() && findings.limit_share && exit_of(findings) == Exit::ok)
    text = fmt::format("No node, group or link is slower by {:.1f}% or more",
                       100 * (1 - *findings.limit_share));
  text += fmt::format(" among {}", counted(findings.nodes, "node"));
  if (silent > 0) text += fmt::format("; {} unknown", silent);
  if (!findings.suspects.empty()) text += fmt::format("; {} undecided", findings.suspects.size());
  if (!findings.failing.empty()) text += "; failed: " + counted(findings.failing.size(), "part");
  for (const auto& [end, what] : kEnds)
    if (findings.ended == end) text += fmt::format("; {}", what);
  return text + ".";
}

std::string render_terminal(const SlowFindings& findings, const TerminalStyle& style) {
  TerminalText text(style);
  if (findings.ended == SearchEnd::planned) {  // as lines of a file for --results
    text.line(0, {{"# " + conclusion_of(findings)}});
    for (const NamedPair& pair : findings.next_round)
      text.line(0, {{fmt::format("{} {} {}", findings.rounds + 1, pair.a, pair.b)}});
    return text.take();
  }
  const auto show = [&](const std::vector<SlowPart>& list, Tone tone, std::size_t most) {
    for (std::size_t i = 0; i < std::min(list.size(), most); ++i)
      text.paragraph(0, {text.mark(tone) + " ", ink_of(tone)},
                     fmt::format("{}: {} of the usual rate, {} sure by {}", title_of(list[i]),
                                 share_of(list[i]), confidence_of(list[i]),
                                 counted(list[i].measurements, "measurement")));
    if (list.size() > most)
      text.line(2, {{fmt::format("and {} more", list.size() - most), Ink::dim}});
  };
  show(findings.slow, Tone::bad, SIZE_MAX);
  if (!findings.suspects.empty()) {
    text.blank();
    text.line(0, {{"Undecided:"}});
    show(findings.suspects, Tone::warn, kShownSuspects);
  }
  for (const FailedPart& part : findings.failing) {
    const Tone tone = part.wrong > 0 ? Tone::bad : Tone::warn;
    text.paragraph(0, {text.mark(tone) + " ", ink_of(tone)},
                   fmt::format("{}: {}", title_of(part), failures_of(part)));
  }
  for (const auto& [title, nodes] : lists_of(findings))
    text.paragraph(0, {text.mark(Tone::warn) + " ", Ink::warn}, title + ": " + nodes);
  if (!findings.failures.empty() && !style.quiet) {
    text.blank();
    for (std::size_t i = 0; i < std::min(findings.failures.size(), kShownFailures); ++i) {
      const PairFailure& one = findings.failures[i];
      text.paragraph(2, {""},
                     fmt::format("round {}, {} with {}: {}", one.round, one.a, one.b, one.reason),
                     Ink::dim);
    }
    if (findings.failures.size() > kShownFailures)
      text.line(
          2, {{fmt::format("and {} more", findings.failures.size() - kShownFailures), Ink::dim}});
  }
  if (!style.quiet) {
    text.blank();
    for (const auto& note : findings.notes)
      text.paragraph(0, {text.mark(Tone::neutral) + " "}, note);
    text.paragraph(0, {""}, basis_of(findings));
  }
  text.paragraph(0, {""}, conclusion_of(findings));
  return text.take();
}

std::string render_markdown(const SlowFindings& findings, const Envelope&) {
  std::string text = fmt::format("# Slow nodes\n\n{}\n", conclusion_of(findings));
  const auto table = [&](std::string_view title, const std::vector<SlowPart>& list) {
    if (list.empty()) return;
    text += fmt::format(
        "\n## {}\n\n| part | share of the usual rate | probability | measurements "
        "|\n|---|---|---|---|\n",
        title);
    for (const SlowPart& part : list)
      text += fmt::format("| {} | {} | {} | {} |\n", markdown_text(title_of(part)), share_of(part),
                          confidence_of(part), part.measurements);
  };
  table("Slow", findings.slow);
  table("Undecided", findings.suspects);
  if (!findings.failing.empty()) text += "\n## Failed measurements\n\n";
  for (const FailedPart& part : findings.failing)
    text += fmt::format("- {}\n",
                        markdown_text(fmt::format("{}: {}", title_of(part), failures_of(part))));
  for (const auto& [title, nodes] : lists_of(findings))
    text += fmt::format("\n{}: {}\n", title, markdown_text(nodes));
  for (const auto& note : findings.notes) text += fmt::format("\n{}\n", markdown_text(note));
  return text + fmt::format("\n{}\n", basis_of(findings));
}

void note_kept_rounds(SlowFindings& findings, const KeptRounds& kept) {
  if (kept.rounds == 0) return;
  const bool none = findings.rounds == kept.rounds && !kept.interrupted;
  if (none) findings.ended = SearchEnd::ended_before;
  const std::string old =
      fmt::format("{} of {} {} measured before {}", counted(kept.rounds, "round"),
                  printable(kept.file), kept.rounds == 1 ? "was" : "were", kept.before);
  findings.notes.push_back(none ? "Nothing was measured now, because this search has ended: " +
                                      old + ". For a new search, remove the file or name another."
                                : old + ".");
}

}  // namespace gpuready
