#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/html/html_parts.h"

namespace gpuready {
namespace {

// More tests than these are folded by kind where they passed.
constexpr std::size_t kMostRows = 12;

std::string metrics_table(const Verdict& verdict) {
  if (verdict.metrics.empty()) return {};
  std::string out =
      "<div class=\"scroll\"><table class=\"metrics\"><thead><tr><th scope=\"col\">Measured</th>"
      "<th scope=\"col\">Value</th><th scope=\"col\">At least</th><th scope=\"col\">From</th></tr>"
      "</thead><tbody>\n";
  for (const Metric& metric : verdict.metrics) {
    const bool bad = metric.threshold && metric.value < *metric.threshold;
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(metric_title(metric.name)), bad ? "bad" : "",
        escape_html(quantity_text(metric.value, metric.unit)),
        metric.threshold ? escape_html(quantity_text(*metric.threshold, metric.unit)) : "",
        escape_html(metric.threshold_source.value_or("")));
  }
  return out + "</tbody></table></div>\n";
}

std::string coverage_list(const Verdict& verdict) {
  std::string out;
  if (verdict.coverage) {
    const Coverage& coverage = *verdict.coverage;
    out += fmt::format("<p>{} bytes verified, counted by the device; {} were free, {} in all",
                       coverage.tested_bytes, coverage.free_bytes, coverage.total_bytes);
    if (coverage.reserved_bytes)
      out += fmt::format("; {} kept by the driver", format_bytes(*coverage.reserved_bytes));
    out += ".</p>\n";
  }
  if (verdict.units)
    out += fmt::format("<p>{} were seen to do the work.</p>\n",
                       units_text(*verdict.units, verdict.executor));
  return out;
}

std::string mono_table(std::initializer_list<std::string_view> titles, const std::string& rows) {
  std::string out = "<div class=\"scroll\"><table class=\"mono\"><thead><tr>";
  for (const auto title : titles) out += fmt::format("<th scope=\"col\">{}</th>", title);
  return out + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string bad_words(const Verdict& verdict) {
  if (verdict.bad_words_total == 0 && verdict.bad_words.empty()) return {};
  std::string rows;
  for (const BadWord& word : verdict.bad_words)
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"bad\">{}</td><td>{}</td><td>{}</td>"
        "</tr>\n",
        format_hex(word.offset_bytes, 10), format_hex(word.expected, 16),
        format_hex(word.actual, 16), format_hex(word.bits(), 16), escape_html(word.phase),
        !word.repeats   ? ""
        : *word.repeats ? "yes"
                        : "no");
  const std::string lead =
      fmt::format("<p><b>{} bad words</b>; the first by address:</p>", verdict.bad_words_total);
  return lead +
         mono_table({"Offset", "Expected", "Read", "Bits that differ", "Pass", "Repeats"}, rows);
}

std::string mismatches(const Verdict& verdict) {
  if (verdict.mismatches_total == 0 && verdict.mismatches.empty()) return {};
  std::string rows;
  for (const Mismatch& mismatch : verdict.mismatches)
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"bad\">{}</td>"
        "</tr>\n",
        escape_html(mismatch.what),
        mismatch.unit ? unit_name(*mismatch.unit, verdict.executor) : "", mismatch.index,
        format_hex(mismatch.expected), format_hex(mismatch.actual),
        format_hex(mismatch.expected ^ mismatch.actual));
  return fmt::format("<p><b>{} wrong values</b>; some of them:</p>", verdict.mismatches_total) +
         mono_table({"What", "Unit", "Result", "Expected", "Got", "Bits that differ"}, rows);
}

std::string digests(const Verdict& verdict) {
  if (verdict.digests.empty()) return {};
  std::string out = "<p class=\"id\">Must be the same on every device of a model: ";
  for (std::size_t i = 0; i < verdict.digests.size(); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", escape_html(verdict.digests[i].name),
                       format_hex(verdict.digests[i].value, 16));
  return out + "</p>\n";
}

