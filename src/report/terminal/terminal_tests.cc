#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/terminal/terminal_parts.h"

namespace gpuready {
namespace {

constexpr std::size_t kRatesShown = 3;

std::string title_of(const std::string& test) { return capitalized(test) + " test"; }

// "[x] failed" would take too much of a cell: there, the word says it.
std::string cell_text(const TestCell& cell, const TerminalText& out) {
  if (out.unicode()) return out.mark(cell.tone) + " " + cell.text;
  if (cell.status == VerdictStatus::passed)
    return (cell.tone == Tone::good ? "ok " : "! ") + cell.text;
  return cell.status == VerdictStatus::failed ? "X " + cell.text : cell.text;
}

// A pass with a fault inside must not look like one.
Span result_span(const TestSummary& test, std::string_view mark = {}) {
  const Verdict& verdict = *test.verdict;
  std::string text = words_of(verdict.status);
  const bool inside = verdict.injected_fault && verdict.status == VerdictStatus::passed;
  if (inside) text = "fault inside";
  return {std::string(mark) + text, ink_of(inside ? Tone::warn : test.tone)};
}

// Rows: what was tested; columns: tests. As many columns a table as fit.
void write_matrix(const Summary& summary, TerminalText& out) {
  constexpr std::size_t kIndent = 2, kGap = 2;
  std::size_t first = 0;
  for (const TestRow& row : summary.test_rows) first = std::max(first, display_width(row.subject));
  first = std::min<std::size_t>(first, 24);
  for (std::size_t begin = 0; begin < summary.test_names.size();) {
    Table table;
    table.columns = {{.title = "Device", .flexible = true}};
    for (const TestRow& row : summary.test_rows) table.rows.push_back({{row.subject, Ink::bold}});
    std::size_t used = kIndent + std::max<std::size_t>(first, 6), end = begin;
    for (; end < summary.test_names.size(); ++end) {
      const std::string& name = summary.test_names[end];
      std::vector<Span> spans;
      std::size_t width = display_width(name);
      for (const TestRow& row : summary.test_rows) {
        const auto cell = test_cell(summary, row, name);
        spans.push_back(cell ? Span{cell_text(*cell, out), ink_of(cell->tone)} : Span{});
        width = std::max(width, display_width(spans.back().text));
      }
      if (end > begin && used + kGap + width > out.columns()) break;
      used += kGap + width;
      table.columns.push_back({.title = name});
      for (std::size_t i = 0; i < spans.size(); ++i) table.rows[i].push_back(std::move(spans[i]));
    }
    if (begin > 0) out.blank();
    out.table(kIndent, table);
    begin = end;
  }
}

// One device with several tests: a line each.
void write_list(const Summary& summary, TerminalText& out) {
  constexpr std::size_t kIndent = 2, kGap = 2;
  std::size_t used = kIndent;
  Table table;
  table.columns = {{.title = "Test"},
                   {.title = "Result"},
                   {.title = "Took", .align = Align::right},
                   {.title = "Figures", .flexible = true}};
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    table.rows.push_back(
        {{verdict.test, Ink::bold},
         result_span(test, out.mark(verdict.injected_fault && test.tone == Tone::good ? Tone::warn
                                                                                      : test.tone) +
                               " "),
         {verdict.duration_ms > 0 ? format_duration_ms(verdict.duration_ms) : ""}});
  }
  for (std::size_t c = 0; c < 3; ++c) {
    std::size_t width = display_width(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, display_width(row[c].text));
    used += width + kGap;
  }
  for (std::size_t i = 0; i < summary.tests.size(); ++i) {
    std::string text;
    for (const std::string& figure : summary.tests[i].figures) {
      const std::string more = (text.empty() ? "" : ", ") + figure;
      if (!text.empty() && used + display_width(text + more) > out.columns()) break;
      text += more;
    }
    table.rows[i].push_back({text});
  }
  out.table(kIndent, table);
}

std::vector<Span> row_of(const TestSummary& test, const std::vector<std::string>& rate_names) {
  const Verdict& verdict = *test.verdict;
  std::vector<Span> row{{verdict.subject, Ink::bold}, result_span(test)};
  row.push_back({verdict.coverage ? coverage_text(*verdict.coverage) : ""});
  row.push_back({test.tested_of_total ? format_percent(*test.tested_of_total) : ""});
  row.push_back({verdict.units ? units_text(*verdict.units, verdict.executor) : ""});
  for (const std::string& name : rate_names) {
    const auto it = std::find_if(test.slowest_rates.begin(), test.slowest_rates.end(),
                                 [&](const Figure& rate) { return rate.name == name; });
    if (it == test.slowest_rates.end())
      row.push_back({""});
    else
      row.push_back({figure_text(*it), it->below_threshold ? Ink::bad : Ink::plain});
  }
  return row;
}

// Several devices with one test: its figures in columns.
Table table_of(const std::vector<const TestSummary*>& tests) {
  std::vector<std::string> rate_names;
  for (const TestSummary* test : tests)
    for (const Figure& rate : test->slowest_rates)
      if (rate_names.size() < kRatesShown &&
          std::find(rate_names.begin(), rate_names.end(), rate.name) == rate_names.end())
        rate_names.push_back(rate.name);
  Table table;
  table.columns = {{.title = "Device", .flexible = true},
                   {.title = "Result"},
                   {.title = "Tested", .drop = 1},
                   {.title = "Coverage", .align = Align::right},
                   {.title = "Units"}};
  for (const std::string& name : rate_names) table.columns.push_back({.title = name, .drop = 2});
  for (const TestSummary* test : tests) table.rows.push_back(row_of(*test, rate_names));
  return table;
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
  return fmt::format("The driver keeps another {} for itself.", format_bytes(most));
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
  std::vector<const TestSummary*> tests;
  for (const TestSummary& test : summary.tests)
    if (!quiet || test.verdict->status != VerdictStatus::passed || test.verdict->injected_fault)
      tests.push_back(&test);
  if (tests.empty()) return;
  const bool one_test = summary.test_names.size() == 1;
  const bool one_row = summary.test_rows.size() == 1;
  out.heading(one_test  ? title_of(summary.test_names.front())
              : one_row ? "Tests of " + summary.test_rows.front().subject
                        : "Tests");
  if (!quiet) {
    if (one_test)
      out.table(2, table_of(tests));
    else if (one_row)
      write_list(summary, out);
    else
      write_matrix(summary, out);
  }
  write_outcomes(tests, !one_test, out);
  if (quiet) return;
  if (one_test)
    if (const auto reason = common_reason(tests))
      out.paragraph(2, {"Passed: ", Ink::dim}, *reason, Ink::dim);
  if (one_test || one_row)
    if (const auto text = copy_rate_text(tests); !text.empty())
      out.paragraph(2, {}, text, Ink::dim);
  if (const auto text = reserve_text(tests); !text.empty()) out.paragraph(2, {}, text, Ink::dim);
}

}  // namespace gpuready
