#include "report/selftest_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "base/units.h"
#include "report/exit_rules.h"
#include "report/summary.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

bool unknown(const SelfTestRow& row) {
  using enum VerdictStatus;
  return row.status == not_tested || row.status == timed_out || row.status == inconclusive;
}

std::string bounds_text(const SelfTestRow& row) {
  const auto [low, high] = wilson_interval(row.counted(), row.trials);
  return fmt::format("{:.4g} to {:.4g}%", low * 100, high * 100);
}

Tone tone_of(const SelfTestRow& row) {
  if (row.status == VerdictStatus::passed) return Tone::good;
  if (row.status == VerdictStatus::failed) return Tone::bad;
  return Tone::neutral;
}

Ink ink_of_row(const SelfTestRow& row) {
  return row.status == VerdictStatus::passed   ? Ink::good
         : row.status == VerdictStatus::failed ? Ink::bad
                                               : Ink::dim;
}

std::string fault_text(const SelfTestRow& row) {
  if (!row.fault) return "(clean runs)";
  return row.faults == 1 ? *row.fault : fmt::format("{} x {}", row.faults, *row.fault);
}

std::string found_text(const SelfTestRow& row) {
  if (row.trials == 0) return "-";
  if (row.fault) return fmt::format("{} of {}", row.detected, row.trials);
  return fmt::format("{} alarms in {}", row.counted(), row.trials);
}

}  // namespace

void conclude(SelfTestReport& report) {
  std::uint64_t trials = 0, wrong = 0, missing = 0;
  for (const SelfTestRow& row : report.rows) {
    trials += row.trials;
    wrong += row.status == VerdictStatus::failed;
    missing += unknown(row);
  }
  report.exit = exit_of(report.rows);
  if (report.exit == Exit::unhealthy)
    report.conclusion =
        fmt::format("{} of {} cases did not end as they must.", wrong, report.rows.size());
  else if (report.exit == Exit::ok)
    report.conclusion = fmt::format(
        "Every injected fault was found where it must be, and no clean run failed: {} trials.",
        trials);
  else
    report.conclusion =
        missing > 0 ? fmt::format("{} of {} cases could not be tried.", missing, report.rows.size())
                    : "None of the cases can be tried here.";
}

std::string render_terminal(const SelfTestReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet) {
    Table table;
    // A device's name fits beside the rest only where it is short; one device is named above.
    const bool several = std::any_of(report.rows.begin(), report.rows.end(), [&](const auto& row) {
      return row.subject != report.rows.front().subject;
    });
    table.columns = {{""}, {"Test"}, {"Injected"}, {"Found", Align::right}, {"95% bounds"}};
    if (several) table.columns.push_back({"Device"});
    for (const SelfTestRow& row : report.rows) {
      table.rows.push_back({
          {out.mark(tone_of(row)), ink_of_row(row)},
          {row.test},
          {fault_text(row)},
          {found_text(row)},
          {row.trials > 0 ? bounds_text(row) : std::string("-"), Ink::dim},
      });
      if (several) table.rows.back().push_back({row.subject});
    }
    out.heading(
        fmt::format("Self-test of {}: what is found of faults made on purpose",
                    several || report.rows.empty() ? "the tests" : report.rows.front().subject));
    out.table(2, table);
    out.blank();
  }
  for (const SelfTestRow& row : report.rows)
    if (row.status != VerdictStatus::passed)
      out.paragraph(
          2, {out.mark(tone_of(row)) + " ", ink_of_row(row)},
          fmt::format("{}, {}, {}: {}", row.subject, row.test, fault_text(row), row.reason));
  out.blank();
  out.paragraph(0, {""}, report.conclusion.value_or(""), Ink::bold);
  return out.take();
}

}  // namespace gpuready