std::string test_details(const TestSummary& test) {
  const Verdict& verdict = *test.verdict;
  // A pass with a fault inside must not look like one.
  const Tone tone = verdict.injected_fault && test.tone == Tone::good ? Tone::warn : test.tone;
  // What did not pass is open, so that it is read without a click.
  std::string out = fmt::format(
      "<details class=\"card row\"{}><summary>{}<span class=\"grow\"><b>{}</b> \u00b7 {}"
      "<span class=\"figure\">{}</span></span>{}</summary>\n<p>{}</p>\n",
      test.tone == Tone::bad ? " open" : "", html_icon(tone), escape_html(verdict.subject),
      escape_html(verdict.test), escape_html(join(test.figures, ", ")),
      html_pill(tone, words_of(verdict.status)), escape_html(verdict.reason));
  if (verdict.injected_fault)
    out += fmt::format(
        "<p class=\"warn\">A fault was injected on purpose ({}): this says nothing about the "
        "device.</p>\n",
        escape_html(*verdict.injected_fault));
  out += coverage_list(verdict) + bad_words(verdict) + mismatches(verdict) +
         metrics_table(verdict) + digests(verdict);
  out += fmt::format("<p class=\"id\">executor {}, took {}", escape_html(verdict.executor),
                     format_duration_ms(verdict.duration_ms));
  if (verdict.started_ms)
    out += fmt::format(", from {} on", format_duration_ms(std::max(0.0, *verdict.started_ms)));
  return out + "</p></details>\n";
}

// Devices down, tests across.
std::string matrix(const Summary& summary) {
  if (summary.test_names.size() < 2 || summary.test_rows.size() < 2) return {};
  std::string out =
      "<div class=\"card scroll\"><table class=\"tests\"><thead><tr><th scope=\"col\">Device</th>";
  for (const auto& name : summary.test_names)
    out += fmt::format("<th scope=\"col\">{}</th>", escape_html(name));
  out += "</tr></thead><tbody>\n";
  for (const TestRow& row : summary.test_rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(row.subject));
    for (const auto& name : summary.test_names) {
      const auto cell = test_cell(summary, row, name);
      out += !cell ? "<td></td>"
                   : fmt::format("<td class=\"cell\">{}<span class=\"{}\">{}</span></td>",
                                 html_icon(cell->tone), css_class(cell->tone),
                                 escape_html(cell->text));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string html_tests(const Summary& summary) {
  if (summary.tests.empty()) return {};
  std::string out = "<section><h2>Tests</h2>\n" + matrix(summary);
  const bool fold = summary.tests.size() > kMostRows;
  for (const TestSummary& test : summary.tests)
    if (!fold || test.tone != Tone::good || test.verdict->injected_fault) out += test_details(test);
  if (!fold) return out + "</section>\n";
  for (const auto& name : summary.test_names) {
    std::string inner;
    std::size_t count = 0;
    for (const TestSummary& test : summary.tests) {
      if (test.verdict->test != name || test.tone != Tone::good || test.verdict->injected_fault)
        continue;
      inner += test_details(test);
      ++count;
    }
    if (count == 0) continue;
    out += fmt::format(
        "<details class=\"fold\"><summary>{}<span class=\"grow\"><b>{}</b> \u00b7 {} passed</span>"
        "</summary>\n{}</details>\n",
        html_icon(Tone::good), escape_html(name), count, inner);
  }
  return out + "</section>\n";
}

std::string html_fitness(const Summary& summary) {
  if (summary.fitness.empty()) return {};
  std::string out =
      "<section><h2>Fitness of the host</h2>\n<div class=\"card scroll\"><table><thead><tr>"
      "<th scope=\"col\">Check</th><th scope=\"col\">Result</th><th scope=\"col\">Measured</th>"
      "</tr></thead><tbody>\n";
  for (const TestSummary& check : summary.fitness)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
                       escape_html(check.verdict->test),
                       html_pill(check.tone, words_of(check.verdict->status)),
                       escape_html(check.verdict->reason));
  return out + "</tbody></table></div></section>\n";
}

}  // namespace gpuready
