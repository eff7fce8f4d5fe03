#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "bench/exchange/export.h"
#include "bench/record/startup.h"

namespace gpuready::bench {
namespace {

std::optional<double> ms(const std::optional<double>& ns) {
  return ns ? std::optional(*ns / 1e6) : std::nullopt;
}

std::optional<std::uint64_t> peak_memory(const StackResult& stack) {
  std::optional<std::uint64_t> most;
  for (const auto& repeat : stack.repeats) {
    const auto& peak =
        repeat.memory_peak_bytes ? repeat.memory_peak_bytes : repeat.self_memory_peak_bytes;
    if (repeat.status == StackStatus::ok && peak) most = std::max(most.value_or(0), *peak);
  }
  return most;
}

std::optional<double> elements_per_s(const RunRecord& run, const StackResult& stack) {
  const auto mean = latency_of(stack).mean_ns;
  if (!mean || !run.workload.elements) return std::nullopt;
  return static_cast<double>(*run.workload.elements) * 1e9 / *mean;
}

std::string mode_of(const StackResult& stack) { return stack.mode.empty() ? "native" : stack.mode; }

std::vector<double> of_repeats(const StackResult& stack,
                               std::optional<double> (*figure)(const Repeat&)) {
  std::vector<double> values;
  for (const auto& repeat : stack.repeats)
    if (const auto value = figure(repeat); value && repeat.status == StackStatus::ok)
      values.push_back(*value);
  return values;
}
std::optional<double> of_population(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The medians over the processes of the parts of their start.
Json startup_of(const StackResult& stack) {
  std::map<std::string, std::vector<double>> parts;
  for (const auto& repeat : stack.repeats) {
    if (repeat.status != StackStatus::ok) continue;
    const Json startup = startup_json(repeat.setup_ms, repeat.compile_ms, repeat.first_run_ms,
                                      ms(latency_of(repeat).p50_ns));
    for (const auto& [part, time] : startup.items()) parts[part].push_back(time.get<double>());
  }
  Json startup = Json::object();
  for (auto& [part, times] : parts) startup[part] = median(std::move(times));
  return startup;
}

// What differs from process to process.
void add_repeats(Json& doc, const RunRecord& run, const StackResult& stack) {
  const auto means = of_repeats(stack, [](const Repeat& r) { return ms(latency_of(r).mean_ns); });
  doc["repeat_count"] = std::ranges::count(stack.repeats, StackStatus::ok, &Repeat::status);
  doc["repeat_mean_ms_values"] = means;
  put(doc, "repeat_mean_ms_stdev", of_population(means));
  doc["repeat_p50_ms_values"] =
      of_repeats(stack, [](const Repeat& r) { return ms(latency_of(r).p50_ns); });
  if (!run.workload.elements) return;
  std::vector<double> throughputs;
  for (const double mean_ms : means)
    throughputs.push_back(static_cast<double>(*run.workload.elements) * 1e3 / mean_ms);
  doc["repeat_throughput_values"] = throughputs;
  put(doc, "repeat_throughput_stdev", of_population(throughputs));
}

// What the suite works out of an adapter's figures, by its rules; absent where it has no figure.
Json derived_of(const RunRecord& run, const StackResult& stack, const Json& doc) {
  Json derived = Json::object();
  const auto latency = latency_of(stack);
  const auto mean_ms = ms(latency.mean_ns), p50 = ms(latency.p50_ns), p95 = ms(latency.p95_ns);
  const auto share = [&](const char* name, std::optional<double> part, std::optional<double> whole,
                         double scale = 100) {
    if (part && whole && *whole > 0) derived[name] = *part / *whole * scale;
  };
  if (p50 && p95) derived["jitter_ms_p95_minus_p50"] = std::max(0.0, *p95 - *p50);
  share("jitter_pct_of_p50", get_double(derived, "jitter_ms_p95_minus_p50"), p50);
  const auto spread = [&](const char* deviation, const char* percent, const char* values) {
    const auto times = member(doc, values).get<std::vector<double>>();
    put(derived, deviation, of_population(times));
    share(percent, of_population(times), mean(times));
  };
  spread("sample_stdev_ms", "sample_cv_pct", "samples_ms");
  spread("repeat_mean_stdev_ms", "repeat_mean_cv_pct", "repeat_mean_ms_values");
  if (const auto elements = run.workload.elements) {
    derived["tokens_per_iter"] = *elements;
    if (run.protocol.iters) derived["tokens_total"] = *elements * *run.protocol.iters;
  }
  const auto bytes = get_double(doc, "peak_memory_bytes");
  share("peak_memory_gib", bytes, 1024.0 * 1024 * 1024, 1);
  share("throughput_tokens_per_sec_per_peak_gib", get_double(doc, "throughput_tokens_per_sec"),
        get_double(derived, "peak_memory_gib"), 1);
  put(derived, "estimated_flops_per_iter", run.workload.flops);
  if (run.workload.flops)
    share("estimated_tflops_per_sec", static_cast<double>(*run.workload.flops), mean_ms, 1e-9);
  const Json& startup = member(doc, "startup_ms");
  const auto total = get_double(startup, "total"),
             compile = get_double(startup, "compile_overhead_estimate");
  put(derived, "startup_total_ms", total);
  put(derived, "compile_overhead_ms_estimate", compile);
  share("compile_overhead_pct_of_mean_latency", compile, mean_ms);
  share("compile_overhead_pct_of_startup", compile, total);
  return derived;
}

Json adapter(const RunRecord& run, const StackResult& stack) {
  Json doc = Json::object();
  doc["display_name"] = stack.name();
  doc["mode"] = mode_of(stack);
  if (stack.status == StackStatus::unavailable) {
    doc["status"] = "unavailable";
    doc["reason"] = stack.reason;
    return doc;
  }
  if (stack.status != StackStatus::ok) {
    doc["status"] = "error";
    doc["error"] = fmt::format("{}: {}", name_of(stack.status), stack.reason);
    return doc;
  }
  doc["status"] = "ok";
  doc["backend"] = stack.id;
  doc["device"] = run.workload.device;
  doc["task"] = run.workload.name;
  for (const auto& [name, size] : run.workload.shape) doc[name] = size;
  put(doc, "iters", run.protocol.iters);
  put(doc, "warmup", run.protocol.warmup);
  doc["startup_ms"] = startup_of(stack);
  add_repeats(doc, run, stack);
  const auto latency = latency_of(stack);
  Json& times = doc["latency_ms"] = Json::object();
  put(times, "mean", ms(latency.mean_ns));
  put(times, "p50", ms(latency.p50_ns));
  put(times, "p95", ms(latency.p95_ns));
  put(times, "min", ms(latency.min_ns));
  put(times, "max", ms(latency.max_ns));
  if (latency.p95_ns && !p95_counts(stack))
    times["p95_note"] =
        fmt::format("of fewer than {} samples: no figure to compare", kSamplesForP95);
  put(doc, "throughput_tokens_per_sec", elements_per_s(run, stack));
  put(doc, "peak_memory_bytes", peak_memory(stack));
  doc["dtype"] = run.workload.dtype;
  Json& samples = doc["samples_ms"] = Json::array();
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok)
      for (const double ns : repeat.valid_samples()) samples.push_back(ns / 1e6);
  doc["derived"] = derived_of(run, stack, doc);
  return doc;
}

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

void add_timed(std::string& text, const RunRecord& run, std::string_view mode) {
  text += fmt::format("\n## {}\n\n", mode == "native" ? "Native" : "Proxy");
  text += "| Adapter | Mean ms | p50 ms | p95 ms | Tokens/s | Peak memory, bytes |\n";
  text += "|---|---|---|---|---|---|\n";
  bool marked = false;
  for (const auto& stack : run.stacks) {
    if (stack.status != StackStatus::ok || mode_of(stack) != mode) continue;
    const auto latency = latency_of(stack);
    const auto peak = peak_memory(stack);
    const bool few = latency.p95_ns && !p95_counts(stack);
    marked |= few;
    const std::string p95 = cell(ms(latency.p95_ns), 4) + (few ? "\\*" : "");
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(stack.name()),
                        cell(ms(latency.mean_ns), 4), cell(ms(latency.p50_ns), 4), p95,
                        cell(elements_per_s(run, stack), 0), peak ? fmt::format("{}", *peak) : "-");
  }
  if (marked)
    text += fmt::format("\n\\* of fewer than {} samples: no figure to compare\n", kSamplesForP95);
}

void add_others(std::string& text, const RunRecord& run, bool unavailable) {
  text += fmt::format("\n## {}\n\n", unavailable ? "Unavailable" : "Errors");
  for (const auto& stack : run.stacks)
    if (stack.status != StackStatus::ok &&
        (stack.status == StackStatus::unavailable) == unavailable)
      text += fmt::format("- {}: {}\n", cell(stack.name()), cell(stack.reason));
}

}  // namespace

