// `bench report`: runs with their rankings, distributions, history and environment.
#pragma once

#include <string>
#include <vector>

#include "bench/history/history.h"
#include "bench/record/run_record.h"
#include "report/report.h"

namespace gpuready {

struct BenchReport : Envelope {
  std::vector<bench::RunRecord> runs;  // in time
  bench::History history;              // of their stacks
};

std::string conclusion_of(const BenchReport& report);
std::string render_markdown(const BenchReport& report);
std::string render_html(const BenchReport& report);  // one self-contained file
std::string render_terminal(const BenchReport& report, const TerminalStyle& style);

}  // namespace gpuready
