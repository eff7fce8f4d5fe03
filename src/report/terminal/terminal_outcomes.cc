// What did not pass, and why.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_parts.h"

namespace gpuready {
namespace {

constexpr std::size_t kBadWordsShown = 4, kMismatchesShown = 4;
constexpr std::size_t kNamesShown = 2;  // of those with one and the same outcome

void write_bad_words(const Verdict& verdict, TerminalText& out) {
  if (verdict.bad_words_total == 0 && verdict.bad_words.empty()) return;
  const auto total = std::max<std::uint64_t>(verdict.bad_words_total, verdict.bad_words.size());
  const auto shown = std::min(verdict.bad_words.size(), kBadWordsShown);
  out.line(4,
           {{fmt::format("{} bad word{}; the first by address:", total, total == 1 ? "" : "s")}});
  for (std::size_t i = 0; i < shown; ++i) {
    const BadWord& word = verdict.bad_words[i];
    out.paragraph(6, {"at " + format_hex(word.offset_bytes, 10) + "  "},
                  fmt::format("expected {} read {}", format_hex(word.expected, 16),
                              format_hex(word.actual, 16)));
    std::string rest = format_hex(word.bits(), 16);
    if (!word.phase.empty()) rest += " in pass " + word.phase;
    if (word.repeats) rest += *word.repeats ? ", repeats" : ", not again";
    out.line(23, {{"bits     " + rest, Ink::dim}});
  }
}

void write_mismatches(const Verdict& verdict, TerminalText& out) {
  if (verdict.mismatches_total == 0 && verdict.mismatches.empty()) return;
  const auto total = std::max<std::uint64_t>(verdict.mismatches_total, verdict.mismatches.size());
  const auto shown = std::min(verdict.mismatches.size(), kMismatchesShown);
  out.line(4, {{fmt::format("{} wrong value{}{}", total, total == 1 ? "" : "s",
                            shown == 0      ? ""
                            : shown < total ? "; some of them:"
                                            : ":")}});
  for (std::size_t i = 0; i < shown; ++i)
    out.paragraph(6, {}, mismatch_text(verdict.mismatches[i], verdict.executor, false));
}

// Those that ended alike stand together: a reason may hold for 28 pairs, or for every test of a
// GPU.
bool alike(const TestSummary& a, const TestSummary& b) {
  const Verdict &x = *a.verdict, &y = *b.verdict;
  return (x.test == y.test || x.subject == y.subject) && x.status == y.status &&
         x.reason == y.reason && x.bad_words.empty() && y.bad_words.empty() &&
         x.mismatches.empty() && y.mismatches.empty() && x.injected_fault == y.injected_fault;
}

std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = names.size() <= kNamesShown + 1 ? names.size() : kNamesShown;
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

void write_outcome(const Verdict& verdict, const std::string& lead, bool name_status,
                   TerminalText& out) {
  if (verdict.injected_fault)
    out.paragraph(2, {lead, Ink::bold},
                  fmt::format("a fault was injected on purpose ({}); this says nothing about the "
                              "device.",
                              *verdict.injected_fault),
                  Ink::warn);
  if (verdict.status == VerdictStatus::passed) return;
  out.paragraph(2, {lead, Ink::bold},
                (name_status ? words_of(verdict.status) + ": " : "") + verdict.reason,
                ink_of(tone_of(verdict.status)));
  write_bad_words(verdict, out);
  write_mismatches(verdict, out);
}

}  // namespace

void write_outcomes(const std::vector<const TestSummary*>& tests, bool name_test,
                    TerminalText& out) {
  std::vector<const TestSummary*> told;
  const auto is_told = [&](const TestSummary* test) {
    return std::find(told.begin(), told.end(), test) != told.end();
  };
  for (const TestSummary* test : tests) {
    const Verdict& verdict = *test->verdict;
    if ((verdict.status == VerdictStatus::passed && !verdict.injected_fault) || is_told(test))
      continue;
    // Either several subjects of one test, or several tests of one subject.
    std::vector<const TestSummary*> of_test{test}, of_subject{test};
    for (const TestSummary* each : tests) {
      if (each == test || is_told(each) || !alike(*each, *test)) continue;
      if (each->verdict->test == verdict.test) of_test.push_back(each);
      if (each->verdict->subject == verdict.subject) of_subject.push_back(each);
    }
    const auto& group = of_subject.size() > of_test.size() ? of_subject : of_test;
    std::vector<std::string> subjects, names;
    for (const TestSummary* each : group) {
      told.push_back(each);
      if (&group == &of_test || each == test) subjects.push_back(each->verdict->subject);
      if (&group == &of_subject || each == test) names.push_back(each->verdict->test);
    }
    std::string lead = some_of(subjects);
    if (name_test) lead += ", " + join(names, ", ");
    write_outcome(verdict, lead + ": ", name_test, out);
  }
}

}  // namespace gpuready
