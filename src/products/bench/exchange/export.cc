#include "bench/exchange/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace gpuready::bench {
namespace {

// A spreadsheet runs a cell of text that begins so as a formula; behind an apostrophe it does not.
// The last four are the wide forms of East Asian keyboards. Figures go another way, so that they
// stay figures.
constexpr std::string_view kFormulas[] = {"=",  "+",      "-",      "@",      "\t",
                                          "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};

std::string field(std::string_view name) {
  const std::string given = printable(name);
  const bool formula =
      std::ranges::any_of(kFormulas, [&](auto begin) { return given.starts_with(begin); });
  const std::string text = (formula ? "'" : "") + given;
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

template <class T>
std::string field(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string joined_reasons(const std::vector<std::string>& reasons) {
  std::string text;
  for (const auto& reason : reasons) text += (text.empty() ? "" : " ") + reason;
  return text;
}

std::string shape_text(const Workload& workload) {
  std::string text;
  for (const auto& [name, size] : workload.shape)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

struct RepeatRow {
  const RunRecord& run;
  const StackResult& stack;
  std::size_t number;
  const Repeat& repeat;
};

struct Column {
  const char* name;
  std::string (*value)(const RepeatRow& row);
};

constexpr Column kColumns[] = {
    {"run_id", [](const RepeatRow& r) { return field(r.run.id); }},
    {"tag", [](const RepeatRow& r) { return field(r.run.tag); }},
    {"started_utc", [](const RepeatRow& r) { return field(r.run.started_utc); }},
    {"git_commit", [](const RepeatRow& r) { return field(r.run.git_commit); }},
    {"fingerprint", [](const RepeatRow& r) { return field(r.run.environment.fingerprint()); }},
    {"gpu",
     [](const RepeatRow& r) {
       const auto& gpus = r.run.environment.gpus;
       return gpus.empty() ? std::string() : field(gpus.front().name);
     }},
    {"driver", [](const RepeatRow& r) { return field(r.run.environment.driver_version); }},
    {"workload", [](const RepeatRow& r) { return field(r.run.workload.name); }},
    {"shape", [](const RepeatRow& r) { return field(shape_text(r.run.workload)); }},
    {"dtype", [](const RepeatRow& r) { return field(r.run.workload.dtype); }},
    {"device", [](const RepeatRow& r) { return field(r.run.workload.device); }},
    {"stack", [](const RepeatRow& r) { return field(r.stack.id); }},
    {"mode", [](const RepeatRow& r) { return field(r.stack.mode); }},
    {"repeat", [](const RepeatRow& r) { return fmt::format("{}", r.number); }},
    {"position", [](const RepeatRow& r) { return fmt::format("{}", r.repeat.position); }},
    {"status", [](const RepeatRow& r) { return field(name_of(r.repeat.status)); }},
    {"reason", [](const RepeatRow& r) { return field(r.repeat.reason); }},
    {"samples", [](const RepeatRow& r) { return fmt::format("{}", r.repeat.samples_ns.size()); }},
    {"throttled_samples",
     [](const RepeatRow& r) { return fmt::format("{}", r.repeat.throttled.size()); }},
    {"mean_ns", [](const RepeatRow& r) { return field(latency_of(r.repeat).mean_ns); }},
    {"p50_ns", [](const RepeatRow& r) { return field(latency_of(r.repeat).p50_ns); }},
    {"p95_ns", [](const RepeatRow& r) { return field(latency_of(r.repeat).p95_ns); }},
    {"min_ns", [](const RepeatRow& r) { return field(latency_of(r.repeat).min_ns); }},
    {"max_ns", [](const RepeatRow& r) { return field(latency_of(r.repeat).max_ns); }},
    {"cold_p50_ns",
     [](const RepeatRow& r) { return field(percentile(r.repeat.cold_samples_ns, 0.5)); }},
    {"setup_ms", [](const RepeatRow& r) { return field(r.repeat.setup_ms); }},
    {"compile_ms", [](const RepeatRow& r) { return field(r.repeat.compile_ms); }},
    {"first_run_ms", [](const RepeatRow& r) { return field(r.repeat.first_run_ms); }},
    {"energy_mj", [](const RepeatRow& r) { return field(r.repeat.energy_mj); }},
    {"memory_peak_bytes", [](const RepeatRow& r) { return field(r.repeat.memory_peak_bytes); }},
    {"self_memory_peak_bytes",
     [](const RepeatRow& r) { return field(r.repeat.self_memory_peak_bytes); }},
    {"sm_mhz", [](const RepeatRow& r) { return field(r.repeat.conditions.sm_mhz); }},
    {"power_mw", [](const RepeatRow& r) { return field(r.repeat.conditions.power_mw); }},
    {"gpu_celsius", [](const RepeatRow& r) { return field(r.repeat.conditions.gpu_celsius); }},
    {"throttle_reasons",
     [](const RepeatRow& r) {
       return field(joined_reasons(r.repeat.conditions.throttle_reasons));
     }},
};

// A benchmark that was imported has its own name, which says all.
std::string google_name(const RunRecord& run, const StackResult& stack) {
  if (!run.protocol.is_ours()) return stack.id;
  std::vector<std::string> parts = {run.workload.name};
  for (const auto& [dimension, size] : run.workload.shape)
    parts.push_back(fmt::format("{}:{}", dimension, size));
  parts.insert(parts.end(), {run.workload.dtype, stack.id});
  std::erase(parts, "");
  return join(parts, "/");
}

Json google_row(const RunRecord& run, const StackResult& stack, std::size_t number) {
  const Repeat& repeat = stack.repeats[number];
  const auto latency = latency_of(repeat);
  Json row = Json::object();
  row["name"] = row["run_name"] = google_name(run, stack);
  row["run_type"] = "iteration";
  row["repetitions"] = stack.repeats.size();
  row["repetition_index"] = number;
  row["threads"] = 1;
  if (repeat.status == StackStatus::unavailable) {
    row["skipped"] = true;
    row["skip_message"] = repeat.reason;
  } else if (repeat.status != StackStatus::ok || !latency.mean_ns) {
    row["error_occurred"] = true;
    row["error_message"] = repeat.reason.empty() ? "it has no valid sample" : repeat.reason;
  }
  // Not known of one that reported its figures alone.
  if (const auto samples = repeat.valid_samples().size()) row["iterations"] = samples;
  row["real_time"] = latency.mean_ns.value_or(0);
  row["cpu_time"] = latency.mean_ns.value_or(0);  // of the host alone it is not known
  row["time_unit"] = "ns";
  if (run.workload.elements && latency.mean_ns)
    row["items_per_second"] = static_cast<double>(*run.workload.elements) * 1e9 / *latency.mean_ns;
  if (run.workload.bytes && latency.mean_ns)
    row["bytes_per_second"] = static_cast<double>(*run.workload.bytes) * 1e9 / *latency.mean_ns;
  put(row, "p50_ns", latency.p50_ns);
  put(row, "p95_ns", latency.p95_ns);
  put(row, "energy_mj", repeat.energy_mj);
  return row;
}

}  // namespace

std::string to_csv(std::span<const RunRecord> runs) {
  std::string text;
  const auto add = [&](auto value_of) {
    for (const Column& column : kColumns) {
      if (&column != kColumns) text += ',';
      text += value_of(column);
    }
    text += "\r\n";
  };
  add([](const Column& column) { return std::string(column.name); });
  for (const auto& run : runs)
    for (const auto& stack : run.stacks)
      for (std::size_t i = 0; i < stack.repeats.size(); ++i)
        add([&](const Column& column) { return column.value({run, stack, i, stack.repeats[i]}); });
  return text;
}

Json to_google_benchmark(const RunRecord& run) {
  Json doc = Json::object();
  Json& context = doc["context"] = Json::object();
  context["date"] = run.started_utc;
  context["executable"] = run.workload.name;
  context["library_version"] = run.tool_version;
  context["gpuready_run"] = run.id;
  context["gpuready_tag"] = run.tag;
  if (!run.environment.gpus.empty()) context["gpu"] = run.environment.gpus.front().name;
  put(context, "driver", run.environment.driver_version);
  put(context, "cpu", run.environment.cpu_model);
  Json& rows = doc["benchmarks"] = Json::array();
  for (const auto& stack : run.stacks)
    for (std::size_t i = 0; i < stack.repeats.size(); ++i)
      rows.push_back(google_row(run, stack, i));
  return doc;
}

}  // namespace gpuready::bench
