#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/terminal_parts.h"

namespace gpuready {
namespace {

constexpr std::size_t kBadWordsShown = 4;
constexpr std::size_t kRatesShown = 3;

std::string title_of(std::string test) {
  if (!test.empty() && test[0] >= 'a' && test[0] <= 'z') test[0] = static_cast<char>(test[0] - 32);
  return test + " test";
}

std::string rate_text(const Rate& rate) {
  std::string text = format_rate(rate.bytes_per_second);
  if (rate.of_copy_rate) text += " " + format_percent(*rate.of_copy_rate, 0);
  return text;
}

std::vector<Span> row_of(const TestSummary& test, const std::vector<std::string>& rate_names) {
  const Verdict& verdict = *test.verdict;
  std::vector<Span> row{{verdict.subject, Ink::bold},
                        {status_text(verdict.status), ink_of(test.tone)}};
  row.push_back({verdict.coverage ? coverage_text(*verdict.coverage) : ""});
  row.push_back({test.tested_of_total ? format_percent(*test.tested_of_total) : ""});
  for (const std::string& name : rate_names) {
    const auto it = std::find_if(test.slowest_rates.begin(), test.slowest_rates.end(),
                                 [&](const Rate& rate) { return rate.name == name; });
    if (it == test.slowest_rates.end())
      row.push_back({""});
    else
      row.push_back({rate_text(*it), it->below_threshold ? Ink::bad : Ink::plain});
  }
  return row;
}

Table table_of(const std::vector<const TestSummary*>& tests) {
  std::vector<std::string> rate_names;
  for (const TestSummary* test : tests)
    for (const Rate& rate : test->slowest_rates)
      if (rate_names.size() < kRatesShown &&
          std::find(rate_names.begin(), rate_names.end(), rate.name) == rate_names.end())
        rate_names.push_back(rate.name);
  Table table;
  table.columns = {{.title = "Device", .flexible = true},
                   {.title = "Result"},
                   {.title = "Tested", .drop = 1},
                   {.title = "Coverage", .align = Align::right}};
  for (const std::string& name : rate_names) table.columns.push_back({.title = name, .drop = 2});
  for (const TestSummary* test : tests) table.rows.push_back(row_of(*test, rate_names));
  return table;
}

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
    out.line(23, {{fmt::format("bits     {}{}{}", format_hex(word.bits(), 16),
                               word.phase.empty() ? "" : " in pass ", word.phase),
                   Ink::dim}});
  }
}

void write_outcome(const TestSummary& test, TerminalText& out) {
  const Verdict& verdict = *test.verdict;
  if (verdict.injected_fault)
    out.paragraph(2, {verdict.subject + ": ", Ink::bold},
                  "a fault was injected on purpose; this says nothing about the device.",
                  Ink::warn);
  if (verdict.status == VerdictStatus::passed) return;
  out.paragraph(2, {verdict.subject + ": ", Ink::bold}, verdict.reason, ink_of(test.tone));
  write_bad_words(verdict, out);
}

// What a rate's percentage is of.
std::string copy_rate_text(const std::vector<const TestSummary*>& tests) {
  double least = 0, most = 0;
  for (const TestSummary* test : tests)
    if (const auto rate = test->copy_bytes_per_second) {
      least = least == 0 ? *rate : std::min(least, *rate);
      most = std::max(most, *rate);
    }
  if (most == 0) return {};
  const std::string low = format_rate(least), high = format_rate(most);
  return fmt::format("Percent of the copy rate measured in the same run, {}.",
                     low == high ? low : low + " to " + high);
}

// What no test can reach, because the driver or the firmware keeps it.
std::string reserve_text(const std::vector<const TestSummary*>& tests) {
  std::uint64_t most = 0;
  for (const TestSummary* test : tests)
    if (const auto& coverage = test->verdict->coverage)
      most = std::max(most, coverage->reserved_bytes.value_or(0));
  if (most == 0) return {};
  return fmt::format("The driver keeps {} beside that for itself.", format_bytes(most));
}

// Said once when it holds for all that passed.
std::optional<std::string> common_reason(const std::vector<const TestSummary*>& tests) {
  std::optional<std::string> reason;
  for (const TestSummary* test : tests) {
    if (test->verdict->status != VerdictStatus::passed) continue;
    if (reason && *reason != test->verdict->reason) return std::nullopt;
    reason = test->verdict->reason;
  }
  return reason && !reason->empty() ? reason : std::nullopt;
}

}  // namespace

void write_tests(const Summary& summary, bool quiet, TerminalText& out) {
  std::vector<std::string> names;
  for (const TestSummary& test : summary.tests)
    if (std::find(names.begin(), names.end(), test.verdict->test) == names.end())
      names.push_back(test.verdict->test);
  for (const std::string& name : names) {
    std::vector<const TestSummary*> tests;
    for (const TestSummary& test : summary.tests)
      if (test.verdict->test == name &&
          (!quiet || test.verdict->status != VerdictStatus::passed || test.verdict->injected_fault))
        tests.push_back(&test);
    if (tests.empty()) continue;
    out.heading(title_of(name));
    if (!quiet) out.table(2, table_of(tests));
    for (const TestSummary* test : tests) write_outcome(*test, out);
    if (const auto reason = common_reason(tests); reason && !quiet)
      out.paragraph(2, {"Passed: ", Ink::dim}, *reason, Ink::dim);
    for (const auto& text : {copy_rate_text(tests), reserve_text(tests)})
      if (!text.empty() && !quiet) out.paragraph(2, {}, text, Ink::dim);
  }
}

void write_fitness(const Summary& summary, bool quiet, TerminalText& out) {
  Table table;
  table.columns = {
      {.title = "Check"}, {.title = "Result"}, {.title = "Measured", .flexible = true}};
  for (const TestSummary& check : summary.fitness) {
    if (quiet && check.tone == Tone::good) continue;
    table.rows.push_back({{check.verdict->test, Ink::bold},
                          {status_text(check.verdict->status), ink_of(check.tone)},
                          {check.verdict->reason}});
  }
  if (table.rows.empty()) return;
  out.heading("Fitness of the host");
  out.table(2, table);
}

}  // namespace gpuready
