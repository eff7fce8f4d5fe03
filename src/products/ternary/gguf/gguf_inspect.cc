#include "ternary/gguf/gguf_inspect.h"

#include <algorithm>

#include "ternary/gguf/gguf_types.h"
#include "ternary/shape.h"

namespace gpuready::ternary::gguf {
namespace {

// bitnet.cpp's layouts of I2_S differ in the order of the weights alone, so they agree about counts
// and scale. Where a layout with other codes is possible too there is nothing to count.
std::optional<FormatId> countable(const std::vector<Candidate>& candidates) {
  std::optional<FormatId> found;
  for (const Candidate& candidate : candidates) {
    if (!candidate.possible) continue;
    if (!candidate.format || *candidate.format == FormatId::i2s_bitnet_rs) return std::nullopt;
    found = candidate.format;
  }
  return found;
}

void count_codes(const File& file, TensorReport& report, std::span<const FormatId> layouts) {
  const auto loaded = load(file, *report.tensor, layouts);
  if (!loaded) {
    report.problem = loaded.error().message;
    return;
  }
  const auto census = count(*loaded);
  if (!census) {
    report.problem = census.error().message;
    return;
  }
  report.census = *census;
  report.bytes = loaded->bytes.size();
  if (census->undefined > 0)
    report.problem = std::to_string(census->undefined) + " codes are undefined";
  else if (census->scales_not_finite > 0)
    report.problem = std::to_string(census->scales_not_finite) + " scales are not finite";
}

TensorReport inspect_tensor(const File& file, const Tensor& tensor,
                            std::span<const FormatId> layouts) {
  TensorReport report;
  report.tensor = &tensor;
  report.type = type_name(tensor.type);
  report.bytes = tensor.size.value_or(tensor.extent);
  if (tensor.type == kTq1 || tensor.type == kTq2) {
    report.format = tensor.type == kTq1 ? FormatId::tq1_0 : FormatId::tq2_0;
    count_codes(file, report, layouts);
  } else if (may_be_ternary(tensor.type)) {
    report.candidates = candidates(file, tensor);
    report.format = layout_for(tensor.type, layouts);
    report.ambiguous = !report.format;
    if (report.format) {
      count_codes(file, report, layouts);
    } else if (tensor.overlaps) {
      report.problem = "it overlaps another tensor";
    } else if (const auto any = countable(report.candidates)) {
      const FormatId assumed[] = {*any};
      count_codes(file, report, assumed);
    } else if (std::ranges::none_of(report.candidates,
                                    [](const Candidate& c) { return c.possible; })) {
      report.problem = "no known layout of " + report.type + " fits its bytes";
    }
  } else if (find_type(tensor.type) == nullptr) {
    report.problem = "its " + report.type + " is unknown";
  }
  report.bits_per_weight =
      8.0 * static_cast<double>(report.bytes) / static_cast<double>(tensor.elements());
  return report;
}

}  // namespace

FileReport inspect(const File& file, std::span<const FormatId> layouts) {
  FileReport report;
  ProblemList problems;
  for (const std::string& problem : file.problems) problems.add(problem);
  std::size_t with_candidates = 0;
  for (const Tensor& tensor : file.tensors) {
    TensorReport one = inspect_tensor(file, tensor, layouts);
    report.weights += tensor.elements();
    report.bytes += one.bytes;
    report.ternary_tensors += one.format || one.ambiguous;
    report.ambiguous_tensors += one.ambiguous;
    if (!one.problem.empty()) problems.add(std::string(tensor.name) + ": " + one.problem);
    if (!one.candidates.empty() && ++with_candidates > kMostCandidates)
      std::vector<Candidate>().swap(one.candidates);
    report.tensors.push_back(std::move(one));
  }
  report.problems = problems.take();
  return report;
}

}  // namespace gpuready::ternary::gguf
