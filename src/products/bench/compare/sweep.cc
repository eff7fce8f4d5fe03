#include "bench/compare/sweep.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "bench/compare/ranking.h"

namespace gpuready::bench {
namespace {

using Shape = std::map<std::string, std::uint64_t>;

struct Axis {
  std::string name;
  Shape rest;
  std::uint64_t size = 0;
};

// Each size of its own, and all together where they are equal.
std::vector<Axis> axes_of(const Shape& shape) {
  std::vector<Axis> axes;
  std::vector<std::string> names;
  bool equal = shape.size() > 1;
  for (const auto& [name, size] : shape) {
    Axis& axis = axes.emplace_back(Axis{name, shape, size});
    axis.rest.erase(name);
    names.push_back(name);
    equal = equal && size == shape.begin()->second;
  }
  if (equal) axes.push_back({join(names, " = "), {}, shape.begin()->second});
  return axes;
}

void add_table(Sweep& sweep, std::uint64_t size, const RunRecord& run) {
  sweep.sizes.push_back(size);
  for (const auto& ranked : ranking_of(run).ranked) {
    if (!ranked.latency.p50_ns) continue;
    auto stack = std::ranges::find(sweep.stacks, ranked.id, &SweepStack::id);
    if (stack == sweep.stacks.end())
      stack = sweep.stacks.insert(stack, {.id = ranked.id, .points = {}});
    stack->points.push_back({size, *ranked.latency.p50_ns});
  }
}

}  // namespace

std::vector<Sweep> sweeps_of(const std::vector<RunRecord>& runs) {
  struct Tables {
    std::map<std::uint64_t, const RunRecord*> of_size;
    std::size_t older = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string, Shape>,
           Tables>
      all;
  for (const auto& run : runs) {
    const Workload& work = run.workload;
    if (!run.is_whole() || !run.protocol.is_ours()) continue;
    for (const auto& axis : axes_of(work.shape)) {
      Tables& tables = all[{work.name, work.dtype, work.device, run.environment.fingerprint(),
                            axis.name, axis.rest}];
      const RunRecord*& table = tables.of_size[axis.size];
      if (table != nullptr) ++tables.older;
      if (table == nullptr || table->started_utc <= run.started_utc) table = &run;
    }
  }
  std::vector<Sweep> sweeps;
  for (const auto& [key, tables] : all) {
    if (tables.of_size.size() < kLeastSizes) continue;
    Sweep sweep;
    sweep.older = tables.older;
    std::tie(sweep.workload.name, sweep.workload.dtype, sweep.workload.device, sweep.machine,
             sweep.axis, sweep.workload.shape) = key;
    for (const auto& [size, run] : tables.of_size) add_table(sweep, size, *run);
    if (!sweep.stacks.empty()) sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

}  // namespace gpuready::bench
