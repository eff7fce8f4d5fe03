#include "bench/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "base/clock.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "bench/result_files.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kMaxDocumentBytes = 256u << 20;

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// nvbench writes numbers as text, since JSON readers lose the digits of 64 bits.
std::optional<double> number_in(const Json& value) {
  if (value.is_string()) return parse_double(value.get_ref<const std::string&>());
  if (value.is_number()) return number(value.get<double>());
  return std::nullopt;
}
std::optional<double> positive(std::optional<double> value, double scale = 1) {
  if (!value || !(*value > 0) || !std::isfinite(*value * scale)) return std::nullopt;
  return *value * scale;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

// "2024-05-01T14:00:00+02:00" in UTC; empty when it is no time.
std::string utc_of(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() < kForm.size()) return {};
  const auto digits = [&](std::size_t at, std::size_t count) {
    return parse_uint(text.substr(at, count)).value_or(0);
  };
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if ((kForm[i] == '0') != (text[i] >= '0' && text[i] <= '9')) return {};
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(digits(0, 4))),
                                        std::chrono::month(static_cast<unsigned>(digits(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(digits(8, 2)))};
  if (!day.ok() || digits(11, 2) > 23 || digits(14, 2) > 59 || digits(17, 2) > 60) return {};
  auto seconds = std::chrono::sys_days(day).time_since_epoch() +
                 std::chrono::seconds(digits(11, 2) * 3600 + digits(14, 2) * 60 + digits(17, 2));
  auto zone = text.substr(kForm.size());
  if (zone.starts_with('.'))
    zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-')) {
    const auto offset = std::chrono::seconds(parse_uint(zone.substr(1, 2)).value_or(0) * 3600 +
                                             parse_uint(zone.substr(4, 2)).value_or(0) * 60);
    seconds += zone[0] == '+' ? -offset : offset;
  }
  return format_utc(std::chrono::duration_cast<std::chrono::seconds>(seconds).count());
}

StackResult& stack_of(RunRecord& run, const std::string& id) {
  for (auto& stack : run.stacks)
    if (stack.id == id) return stack;
  run.stacks.emplace_back().id = id;
  return run.stacks.back();
}

// A stack is as good as its best repeat; what failed stays with its reason.
void conclude(RunRecord& run) {
  for (auto& stack : run.stacks) {
    const auto good = std::any_of(stack.repeats.begin(), stack.repeats.end(),
                                  [](const auto& it) { return it.status == StackStatus::ok; });
    if (good || stack.repeats.empty()) continue;
    stack.status = stack.repeats.front().status;
    stack.reason = stack.repeats.front().reason;
  }
}

void fail_repeat(Repeat& repeat, std::string reason, StackStatus status = StackStatus::error) {
  repeat.status = status;
  repeat.reason = std::move(reason);
}

// ---- google/benchmark

std::optional<double> ns_per(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [name, ns] : kUnits)
    if (unit == name) return ns;
  return std::nullopt;
}

bool is_google_benchmark(const Json& doc) {
  return member(doc, "context").is_object() && member(doc, "benchmarks").is_array();
}

Result<RunRecord> from_google_benchmark(const Json& doc, std::string_view name) {
  RunRecord run;
  const Json& context = member(doc, "context");
  run.protocol.origin = "google-benchmark";
  run.started_utc = utc_of(get_string(context, "date").value_or(""));
  run.workload.name = get_string(context, "executable").value_or("");
  run.workload.name = std::string(base_name(run.workload.name));
  run.workload.device = "cpu";
  run.environment.cpu_model =
      fmt::format("{} CPUs of {}", get_uint(context, "num_cpus").value_or(0),
                  get_string(context, "host_name").value_or("an unknown host"));
  run.tool_version = get_string(context, "library_version").value_or("");
  const Json& all = member(doc, "benchmarks");
  const bool repetitions = std::any_of(all.begin(), all.end(), [](const Json& it) {
    return get_string(it, "run_type").value_or("iteration") == "iteration";
  });
  for (const Json& item : all) {
    const bool aggregate = get_string(item, "run_type") == "aggregate";
    // Of repetitions that are there, aggregates say nothing new.
    if (aggregate && (repetitions || get_string(item, "aggregate_name") != "mean")) continue;
    auto id = get_string(item, "run_name");
    if (!id) id = get_string(item, "name");
    if (!id) return fail(ErrorKind::bad_input, fmt::format("{}: a benchmark has no name", name));
    Repeat repeat;
    repeat.position = get_uint(item, "repetition_index").value_or(0);
    const auto unit = ns_per(get_string(item, "time_unit").value_or("ns"));
    repeat.reported.mean_ns = positive(number_in(member(item, "real_time")), unit.value_or(0));
    if (get_bool(item, "error_occurred").value_or(false))
      fail_repeat(repeat, get_string(item, "error_message").value_or("it failed"));
    else if (!repeat.reported.mean_ns)
      fail_repeat(repeat, unit ? "its time is no number greater than 0" : "its unit is not known");
    stack_of(run, *id).repeats.push_back(std::move(repeat));
  }
  return run;
}

// ---- nvbench

bool is_nvbench(const Json& doc) {
  return member(doc, "devices").is_array() && member(doc, "benchmarks").is_array();
}

std::optional<double> summary(const Json& state, std::string_view tag) {
  for (const Json& item : member(state, "summaries")) {
    if (get_string(item, "tag") != tag) continue;
    for (const Json& entry : member(item, "data"))
      if (get_string(entry, "name") == "value") return number_in(member(entry, "value"));
  }
  return std::nullopt;
}

std::string axes_of(const Json& state) {
  std::string text;
  for (const Json& axis : member(state, "axis_values"))
    text += fmt::format(" {}={}", get_string(axis, "name").value_or("?"),
                        text_of(member(axis, "value")));
  return text;
}

