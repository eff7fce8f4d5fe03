// What differs between the runs of two sides. One line a fact.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "bench/compare.h"

namespace gpuready::bench {
namespace {

std::string gpus(const RunRecord& run) {
  std::vector<std::string> all;
  for (const auto& gpu : run.environment.gpus) all.push_back(gpu.name + " " + gpu.uuid);
  std::sort(all.begin(), all.end());
  return join(all, ", ");
}

std::string workload(const RunRecord& run) {
  std::string text = run.workload.name;
  for (const auto& [name, size] : run.workload.shape) text += fmt::format(" {} {}", name, size);
  return text;
}

std::string number_or_none(std::optional<std::uint64_t> value) {
  return value ? std::to_string(*value) : "";
}

std::string protocol(const RunRecord& run) {
  const Protocol& p = run.protocol;
  return fmt::format("{} iters {} warmup {}{}", p.origin, number_or_none(p.iters),
                     number_or_none(p.warmup), p.clocks_locked ? " clocks locked" : "");
}

struct Fact {
  const char* what;
  std::string (*of)(const RunRecord& run);
  bool refuses;  // figures cannot be compared across it
};
constexpr Fact kFacts[] = {
    {"gpu", gpus, true},
    {"driver", [](const RunRecord& run) { return run.environment.driver_version; }, true},
    {"workload", workload, true},
    {"dtype", [](const RunRecord& run) { return run.workload.dtype; }, true},
    {"device", [](const RunRecord& run) { return run.workload.device; }, true},
    {"protocol", protocol, true},
    {"cuda", [](const RunRecord& run) { return run.environment.cuda_version; }, false},
    {"kernel", [](const RunRecord& run) { return run.environment.kernel_release; }, false},
    {"os", [](const RunRecord& run) { return run.environment.os_name; }, false},
    {"cpu", [](const RunRecord& run) { return run.environment.cpu_model; }, false},
    {"tool", [](const RunRecord& run) { return run.tool_version; }, false},
};

std::string all_of(const Side& side, std::string (*of)(const RunRecord&)) {
  std::set<std::string> seen;
  for (const auto& run : side.runs) seen.insert(of(run));
  std::vector<std::string> texts;
  for (const auto& text : seen) texts.push_back(text.empty() ? "not known" : text);
  return join(texts, " and ");
}

}  // namespace

std::vector<Difference> differences_of(const Side& base, const Side& candidate) {
  std::vector<Difference> found;
  for (const auto& fact : kFacts) {
    std::set<std::string> values;
    for (const Side* side : {&base, &candidate})
      for (const auto& run : side->runs) values.insert(fact.of(run));
    if (values.size() > 1)
      found.push_back({fact.what, all_of(base, fact.of), all_of(candidate, fact.of), fact.refuses});
  }
  return found;
}

}  // namespace gpuready::bench
