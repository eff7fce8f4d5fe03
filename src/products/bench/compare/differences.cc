// What differs between the runs of two sides: every recorded field, but for those that a table lets
// differ. So a field that is new is seen without a word here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/compare.h"
#include "bench/record/fields_run.h"
#include "value/write_fields.h"

namespace gpuready::bench {
namespace {

enum class Meaning {
  refused,     // figures cannot be compared across it
  listed,      // told, and refused where one idea is to be judged
  follows,     // told: what a stack says of itself, such as its threads, may follow from the idea
  may_differ,  // says nothing of what the figures depend on, or is compared elsewhere
};
struct Rule {
  std::string_view path = {};  // of a field, or of an object with all that is in it
  Meaning meaning = Meaning::listed;
  std::string_view what = {};  // what people call it; empty: the path's last word
  // Of a number that each run reads: the means of the sides differ by more than this.
  double beyond = 0;
};
constexpr std::string_view kFlags = "flags";
// The first that fits counts; what none names is listed.
constexpr Rule kRules[] = {
    {"environment.gpus", Meaning::refused, "gpu"},
    {"environment.driver_version", Meaning::refused, "driver"},
    {"workload.dtype", Meaning::refused, "dtype"},
    {"workload.device", Meaning::refused, "device"},
    {"workload", Meaning::refused, "workload"},
    {"protocol.seed", Meaning::may_differ, ""},  // of the order of the stacks
    {"protocol.input_seed", Meaning::may_differ, ""},
    {"protocol.startups_overlapped", Meaning::may_differ, ""},  // none beside timing
    {"protocol", Meaning::refused, "protocol"},
    {"environment.fingerprint", Meaning::may_differ, ""},  // of fields that are compared
    {"environment.cuda_version", Meaning::listed, "cuda"},
    {"environment.kernel_release", Meaning::listed, "kernel"},
    {"environment.os_name", Meaning::listed, "os"},
    {"environment.cpu_model", Meaning::refused, "cpu"},
    {"environment.cpu_cores", Meaning::refused, "cpu"},
    {"environment.cpu_affinity", Meaning::refused, "cpu"},
    {"environment.cpu_governor", Meaning::refused, "cpu"},
    {"environment.cpu_limit", Meaning::refused, "cpu"},
    {"load.others_cpu_percent", Meaning::refused, "load", 20},
    {"load.gpu_percent", Meaning::refused, "load", 10},
    {"load.gpu_processes", Meaning::refused, "load", 0.5},
    {"environment.variables", Meaning::listed, ""},
    {"tool_version", Meaning::listed, "tool"},
    {"git_commit", Meaning::listed, "commit"},
    {"git_dirty", Meaning::listed, "commit"},
    {"tag", Meaning::may_differ, ""},
    {"id", Meaning::may_differ, ""},
    {"started_utc", Meaning::may_differ, ""},
    {"idea", Meaning::may_differ, ""},
    {"notes", Meaning::may_differ, ""},
    {"roofline", Meaning::may_differ, ""},  // measured
    {"stacks", Meaning::may_differ, ""},    // compared below, one by one
    {"stack.command", Meaning::listed, kFlags},
    {"stack.versions", Meaning::listed, "versions"},
    {"stack.mode", Meaning::listed, "mode"},
    {"stack.settings", Meaning::follows, ""},
    {"stack.unverified", Meaning::may_differ, ""},
    {"stack.reference", Meaning::may_differ, ""},
    {"stack.id", Meaning::may_differ, ""},
    {"stack.display_name", Meaning::may_differ, ""},
    {"stack.status", Meaning::may_differ, ""},
    {"stack.reason", Meaning::may_differ, ""},
    {"stack.cure", Meaning::may_differ, ""},
    {"stack.repeats", Meaning::may_differ, ""},  // but for the clocks, below
};
constexpr std::string_view kVariablePaths = "environment.variables.";

bool within(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

std::size_t rule_of(std::string_view path) {
  std::size_t i = 0;
  while (i < std::size(kRules) && !within(path, kRules[i].path)) ++i;
  return i;
}

std::string_view last_word(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

using Leaves = std::map<std::string, std::string>;  // values by path

std::string leaf_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  bool objects = false;
  for (const Json& part : value) {
    parts.push_back(leaf_text(part));
    objects |= part.is_object();
  }
  if (objects) std::sort(parts.begin(), parts.end());  // a driver lists GPUs in any order
  return join(parts, objects ? ", " : " ");
}

void add_leaves(Leaves& leaves, const Json& object, const std::string& path) {
  for (const auto& [key, value] : object.items()) {
    const std::string inner = path.empty() ? key : path + "." + key;
    if (value.is_object())
      add_leaves(leaves, value, inner);
    else if (!inner.starts_with(kVariablePaths))
      leaves[inner] = leaf_text(value);
    else
      leaves[inner] = "\"" + leaf_text(value) + "\"";
  }
}

using Documents = std::span<const Leaves>;  // one an object; what it lacks is not there

// Visits the fields of objects: those that may differ, such as samples, and those that are the same
// in all of them are not even written.
template <class T>
struct LeafVisitor : FieldVisitor {
  const std::vector<const T*>& objects;
  const std::string prefix;  // of paths: "", "stack."
  std::vector<Leaves> documents;

  LeafVisitor(const std::vector<const T*>& all, std::string before)
      : objects(all), prefix(std::move(before)), documents(all.size()) {}
  template <class Member>
  void operator()(const char* key, Member T::* member, std::string_view,
                  const FieldStyle& style = {}) {
    const std::string path = prefix + key;
    const auto rule = rule_of(path);
    if (rule < std::size(kRules) && kRules[rule].path == path &&
        kRules[rule].meaning == Meaning::may_differ)
      return;
    const Member& first = objects.front()->*member;
    if (std::ranges::all_of(objects, [&](const T* one) { return one->*member == first; })) return;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      Json one = Json::object();
      one[path] = value::write(objects[i]->*member, style, 0);
      if (!value::says_nothing<Member>(one[path])) add_leaves(documents[i], one, "");
    }
  }
};

struct Values {
  std::set<std::string> seen;
  bool absent = false;  // in some of the runs
  bool mixed() const { return seen.size() + (absent ? 1 : 0) > 1; }
  bool operator==(const Values&) const = default;
};

Values values_at(Documents documents, const std::string& path) {
  Values values;
  for (const auto& document : documents) {
    const auto found = document.find(path);
    if (found == document.end())
      values.absent = true;
    else
      values.seen.insert(found->second);
  }
  return values;
}

std::string values_text(const Values& values, std::string_view path) {
  std::vector<std::string> texts(values.seen.begin(), values.seen.end());
  if (values.absent || texts.empty())
    texts.emplace_back(path.starts_with(kVariablePaths) ? "not set" : "not known");
  return join(texts, " and ");
}

// Of the runs that have it.
std::optional<double> mean_at(Documents documents, const std::string& path) {
  std::vector<double> numbers;
  for (const auto& document : documents)
    if (const auto found = document.find(path); found != document.end())
      if (const auto number = parse_double(found->second)) numbers.push_back(*number);
  return numbers.empty() ? std::nullopt : std::optional(mean(numbers));
}

void append(std::string& text, const std::string& label, const std::string& value) {
  text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", label, label.empty() ? "" : " ", value);
}

using Found = std::map<std::pair<std::size_t, std::string>, Difference>;  // by rule and name

// `stack`: whose documents these are; empty: of whole runs.
void add_differences(Found& found, Documents base, Documents candidate, const std::string& stack) {
  std::set<std::string> paths;
  for (const auto& side : {base, candidate})
    for (const auto& document : side)
      for (const auto& [path, value] : document) paths.insert(path);
  for (const auto& path : paths) {
    std::size_t place = rule_of(path);
    const Rule rule = place < std::size(kRules) ? kRules[place] : Rule{};
    if (rule.meaning == Meaning::may_differ) continue;
    const Values ours = values_at(base, path), theirs = values_at(candidate, path);
    const auto our_mean = mean_at(base, path), their_mean = mean_at(candidate, path);
    const bool measured = rule.beyond > 0;
    if (measured ? !our_mean || !their_mean || std::abs(*our_mean - *their_mean) <= rule.beyond
                 : ours == theirs && !ours.mixed())
      continue;
    // Fields with one name make one difference, such as those of the workload.
    for (std::size_t i = 0; i < place && !rule.what.empty(); ++i)
      if (kRules[i].what == rule.what) place = i;
    const bool whole =
        !measured && (rule.what.empty() || path == kRules[place].path || path == "workload.name");
    std::string what(rule.what.empty() ? last_word(path) : rule.what), label;
    if (rule.what == kFlags)
      label = stack + ":";
    else if (!whole)
      label = last_word(path);
    if (!stack.empty() && rule.what != kFlags) what = stack + " " + what;
    Difference& difference = found[{place, what}];
    difference.what = what;
    difference.refused |= rule.meaning == Meaning::refused;
    difference.mixed |= !measured && (ours.mixed() || theirs.mixed());
    difference.measured |= measured;
    difference.follows |= rule.meaning == Meaning::follows;
    append(difference.base, label,
           measured ? fmt::format("{:.3g}", *our_mean) : values_text(ours, path));
    append(difference.candidate, label,
           measured ? fmt::format("{:.3g}", *their_mean) : values_text(theirs, path));
  }
}

template <class T>
void add_differences(Found& found, const std::vector<const T*>& base,
                     const std::vector<const T*>& candidate, const std::string& prefix,
                     const std::string& stack) {
  if (base.empty() || candidate.empty()) return;
  auto objects = base;
  objects.insert(objects.end(), candidate.begin(), candidate.end());
  LeafVisitor<T> visitor(objects, prefix);
  visit_fields(visitor, Of<T>{});
  const Documents all = visitor.documents;
  add_differences(found, all.first(base.size()), all.subspan(base.size()), stack);
}

std::vector<const RunRecord*> records_of(const Side& side) {
  std::vector<const RunRecord*> runs;
  for (const auto& run : side.runs) runs.push_back(&run);
  return runs;
}

// Of the runs in which the stack counts.
std::vector<const StackResult*> results_of(const Side& side, std::string_view stack) {
  std::vector<const StackResult*> results;
  for (const auto& run : side.runs)
    if (const auto* result = run.stack(stack); result && result->status == StackStatus::ok)
      results.push_back(result);
  return results;
}

// Of all repeats that count.
std::optional<double> mean_sm_mhz(const std::vector<const StackResult*>& results) {
  std::vector<double> all;
  for (const auto* result : results)
    for (const auto& repeat : result->repeats)
      if (repeat.status == StackStatus::ok && repeat.conditions.sm_mhz)
        all.push_back(*repeat.conditions.sm_mhz);
  return all.empty() ? std::nullopt : std::optional(mean(all));
}

// Clocks that are further apart, as a share, explain a difference of times. What the candidate
// changes may itself be why, so that they are listed only.
constexpr double kSameClock = 0.03;
void add_clocks(std::vector<Difference>& all, const std::vector<const StackResult*>& base,
                const std::vector<const StackResult*>& candidate, const std::string& stack) {
  const auto ours = mean_sm_mhz(base), theirs = mean_sm_mhz(candidate);
  if (!ours || !theirs || std::abs(*theirs - *ours) <= kSameClock * std::min(*ours, *theirs))
    return;
  Difference& difference = all.emplace_back();
  difference.what = stack + " sm_mhz";
  difference.measured = true;
  difference.base = fmt::format("{:.0f}", *ours);
  difference.candidate = fmt::format("{:.0f}", *theirs);
}

}  // namespace

std::vector<Difference> differences_of(const Side& base, const Side& candidate,
                                       const StackPairs& pairs) {
  Found found;
  std::vector<Difference> clocks;
  add_differences(found, records_of(base), records_of(candidate), "", "");
  for (const auto& [ours, theirs] : pairs) {
    const auto name = ours == theirs ? ours : ours + "=" + theirs;
    const auto base_results = results_of(base, ours), results = results_of(candidate, theirs);
    add_differences(found, base_results, results, "stack.", name);
    add_clocks(clocks, base_results, results, name);
  }
  std::vector<Difference> all;
  for (auto& [place, difference] : found) all.push_back(std::move(difference));
  std::ranges::move(clocks, std::back_inserter(all));
  return all;
}

}  // namespace gpuready::bench
