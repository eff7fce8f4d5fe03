// The parts of the HTML report. Every text goes through escape_html(); nothing else is trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/summary.h"

namespace gpuready {

// Safe as element text and inside a quoted attribute; one line.
std::string escape_html(std::string_view text);  // html_text.cc
// The same with line breaks kept, for <pre>.
std::string escape_html_lines(std::string_view text);     // html_text.cc
std::string_view css_class(Tone tone);                    // html_text.cc
std::string html_pill(Tone tone, std::string_view text);  // html_text.cc
std::string html_icon(Tone tone);                         // html_text.cc
// From the document's type to the end of its head. `script` is the one that the page may run.
std::string html_head(std::string_view title, std::string_view script = {});  // html_text.cc
// A page of one conclusion, in the tone's colour, and `body` below it.
std::string html_page(const Envelope& envelope, Tone tone, std::string_view body);  // html_text.cc
// A bar with its label and value; `fraction` is cut to 0..1, `mark` draws the threshold.
struct Bar {
  std::string label, value;
  double fraction = 0;
  Tone tone = Tone::good;
  std::optional<double> mark;
};
std::string html_bar(const Bar& bar);                          // html_text.cc
std::string html_facts(const std::vector<FactGroup>& groups);  // html_text.cc

std::string html_gpu_cards(const Report& report, const Summary& summary);  // html_gpus.cc
std::string html_tests(const Summary& summary);                            // html_tests.cc
std::string html_fitness(const Summary& summary);                          // html_tests.cc
std::string html_findings(const Report& report);                           // html_findings.cc
std::string html_topology(const Report& report, const Summary& summary);   // html_topology.cc

extern const std::string_view kHtmlStyle;   // html_style.cc
extern const std::string_view kHtmlScript;  // html_style.cc

}  // namespace gpuready
