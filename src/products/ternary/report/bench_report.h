// The times of `ternary bench`, as a document and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "ternary/suite/bench.h"
#include "value/envelope.h"

namespace gpuready {

struct TernaryTimes {
  unsigned threads = 0;  // of the CPU's tiers; 0: as many as the process may use
  std::vector<ternary::BenchRow> rows;
};
std::string render_terminal(const TernaryTimes& times, const TerminalStyle& style);

// The rows of such a document, as a child process wrote it. Nothing where it is not one.
std::optional<std::vector<ternary::BenchRow>> read_bench_rows(const Json& document);

}  // namespace gpuready