Result<RunRecord> from_nvbench(const Json& doc, std::string_view name) {
  RunRecord run;
  run.protocol.origin = "nvbench";
  run.workload.device = "cuda";
  const Json& meta = member(doc, "meta");
  run.tool_version = text_of(member(member(member(meta, "version"), "nvbench"), "string"));
  if (const Json& argv = member(meta, "argv"); argv.is_array() && !argv.empty()) {
    const auto program = text_of(argv[0]);
    run.workload.name = base_name(program);
  }
  for (const Json& device : member(doc, "devices"))
    run.environment.gpus.push_back({get_string(device, "name").value_or(""), ""});
  const bool several = run.environment.gpus.size() > 1;
  for (const Json& benchmark : member(doc, "benchmarks")) {
    const auto title = get_string(benchmark, "name");
    if (!title) return fail(ErrorKind::bad_input, fmt::format("{}: a benchmark has no name", name));
    for (const Json& state : member(benchmark, "states")) {
      std::string id = *title + axes_of(state);
      if (several) id += " device=" + text_of(member(state, "device"));
      Repeat repeat;
      const auto time = [&](const char* what) {
        return positive(summary(state, fmt::format("nv/cold/time/gpu/{}", what)), 1e9);
      };
      repeat.reported = {.mean_ns = time("mean"),
                         .p50_ns = time("median"),
                         .p95_ns = {},
                         .min_ns = time("min"),
                         .max_ns = time("max")};
      if (get_bool(state, "is_skipped").value_or(false))
        fail_repeat(repeat, get_string(state, "skip_reason").value_or("it was skipped"),
                    StackStatus::unavailable);
      else if (!repeat.reported.mean_ns)
        fail_repeat(repeat, "it has no mean time on the GPU", StackStatus::no_valid_samples);
      stack_of(run, id).repeats.push_back(std::move(repeat));
    }
  }
  return run;
}

// ---- llama-bench

bool is_llama_bench(const Json& doc) {
  return doc.is_array() && !doc.empty() && member(doc[0], "samples_ns").is_array() &&
         member(doc[0], "n_prompt").is_number();
}

Result<RunRecord> from_llama_bench(const Json& doc, std::string_view) {
  RunRecord run;
  run.protocol.origin = "llama-bench";
  const Json& first = doc[0];
  run.started_utc = utc_of(get_string(first, "test_time").value_or(""));
  run.git_commit = get_string(first, "build_commit").value_or("");
  run.environment.cpu_model = get_string(first, "cpu_info").value_or("");
  run.workload.name = get_string(first, "model_type").value_or("");
  run.workload.device = to_lower(get_string(first, "backends").value_or(""));
  if (const auto gpu = get_string(first, "gpu_info"); gpu && !gpu->empty())
    run.environment.gpus.push_back({*gpu, ""});
  for (const Json& item : doc) {
    std::string id;
    for (const char* what : {"n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads",
                             "n_gpu_layers", "type_k", "type_v", "flash_attn"})
      if (const Json& value = member(item, what); !value.is_null())
        id += fmt::format("{}{}={}", id.empty() ? "" : " ", what, text_of(value));
    Repeat repeat;
    for (const Json& sample : member(item, "samples_ns"))
      if (const auto ns = positive(number_in(sample))) repeat.samples_ns.push_back(*ns);
    if (repeat.samples_ns.empty())
      fail_repeat(repeat, "it has no sample greater than 0", StackStatus::no_valid_samples);
    stack_of(run, id).repeats.push_back(std::move(repeat));
  }
  return run;
}

constexpr struct {
  bool (*is)(const Json& doc);
  Result<RunRecord> (*read)(const Json& doc, std::string_view name);
} kFormats[] = {
    {is_nvbench, from_nvbench},
    {is_google_benchmark, from_google_benchmark},
    {is_llama_bench, from_llama_bench},
};

}  // namespace

std::string without_non_numbers(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      clean += c;
      if (c == '\\' && i + 1 < text.size()) clean += text[++i];
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    const bool after_number = !clean.empty() && (clean.back() >= '0' && clean.back() <= '9');
    if (!letter(c) || after_number) {  // the e of 1e5 belongs to its number
      clean += c;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && letter(text[end])) ++end;
    const auto word = to_lower(text.substr(i, end - i));
    if (word == "nan" || word == "inf" || word == "infinity") {
      if (clean.ends_with('-')) clean.pop_back();
      clean += "null";
    } else {
      clean += text.substr(i, end - i);
    }
    i = end - 1;
  }
  return clean;
}

Result<RunRecord> import_run(std::string_view text, std::string_view name) {
  if (text.size() > kMaxDocumentBytes)
    return fail(ErrorKind::too_large, fmt::format("{} is larger than 256 MiB", name));
  const auto doc = TRY(parse_json(without_non_numbers(text), name, kMaxDocumentBytes));
  if (get_string(doc, "schema")) return read_run(text, name);
  for (const auto& format : kFormats) {
    if (!format.is(doc)) continue;
    auto run = TRY(format.read(doc, name));
    if (run.stacks.empty())
      return fail(ErrorKind::bad_input, fmt::format("{} holds no result", name));
    conclude(run);
    const auto hash =
        sha256(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    run.id = fmt::format("{}-{:02x}", run.protocol.origin, fmt::join(std::span(hash).first(8), ""));
    // As a document of ours is checked.
    return run_from_json(to_json(run), name);
  }
  return fail(
      ErrorKind::bad_input,
      fmt::format("{} is no document of gpuready, google/benchmark, nvbench or llama-bench", name));
}

}  // namespace gpuready::bench
