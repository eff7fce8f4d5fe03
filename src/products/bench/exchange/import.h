// Results of other benchmark programs as runs: google/benchmark, nvbench, llama-bench,
// hyperfine, asv and PyC's GPU suite. One file is one run; each of its benchmarks is a stack of
// that run, so that two files are compared benchmark by benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/record/run_record.h"
#include "host/host.h"

namespace gpuready::bench {

// The run of a document of ours or of these programs, told apart by content. NaN and infinities,
// which they write although JSON has none, are figures that are not there. The id follows from the
// content; the tag is empty where the document has none.
Result<RunRecord> import_run(std::string_view text, std::string_view name);

// The run of a file as it is to be kept in `folder`, by this tag or the file's name. One without a
// time gets the time `now`. Refuses one without a measurement, one that is there already, and work
// that is not the tag's.
Result<RunRecord> import_file(Host& host, const std::string& file, const std::string& folder,
                              const std::string& tag, std::int64_t now);

// JSON without the bare words NaN, Infinity, -inf and their like: null stands for them.
std::string without_non_numbers(std::string_view text);

}  // namespace gpuready::bench
