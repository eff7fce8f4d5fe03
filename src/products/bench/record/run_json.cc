#include <fmt/format.h>

#include <set>

#include "bench/record/fields_run.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready::bench {
namespace {

bool times(const std::vector<double>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](double ns) { return ns > 0; });
}

std::string wrong_with(const Repeat& repeat) {
  if (!times(repeat.samples_ns) || !times(repeat.cold_samples_ns))
    return "has a sample that is not greater than 0";
  for (const auto index : repeat.throttled)
    if (index >= repeat.samples_ns.size())
      return fmt::format("marks sample {} of {} as throttled", index, repeat.samples_ns.size());
  for (const auto figure :
       {&Latency::mean_ns, &Latency::p50_ns, &Latency::p95_ns, &Latency::min_ns, &Latency::max_ns})
    if (const auto value = repeat.reported.*figure; value && *value <= 0)
      return "reports a latency that is not greater than 0";
  if (repeat.energy_mj && *repeat.energy_mj < 0) return "reports a negative energy";
  return {};
}

std::string wrong_with(const RunRecord& run) {
  std::set<std::string_view> seen;
  for (const auto& stack : run.stacks) {
    if (!seen.insert(stack.id).second)
      return fmt::format("it contains the stack {} twice", stack.id);
    for (std::size_t i = 0; i < stack.repeats.size(); ++i)
      if (const auto wrong = wrong_with(stack.repeats[i]); !wrong.empty())
        return fmt::format("repeat {} of {} {}", i, stack.id, wrong);
  }
  return {};
}

}  // namespace

Json to_json(const RunRecord& run) { return value::write_fields(run); }

Result<RunRecord> run_from_json(const Json& doc, std::string_view name) {
  auto run = TRY(value::read_document<RunRecord>(doc, name));
  if (const auto wrong = wrong_with(run); !wrong.empty())
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, printable(wrong)));
  return run;
}

}  // namespace gpuready::bench
