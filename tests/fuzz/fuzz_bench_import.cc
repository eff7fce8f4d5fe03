// Results of other benchmark programs: google/benchmark, nvbench, llama-bench, and our own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/compare/compare.h"
#include "bench/exchange/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuready;
  const auto run = bench::import_run({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!run) return 0;
  // What was taken can be written, read back and compared with itself.
  const auto again = bench::run_from_json(bench::to_json(*run), "again");
  if (!again || bench::to_json(*again) != bench::to_json(*run)) std::abort();
  (void)bench::compare({"a", {*run, *run}}, {"b", {*run, *run, *run}}, {});
  return 0;
}