namespace {

// Of the first stack that runs in one.
std::string python_of(const RunRecord& run) {
  for (const auto& stack : run.stacks)
    if (const auto found = stack.versions.find("python"); found != stack.versions.end())
      return found->second;
  return "none";
}

}  // namespace

Json to_pyc_metadata(const RunRecord& run) {
  Json meta = Json::object();
  meta["timestamp_utc"] = meta["created_utc"] = run.started_utc;
  meta["host"] = run.environment.fingerprint();  // not its name, which may be private
  meta["os"] = run.environment.os_name;
  meta["python"] = python_of(run);
  meta["device"] = run.workload.device;
  for (const auto& [name, size] : run.workload.shape) meta[name] = size;
  put(meta, "iters", run.protocol.iters);
  put(meta, "warmup", run.protocol.warmup);
  put(meta, "repeats", run.protocol.repeats);
  meta["tag"] = run.tag;
  Json& adapters = meta["adapters"] = Json::array();
  for (const auto& stack : run.stacks) adapters.push_back(stack.id);
  meta["adapter_plan"] = Json(adapters);
  meta["run_id"] = run.id;
  meta["task"] = run.workload.name;
  meta["dtype"] = run.workload.dtype;
  meta["git_head"] = run.git_commit.empty() ? "unknown" : run.git_commit;  // its readers want both
  meta["git_dirty"] = run.git_dirty.value_or(false);
  return meta;
}

