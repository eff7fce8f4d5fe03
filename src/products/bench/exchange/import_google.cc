#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "bench/exchange/import_formats.h"

namespace gpuready::bench {
namespace {

constexpr std::pair<std::string_view, double> kUnits[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

std::optional<double> ns_per(std::string_view unit) {
  for (const auto& [name, ns] : kUnits)
    if (unit == name) return ns;
  return std::nullopt;
}

// What a row is of. Benchmarks of one name, which are registered twice, are distinguished by their
// places (from version 1.6 on).
struct Subject {
  std::string name;
  std::optional<std::uint64_t> family, instance;
  auto operator<=>(const Subject&) const = default;
};

struct Row {
  const Json* json = nullptr;
  Subject subject;
  std::string aggregate;  // mean, stddev, ...; empty: an iteration
};

// Before version 1.5 aggregates are reported by their names alone, and come in these pairs.
struct Ending {
  std::string_view name, beside;
};
constexpr Ending kEndings[] = {
    {"mean", "stddev"}, {"median", "stddev"}, {"stddev", "mean"}, {"BigO", "RMS"}, {"RMS", "BigO"}};

// What fits all rows of a family says nothing of one benchmark.
bool is_of_a_family(std::string_view aggregate) {
  return aggregate == "BigO" || aggregate == "RMS";
}

Result<std::vector<Row>> rows_of(const Json& doc, std::string_view file) {
  std::vector<Row> rows;
  std::set<std::string> names;
  for (const Json& item : member(doc, "benchmarks")) {
    const auto name = get_string(item, "name"), run_name = get_string(item, "run_name");
    if (!name && !run_name)
      return fail(ErrorKind::bad_input, fmt::format("{}: a benchmark has no name", file));
    names.insert(name.value_or(""));
    Row row{&item, {run_name ? *run_name : *name, {}, {}}, {}};
    row.subject.family = get_uint(item, "family_index");
    row.subject.instance = get_uint(item, "per_family_instance_index");
    if (get_string(item, "run_type") == "aggregate")
      row.aggregate = get_string(item, "aggregate_name").value_or("an aggregate without a name");
    rows.push_back(std::move(row));
  }
  for (Row& row : rows) {
    if (!member(*row.json, "run_type").is_null()) continue;
    std::string& name = row.subject.name;
    for (const auto& [ending, beside] : kEndings) {
      if (!name.ends_with(fmt::format("_{}", ending))) continue;
      const auto subject = name.substr(0, name.size() - ending.size() - 1);
      if (!names.contains(fmt::format("{}_{}", subject, beside))) continue;
      name = subject;
      row.aggregate = ending;
      break;
    }
  }
  return rows;
}

// The name alone where it is of one benchmark.
std::string id_of(const Subject& subject, const std::map<std::string, std::set<Subject>>& named) {
  if (named.at(subject.name).size() == 1) return subject.name;
  std::string id = subject.name;
  if (subject.family) id += fmt::format(" family={}", *subject.family);
  if (subject.instance) id += fmt::format(" instance={}", *subject.instance);
  return id;
}

Repeat repeat_of(const Json& item) {
  Repeat repeat;
  repeat.position = get_uint(item, "repetition_index").value_or(0);
  const auto unit = get_string(item, "time_unit").value_or("ns");
  const auto scale = ns_per(unit);
  if (scale) repeat.reported.mean_ns = positive(number_in(member(item, "real_time")), *scale);
  if (get_bool(item, "error_occurred").value_or(false))
    fail_repeat(repeat, get_string(item, "error_message").value_or("it failed"));
  else if (get_bool(item, "skipped").value_or(false))
    fail_repeat(repeat, get_string(item, "skip_message").value_or("it was skipped"),
                StackStatus::unavailable);
  else if (!scale)
    fail_repeat(repeat, fmt::format("its time_unit is \"{}\"; ns, us, ms and s are known",
                                    printable(unit)));
  else if (!repeat.reported.mean_ns)
    fail_repeat(repeat, "its time is not a positive number");
  // A repeat that is not ok has no figure.
  if (repeat.status != StackStatus::ok) repeat.reported = {};
  return repeat;
}

}  // namespace

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
  const auto rows = TRY(rows_of(doc, name));
  std::map<std::string, std::set<Subject>> named;
  std::set<Subject> repeated, with_mean;
  for (const Row& row : rows) {
    if (is_of_a_family(row.aggregate)) continue;
    named[row.subject.name].insert(row.subject);
    if (row.aggregate.empty()) repeated.insert(row.subject);
    if (row.aggregate == "mean") with_mean.insert(row.subject);
  }
  for (const Row& row : rows) {
    // Of repetitions that are there, aggregates say nothing new.
    if (is_of_a_family(row.aggregate)) continue;
    if (!row.aggregate.empty() && repeated.contains(row.subject)) continue;
    const auto id = id_of(row.subject, named);
    if (row.aggregate.empty() || row.aggregate == "mean") {
      stack_of(run, id).repeats.push_back(repeat_of(*row.json));
    } else if (!with_mean.contains(row.subject) && stack_of(run, id).repeats.empty()) {
      Repeat none;
      fail_repeat(none, "it has neither a repetition nor a mean", StackStatus::no_valid_samples);
      stack_of(run, id).repeats.push_back(std::move(none));
    }
  }
  return run;
}

}  // namespace gpuready::bench
