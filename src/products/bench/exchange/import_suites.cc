#include <fmt/format.h>

#include "base/text.h"
#include "bench/exchange/import_formats.h"

namespace gpuready::bench {
namespace {

Latency latency_in(const Json& figures, const char* median, double scale) {
  const auto time = [&](const char* name) {
    return positive(number_in(member(figures, name)), scale);
  };
  return {.mean_ns = time("mean"),
          .p50_ns = time(median),
          .p95_ns = time("p95"),
          .min_ns = time("min"),
          .max_ns = time("max")};
}

// Of hyperfine: one execution of a command, in a process of its own.
Repeat execution(const Json& result, std::size_t number) {
  Repeat repeat;
  repeat.position = number;
  if (const auto ns = positive(number_in(member(result, "times")[number]), kNsPerS))
    repeat.samples_ns = {*ns};
  else
    fail_repeat(repeat, "its time is not greater than 0", StackStatus::no_valid_samples);
  const Json& codes = member(result, "exit_codes");
  if (number < codes.size() && codes[number] != Json(0))
    fail_repeat(repeat, codes[number].is_null()
                            ? std::string("a signal ended it")
                            : fmt::format("exit code {}", text_of(codes[number])));
  const Json& memory = member(result, "memory_usage_byte");
  if (number < memory.size() && memory[number].is_number_unsigned()) {
    repeat.memory_peak_bytes = memory[number].get<std::uint64_t>();
    repeat.memory_seen = "resident";
  }
  return repeat;
}

void add_adapter(RunRecord& run, const std::string& id, const Json& adapter) {
  StackResult& stack = stack_of(run, id);
  stack.display_name = get_string(adapter, "display_name").value_or("");
  stack.mode = get_string(adapter, "mode").value_or("");
  stack.unverified = true;
  Repeat& repeat = stack.repeats.emplace_back();
  const auto status = get_string(adapter, "status").value_or("");
  if (status == "unavailable")
    return fail_repeat(repeat, get_string(adapter, "reason").value_or(""),
                       StackStatus::unavailable);
  if (status != "ok")
    return fail_repeat(repeat, get_string(adapter, "error").value_or("its status is " + status));
  for (const Json& sample : member(adapter, "samples_ms"))
    if (const auto ns = positive(number_in(sample), kNsPerMs)) repeat.samples_ns.push_back(*ns);
  if (repeat.samples_ns.empty())
    repeat.reported = latency_in(member(adapter, "latency_ms"), "p50", kNsPerMs);
  if (repeat.samples_ns.empty() && !repeat.reported.mean_ns)
    fail_repeat(repeat, "it has no time greater than 0", StackStatus::no_valid_samples);
  repeat.self_memory_peak_bytes = get_uint(adapter, "peak_memory_bytes");
}

}  // namespace

bool is_hyperfine(const Json& doc) {
  const Json& results = member(doc, "results");
  return results.is_array() && !results.empty() && member(results[0], "command").is_string() &&
         member(results[0], "mean").is_number();
}

Result<RunRecord> from_hyperfine(const Json& doc, std::string_view name) {
  RunRecord run;
  run.protocol.origin = "hyperfine";
  run.workload.name = "commands";
  run.workload.device = "cpu";
  for (const Json& result : member(doc, "results")) {
    const auto command = get_string(result, "command");
    if (!command)
      return fail(ErrorKind::bad_input, fmt::format("{}: a result has no command", name));
    const std::size_t count = member(result, "times").size();
    for (std::size_t i = 0; i < count; ++i)
      stack_of(run, *command).repeats.push_back(execution(result, i));
    if (count > 0) continue;
    Repeat repeat;
    repeat.reported = latency_in(result, "median", kNsPerS);
    add_only_repeat(run, *command, std::move(repeat));
  }
  return run;
}

bool is_pyc_suite(const Json& doc) {
  return member(doc, "meta").is_object() && member(doc, "adapters").is_object();
}

Result<RunRecord> from_pyc_suite(const Json& doc, std::string_view) {
  RunRecord run;
  const Json& meta = member(doc, "meta");
  run.protocol.origin = "pyc";
  run.protocol.iters = get_uint(meta, "iters");
  run.protocol.warmup = get_uint(meta, "warmup");
  run.started_utc = utc_of(get_string(meta, "timestamp_utc").value_or(""));
  run.git_commit = get_string(meta, "git_head").value_or("");
  run.git_dirty = get_bool(meta, "git_dirty");
  run.environment.os_name = get_string(meta, "os").value_or("");
  run.workload.name = get_string(meta, "task").value_or("mlp");
  run.workload.dtype = get_string(meta, "dtype").value_or("");
  run.workload.device = get_string(meta, "device").value_or("");
  for (const char* size : {"batch", "hidden", "m", "n", "k"})
    if (const auto value = get_uint(meta, size)) run.workload.shape[size] = *value;
  for (const Json& gpu : member(member(doc, "gpu"), "gpus")) {
    const auto text = [&](const char* key) { return get_string(gpu, key).value_or(""); };
    run.environment.gpus.push_back(
        {text("name"), "", text("memory_total"), text("compute_capability")});
    run.environment.driver_version = text("driver_version");
  }
  for (const auto& [id, adapter] : member(doc, "adapters").items()) add_adapter(run, id, adapter);
  return run;
}

}  // namespace gpuready::bench
