// The sections of the terminal report.
#pragma once

#include "report/summary.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {

void write_gpu_table(const Summary& summary, TerminalText& out);          // terminal.cc
void write_tests(const Summary& summary, bool quiet, TerminalText& out);  // terminal_tests.cc
// What did not pass; `name_test` where there are several tests.
void write_outcomes(const std::vector<const TestSummary*>& tests, bool name_test,
                    TerminalText& out);                                     // terminal_outcomes.cc
void write_samples(const Report& report, bool quiet, TerminalText& out);    // terminal_samples.cc
void write_fitness(const Summary& summary, bool quiet, TerminalText& out);  // terminal_samples.cc
void write_findings(const Report& report, const Summary& summary, bool quiet,
                    TerminalText& out);                                     // terminal_findings.cc
void write_finding(const Finding& finding, bool quiet, TerminalText& out);  // terminal_findings.cc
void write_unseen(const Machine& machine, TerminalText& out);               // terminal_findings.cc
void write_details(const Machine& machine, TerminalText& out);              // terminal_detect.cc
void write_topology(const Machine& machine, TerminalText& out);             // terminal_detect.cc

}  // namespace gpuready
