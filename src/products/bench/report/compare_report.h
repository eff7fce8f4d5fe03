// `bench compare` for programs and people.
#pragma once

#include <string>
#include <string_view>

#include "bench/compare/compare.h"
#include "report/report.h"

namespace gpuready {

std::string render_terminal(const bench::Comparison& comparison, const Envelope& envelope,
                            const TerminalStyle& style);
std::string render_markdown(const bench::Comparison& comparison, const Envelope& envelope);
// One sentence.
std::string conclusion_of(const bench::Comparison& comparison);

// Parts that other reports of benchmarks show as well. Times in ns and so on, as people read them.
std::string value_text(bench::Kpi kpi, double value);
std::string gain_text(double percent);  // "+2.1%"
// In place of an interval: "too few runs for an interval (3 of at least 5)".
std::string too_few_text(std::string_view what, std::size_t count, std::size_t least);
std::string outcome_text(const bench::KpiComparison& kpi, double margin_percent);
std::string markdown_table(const bench::StackComparison& stack, double margin_percent);
std::string markdown_differences(const bench::Comparison& comparison);  // a list
std::string title_of(const bench::StackComparison& stack);

}  // namespace gpuready