Json to_pyc_suite(const RunRecord& run) {
  Json doc = Json::object();
  doc["meta"] = to_pyc_metadata(run);
  Json& gpu = doc["gpu"] = Json::object();
  gpu["available"] = !run.environment.gpus.empty();
  if (run.environment.gpus.empty()) {
    gpu["reason"] = "the run used no GPU";
  } else {
    Json& gpus = gpu["gpus"] = Json::array();
    for (const auto& each : run.environment.gpus)
      gpus.push_back({{"name", each.name},
                      {"driver_version", run.environment.driver_version},
                      {"memory_total", each.memory_total.empty() ? "unknown" : each.memory_total},
                      {"compute_capability",
                       each.compute_capability.empty() ? "unknown" : each.compute_capability}});
  }
  Json& adapters = doc["adapters"] = Json::object();
  for (const auto& stack : run.stacks) adapters[stack.id] = adapter(run, stack);
  return doc;
}

std::string to_pyc_markdown(const RunRecord& run) {
  std::string text = fmt::format("# GPU suite: {}\n\n## GPU\n\n", cell(run.tag));
  if (run.environment.gpus.empty()) text += "- none\n";
  for (const auto& gpu : run.environment.gpus)
    text += fmt::format("- {}, driver {}\n", cell(gpu.name), cell(run.environment.driver_version));
  add_timed(text, run, "native");
  add_timed(text, run, "proxy");
  add_others(text, run, true);
  add_others(text, run, false);
  return text;
}

}  // namespace gpuready::bench
