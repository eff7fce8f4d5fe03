#include <fmt/format.h>

#include <algorithm>

#include "bench/exchange/export.h"

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

// What differs from process to process: its start, and its figures.
void add_repeats(Json& doc, const StackResult& stack) {
  Json& startup = doc["startup_ms"] = Json::object();
  Json& means = doc["repeat_mean_ms"] = Json::array();
  Json& medians = doc["repeat_p50_ms"] = Json::array();
  std::uint64_t count = 0;
  for (const auto& repeat : stack.repeats) {
    if (repeat.status != StackStatus::ok) continue;
    const auto latency = latency_of(repeat);
    if (count++ == 0) {
      put(startup, "compile", repeat.compile_ms);
      put(startup, "first_run", repeat.first_run_ms);
    }
    if (latency.mean_ns) means.push_back(*ms(latency.mean_ns));
    if (latency.p50_ns) medians.push_back(*ms(latency.p50_ns));
  }
  doc["repeat_count"] = count;
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
  add_repeats(doc, stack);
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
  Json& derived = doc["derived"] = Json::object();
  if (run.workload.flops && latency.mean_ns)
    derived["tflops"] = static_cast<double>(*run.workload.flops) / *latency.mean_ns * 1e-3;
  Json& samples = doc["samples_ms"] = Json::array();
  for (const auto& repeat : stack.repeats)
    if (repeat.status == StackStatus::ok)
      for (const double ns : repeat.valid_samples()) samples.push_back(ns / 1e6);
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
