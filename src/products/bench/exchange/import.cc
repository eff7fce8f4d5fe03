#include "bench/exchange/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/characters.h"
#include "base/clock.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "bench/exchange/import_formats.h"
#include "bench/record/result_files.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kMaxDocumentBytes = 256u << 20;

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
      add_only_repeat(run, id, std::move(repeat));
    }
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
    {is_hyperfine, from_hyperfine},
    {is_asv, from_asv},
    {is_pyc_suite, from_pyc_suite},
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
    if (!is_letter(c) || after_number) {  // the e of 1e5 belongs to its number
      clean += c;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
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

namespace {

// `llama-bench -o jsonl` writes an object a line, which are those of its array.
std::optional<Json> objects_by_line(const std::string& text, std::string_view name) {
  Json all = Json::array();
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const auto line = trim(std::string_view(text).substr(from, end - from));
    from = end + 1;
    if (line.empty()) continue;
    auto object = parse_json(line, name, kMaxDocumentBytes);
    if (!object || !object->is_object()) return std::nullopt;
    all.push_back(std::move(*object));
  }
  return all;
}

Result<Json> document_of(std::string_view text, std::string_view name) {
  const auto clean = without_non_numbers(text);
  auto doc = parse_json(clean, name, kMaxDocumentBytes);
  const bool one_line = doc && doc->is_object() && member(*doc, "samples_ns").is_array();
  if (doc && !one_line) return doc;
  if (auto lines = objects_by_line(clean, name)) return std::move(*lines);
  return doc;
}

}  // namespace

Result<RunRecord> import_run(std::string_view text, std::string_view name) {
  if (text.size() > kMaxDocumentBytes)
    return fail(ErrorKind::too_large, fmt::format("{} is larger than 256 MiB", name));
  const auto doc = TRY(document_of(text, name));
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
      fmt::format("{} is not a document of gpuready, google/benchmark, nvbench, llama-bench, "
                  "hyperfine, asv or PyC's GPU suite",
                  name));
}

namespace {

Result<void> check_figures(const RunRecord& run, const std::string& file) {
  if (run.is_timed()) return {};
  std::string why = "it holds none";
  if (!run.stacks.empty()) {
    const StackResult& first = run.stacks.front();
    why = first.id + ": " + (first.reason.empty() ? "it has no time" : first.reason);
  }
  return fail(ErrorKind::bad_input,
              printable(fmt::format("no result of {} has a measurement: {}", file, why)));
}

}  // namespace

Result<RunRecord> import_file(Host& host, const std::string& file, const std::string& folder,
                              const std::string& tag, std::int64_t now) {
  auto run = TRY(read_run_file(host, file));
  TRY(check_figures(run, file));
  if (!tag.empty()) run.tag = tag;
  TRY(check_tag(run.tag));
  if (run.started_utc.empty()) {  // nvbench
    run.started_utc = format_utc(now);
    run.notes.emplace_back("The file holds no time; it was imported at the one given.");
  }
  TRY(check_same_work(host, folder, run.tag, run.workload));
  for (const auto& [id, path] :
       run_files_of(host, folder).value_or(std::vector<std::pair<std::string, std::string>>()))
    if (id == run.id)
      return fail(ErrorKind::bad_input,
                  fmt::format("{} was imported already: {}", printable(file), path));
  return run;
}

}  // namespace gpuready::bench
