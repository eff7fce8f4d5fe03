// The times of `ternary bench`, as a document and as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/envelope.h"
#include "report/report.h"
#include "ternary_device/bench.h"

namespace gpuready {

Json to_json(std::span<const ternary::BenchRow> rows, unsigned threads,
             const Envelope& envelope);  // schema/ternary-bench
std::string render_terminal(std::span<const ternary::BenchRow> rows, const TerminalStyle& style);

// The rows of such a document, as a child process wrote it. Nothing where it is not one.
std::optional<std::vector<ternary::BenchRow>> read_bench_rows(const Json& document);

}  // namespace gpuready
