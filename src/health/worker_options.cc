// The options of a test on their way to the child.
#include "health/worker.h"

namespace gpuready {

Json to_json(const MemoryTestOptions& options) {
  Json doc = Json::object();
  put(doc, "max_bytes", options.max_bytes);
  doc["reserve_free_bytes"] = options.reserve_free_bytes;
  doc["max_launch_ms"] = options.max_launch_ms;
  doc["copy_traffic_bytes"] = options.copy_traffic_bytes;
  doc["blocks_per_unit"] = options.blocks_per_unit;
  put(doc, "salt", options.salt);
  if (options.inject) {
    doc["inject"] = {{"word", options.inject->word}, {"bits", options.inject->bits}};
  }
  return doc;
}

Result<MemoryTestOptions> memory_test_options_from_json(const Json& doc) {
  if (!doc.is_object()) return fail(ErrorKind::bad_input, "the test's options are no JSON object");
  MemoryTestOptions options;
  options.max_bytes = get_uint(doc, "max_bytes");
  options.reserve_free_bytes = get_uint(doc, "reserve_free_bytes").value_or(0);
  options.max_launch_ms = get_double(doc, "max_launch_ms").value_or(options.max_launch_ms);
  options.copy_traffic_bytes =
      get_uint(doc, "copy_traffic_bytes").value_or(options.copy_traffic_bytes);
  const auto blocks = get_uint(doc, "blocks_per_unit").value_or(options.blocks_per_unit);
  options.salt = get_uint(doc, "salt");
  if (const Json& inject = member(doc, "inject"); inject.is_object()) {
    options.inject =
        MemoryFault{get_uint(inject, "word").value_or(0), get_uint(inject, "bits").value_or(0)};
  }
  if (options.max_launch_ms <= 0 || blocks == 0 || blocks > 65'536) {
    return fail(ErrorKind::bad_input, "max_launch_ms and blocks_per_unit must be positive");
  }
  options.blocks_per_unit = static_cast<unsigned>(blocks);
  return options;
}

Json to_json(const MatmulBenchmarkOptions& options) {
  return {{"n", options.n}, {"limit_ms", options.limit_ms}, {"limit_source", options.limit_source}};
}

Result<MatmulBenchmarkOptions> matmul_benchmark_options_from_json(const Json& doc) {
  MatmulBenchmarkOptions options;
  const auto n = get_uint(doc, "n").value_or(options.n);
  options.limit_ms = get_double(doc, "limit_ms").value_or(options.limit_ms);
  options.limit_source = get_string(doc, "limit_source").value_or(options.limit_source);
  if (n == 0 || n % 64 != 0 || n > 16'384)
    return fail(ErrorKind::bad_input, "n must be a multiple of 64, at most 16384");
  options.n = static_cast<unsigned>(n);
  return options;
}

}  // namespace gpuready
