// Runs in the formats of other programs.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "bench/record/run_record.h"

namespace gpuready::bench {

// One row for each repeat of each stack, below a row of names; RFC 4180. Times in ns.
std::string to_csv(std::span<const RunRecord> runs);

// What google/benchmark writes with --benchmark_out, so that its compare.py and whatever else reads
// that format reads runs: one repetition for each repeat, real_time its mean in ns.
Json to_google_benchmark(const RunRecord& run);

// What PyC's GPU suite writes: NAME.json, NAME.metadata.json and NAME.md. What it calls tokens is
// batch x hidden elements. A stack that did other work or has no valid sample is an error there.
Json to_pyc_suite(const RunRecord& run);
Json to_pyc_metadata(const RunRecord& run);
std::string to_pyc_markdown(const RunRecord& run);

}  // namespace gpuready::bench
