#include "ternary/gguf/gguf_inspect.h"

#include <algorithm>

#include "ternary/gguf/gguf_types.h"

namespace gpuready::ternary::gguf {
namespace {

std::string problem_of(const Census& census, std::string_view format) {
  const auto say = [](std::uint64_t count, const std::string& what) {
    return std::to_string(count) + what;
  };
  if (census.undefined > 0) return say(census.undefined, " codes are undefined");
  if (census.scales_not_finite > 0) return say(census.scales_not_finite, " scales are not finite");
  if (census.unwritten > 0)
    return say(census.unwritten,
               " bytes are not what an encoder of " + std::string(format) + " writes");
  return {};
}

void count_codes(const File& file, TensorReport& report, FormatId as) {
  const auto loaded = load_as(file, *report.tensor, as);
  if (!loaded) {
    report.problem = loaded.error().message;
    return;
  }
  report.bytes = loaded->bytes.size();
  const auto census = count(*loaded);
  if (census) {
    report.census = *census;
    report.problem = problem_of(*census, format(as).name);
  } else if (census.error().kind != ErrorKind::not_ternary) {
    report.problem = census.error().message;
  }
}

// All but what depends on the file's likely layouts.
TensorReport look_at(const File& file, const Tensor& tensor, std::span<const FormatId> layouts) {
  TensorReport report;
  report.tensor = &tensor;
  report.type = type_name(tensor.type);
  report.bytes = tensor.size.value_or(tensor.extent);
  report.format = certain_format(tensor.type);
  if (!report.format && may_be_ternary(tensor.type)) {
    report.candidates = candidates(file, tensor);
    report.format = layout_for(tensor.type, layouts);
    report.ambiguous = !report.format;
  } else if (find_type(tensor.type) == nullptr) {
    report.problem = "its " + report.type + " is unknown";
  }
  return report;
}

// Why a tensor cannot be `as`, the layout that was named or is likely; empty if it can.
std::string unfit(const TensorReport& report, std::optional<FormatId> as) {
  const auto& all = report.candidates;
  if (report.tensor->overlaps) return "it overlaps another tensor";
  if (all.empty()) return {};
  if (std::ranges::none_of(all, &Candidate::possible))
    return "no known layout of " + report.type + " fits its bytes";
  if (!as) return {};
  const Candidate* found = find_candidate(all, report.tensor->shape(), *as);
  if (found == nullptr) return "GGUF files do not hold " + std::string(format(*as).name);
  return found->possible ? std::string()
                         : "it cannot be " + std::string(found->name) + ": " + found->evidence;
}

void settle(const File& file, TensorReport& report, std::span<const FormatId> likely) {
  if (!report.format && !report.ambiguous) return;
  const auto as = report.format ? report.format : layout_for(report.tensor->type, likely);
  report.problem = unfit(report, as);
  if (!report.problem.empty() || !as) return;
  if (!report.format) report.likely = as;
  count_codes(file, report, *as);
}

}  // namespace

FileReport inspect(const File& file, std::span<const FormatId> layouts) {
  FileReport report;
  LayoutTally tally;
  for (const Tensor& tensor : file.tensors) {
    report.tensors.push_back(look_at(file, tensor, layouts));
    if (report.tensors.back().ambiguous) tally.add(report.tensors.back().candidates);
  }
  report.likely = tally.likely();
  std::vector<FormatId> likely;
  for (const LikelyLayout& one : report.likely) likely.push_back(one.layout);
  ProblemList problems;
  for (const std::string& problem : file.problems) problems.add(problem);
  std::size_t with_candidates = 0;
  for (TensorReport& one : report.tensors) {
    settle(file, one, likely);
    const std::uint64_t weights = one.tensor->elements();
    one.bits_per_weight = 8.0 * static_cast<double>(one.bytes) / static_cast<double>(weights);
    report.weights += weights;
    report.bytes += one.bytes;
    report.ternary_tensors += one.format || one.ambiguous;
    report.ambiguous_tensors += one.ambiguous;
    if (!one.problem.empty()) problems.add(std::string(one.tensor->name) + ": " + one.problem);
    if (!one.candidates.empty() && ++with_candidates > kMostCandidates)
      std::vector<Candidate>().swap(one.candidates);
  }
  report.problems = problems.take();
  return report;
}

}  // namespace gpuready::ternary::gguf
