// Result files of asv (airspeed velocity), version 2: results/MACHINE/COMMIT-ENVIRONMENT.json, by
// its developer documentation, "Benchmark suite layout and file formats".
#include <fmt/format.h>

#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "bench/exchange/import_formats.h"

namespace gpuready::bench {
namespace {

constexpr std::uint64_t kVersion = 2;

// The file has no units. A time is in seconds, and what a benchmark measures follows from its
// name's beginning: time_x, TimeX, timeraw_x, TimerawX; others are memory and figures of their own.
bool is_time(std::string_view name) {
  const std::string last = to_lower(name.substr(name.rfind('.') + 1));  // npos + 1 is 0
  return last.starts_with("time");
}

// Of one benchmark: the values of a column; null where the row ends before it.
const Json& column(const Json& doc, const Json& row, std::string_view name) {
  static const Json kNone;
  const Json& names = member(doc, "result_columns");
  for (std::size_t i = 0; i < names.size() && i < row.size(); ++i)
    if (names[i] == Json(name)) return row[i];
  return kNone;
}
const Json& item(const Json& list, std::size_t index) {
  static const Json kNone;
  return list.is_array() && index < list.size() ? list[index] : kNone;
}

// "name(10, 'float32')": of the combination of this number, in which the last parameter varies
// fastest.
std::string id_of(const std::string& name, const Json& params, std::size_t number) {
  std::string values;
  for (std::size_t i = params.is_array() ? params.size() : 0; i-- > 0;) {
    if (!params[i].is_array() || params[i].empty()) continue;
    const std::string value = text_of(params[i][number % params[i].size()]);
    number /= params[i].size();
    values = values.empty() ? value : value + ", " + values;
  }
  return values.empty() ? name : fmt::format("{}({})", name, values);
}

Repeat repeat_of(const Json& result, const Json& samples) {
  Repeat repeat;
  for (const Json& sample : samples.is_array() ? samples : Json::array())
    if (const auto ns = positive(number_in(sample), kNsPerS)) repeat.samples_ns.push_back(*ns);
  repeat.reported.p50_ns = positive(number_in(result), kNsPerS);
  if (result.is_null())
    fail_repeat(repeat, "it failed, or its suite skipped it");
  else if (repeat.samples_ns.empty() && !repeat.reported.p50_ns)
    fail_repeat(repeat, "its time is not greater than 0", StackStatus::no_valid_samples);
  return repeat;
}

void add_machine(RunRecord& run, const Json& doc) {
  const Json& machine = member(doc, "params");
  run.environment.cpu_model = text_of(member(machine, "cpu"));
  run.environment.os_name = text_of(member(machine, "os"));
  if (const auto cores = number_in(member(machine, "num_cpu")); cores && *cores >= 1)
    run.environment.cpu_cores = static_cast<std::uint64_t>(*cores);
  if (const Json& variables = member(doc, "env_vars"); variables.is_object())
    for (const auto& [name, value] : variables.items())
      run.environment.variables[name] = text_of(value);
}

}  // namespace

bool is_asv(const Json& doc) {
  return member(doc, "result_columns").is_array() && member(doc, "results").is_object();
}

Result<RunRecord> from_asv(const Json& doc, std::string_view name) {
  if (get_uint(doc, "version") != kVersion)
    return fail(ErrorKind::bad_input,
                fmt::format("{} is a result file of asv of version {}; version {} is read: convert "
                            "it by `asv update`",
                            name, printable(text_of(member(doc, "version"))), kVersion));
  RunRecord run;
  run.protocol.origin = "asv";
  run.workload.name = "benchmarks";
  run.git_commit = get_string(doc, "commit_hash").value_or("");
  add_machine(run, doc);
  std::optional<double> started_ms;  // of the first; the file's date is the commit's
  std::size_t others = 0;
  for (const auto& [benchmark, row] : member(doc, "results").items()) {
    if (!is_time(benchmark)) {
      ++others;
      continue;
    }
    const Json& results = column(doc, row, "result");
    const std::size_t count = results.is_array() ? results.size() : 1;  // null: all of them failed
    for (std::size_t i = 0; i < count; ++i)
      add_only_repeat(run, id_of(benchmark, column(doc, row, "params"), i),
                      repeat_of(item(results, i), item(column(doc, row, "samples"), i)));
    if (const auto ms = number_in(column(doc, row, "started_at")); ms && *ms > 0 && *ms < 1e15)
      started_ms = std::min(started_ms.value_or(*ms), *ms);
  }
  if (started_ms) run.started_utc = format_utc(static_cast<std::time_t>(*started_ms / 1000));
  if (others > 0)
    run.notes.push_back(
        fmt::format("Left out, because they measure no time (memory, figures of their own): {} of "
                    "{} benchmarks.",
                    others, member(doc, "results").size()));
  for (auto& stack : run.stacks) {
    stack.versions["python"] = text_of(member(doc, "python"));
    if (const Json& required = member(doc, "requirements"); required.is_object())
      for (const auto& [package, version] : required.items())
        stack.versions[package] = text_of(version);
    std::erase_if(stack.versions, [](const auto& entry) { return entry.second.empty(); });
  }
  return run;
}

}  // namespace gpuready::bench
