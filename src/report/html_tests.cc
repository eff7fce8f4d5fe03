#include <fmt/format.h>

#include "base/units.h"
#include "report/html_parts.h"

namespace gpuready {
namespace {

std::string metric_value(const Metric& metric, double value) {
  if (metric.unit == "B/s") return format_rate(value);
  if (metric.unit == "B" && value >= 0) return format_bytes(static_cast<std::uint64_t>(value));
  if (metric.unit == "ms") return format_duration_ms(value);
  return metric.unit == "1" ? fmt::format("{:g}", value)
                            : fmt::format("{:g} {}", value, metric.unit);
}

std::string metrics_table(const Verdict& verdict) {
  if (verdict.metrics.empty()) return {};
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Measured</th><th "
      "scope=\"col\">Value"
      "</th><th scope=\"col\">At least</th><th scope=\"col\">From</th></tr></thead><tbody>\n";
  for (const Metric& metric : verdict.metrics) {
    const bool bad = metric.threshold && metric.value < *metric.threshold;
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(metric.name), bad ? "bad" : "", escape_html(metric_value(metric, metric.value)),
        metric.threshold ? escape_html(metric_value(metric, *metric.threshold)) : "",
        escape_html(metric.threshold_source.value_or("")));
  }
  return out + "</tbody></table></div>\n";
}

std::string coverage_list(const Verdict& verdict) {
  if (!verdict.coverage) return {};
  const Coverage& coverage = *verdict.coverage;
  std::string out =
      fmt::format("<p>{} bytes verified, counted by the device; {} were free, {} in all",
                  coverage.tested_bytes, coverage.free_bytes, coverage.total_bytes);
  if (coverage.reserved_bytes)
    out += fmt::format("; {} kept by the driver", format_bytes(*coverage.reserved_bytes));
  return out + ".</p>\n";
}

std::string bad_words(const Verdict& verdict) {
  if (verdict.bad_words.empty()) return {};
  std::string out = fmt::format(
      "<p><b>{} bad words</b>; the first by address:</p><div class=\"scroll\"><table "
      "class=\"mono\"><thead><tr><th scope=\"col\">Offset</th><th scope=\"col\">Expected</th>"
      "<th scope=\"col\">Read</th><th scope=\"col\">Bits that differ</th>"
      "<th scope=\"col\">Pass</th></tr></thead><tbody>\n",
      verdict.bad_words_total);
  for (const BadWord& word : verdict.bad_words)
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"bad\">{}</td><td>{}</td></tr>\n",
        format_hex(word.offset_bytes, 10), format_hex(word.expected, 16),
        format_hex(word.actual, 16), format_hex(word.bits(), 16), escape_html(word.phase));
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string html_tests(const Summary& summary) {
  if (summary.tests.empty()) return {};
  std::string out = "<section><h2>Tests</h2>\n";
  for (const TestSummary& test : summary.tests) {
    const Verdict& verdict = *test.verdict;
    // What did not pass is open, so that it is read without a click.
    out += fmt::format(
        "<details class=\"card row\"{}><summary>{}<span class=\"grow\"><b>{}</b> \u00b7 {}</span>{}"
        "</summary>\n<p>{}</p>\n",
        test.tone == Tone::bad ? " open" : "", html_icon(test.tone), escape_html(verdict.subject),
        escape_html(verdict.test), html_pill(test.tone, status_text(verdict.status)),
        escape_html(verdict.reason));
    if (verdict.injected_fault)
      out +=
          "<p class=\"warn\">A fault was injected on purpose: this says nothing about the "
          "device.</p>\n";
    out += coverage_list(verdict) + bad_words(verdict) + metrics_table(verdict);
    out += fmt::format("<p class=\"id\">executor {}, took {}</p></details>\n",
                       escape_html(verdict.executor), format_duration_ms(verdict.duration_ms));
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
                       html_pill(check.tone, status_text(check.verdict->status)),
                       escape_html(check.verdict->reason));
  return out + "</tbody></table></div></section>\n";
}

}  // namespace gpuready
