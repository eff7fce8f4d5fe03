#include "ternary/report/inspect_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

namespace gguf = ternary::gguf;

std::string text_of(const gguf::TensorReport& report) {
  if (report.format) return std::string(ternary::format(*report.format).name);
  if (report.likely) return fmt::format("likely {}", ternary::format(*report.likely).name);
  if (!report.ambiguous) return "-";
  if (report.candidates.empty()) return "ambiguous";
  const bool any = std::any_of(report.candidates.begin(), report.candidates.end(),
                               [](const auto& candidate) { return candidate.possible; });
  return any ? "ambiguous" : "no layout fits";
}

std::string shape_of(const gguf::Tensor& tensor) {
  std::string text = std::to_string(tensor.dims[0]);
  for (std::uint32_t i = 1; i < tensor.dim_count; ++i) text += fmt::format(" x {}", tensor.dims[i]);
  return text;
}

std::string scales_text(const gguf::Census& census) {
  if (census.scales == census.scales_not_finite) return "-";
  if (census.scale_least == census.scale_greatest) return fmt::format("{:.6g}", census.scale_least);
  return fmt::format("{:.6g} to {:.6g}", census.scale_least, census.scale_greatest);
}

Table tensor_table(const gguf::FileReport& report) {
  Table table;
  table.columns = {
      {"Tensor", Align::left, true},     {"Shape"}, {"Type"}, {"Format"}, {"Bytes", Align::right},
      {"bits/w", Align::right, false, 1}};
  for (const auto& one : report.tensors)
    table.rows.push_back({{std::string(one.tensor->name)},
                          {shape_of(*one.tensor)},
                          {std::string(one.type)},
                          {text_of(one)},
                          {format_bytes(one.bytes)},
                          {fmt::format("{:.3f}", one.bits_per_weight)}});
  return table;
}

// Shares of the codes, and scales.
Table census_table(const gguf::FileReport& report) {
  Table table;
  table.columns = {{"Ternary", Align::left, true},
                   {"-1", Align::right},
                   {"0", Align::right},
                   {"+1", Align::right},
                   {"Scales"}};
  for (const auto& one : report.tensors) {
    if (!one.census) continue;
    const gguf::Census& census = *one.census;
    table.rows.push_back({{std::string(one.tensor->name)},
                          {format_percent(share(census.minus, census))},
                          {format_percent(share(census.zero, census))},
                          {format_percent(share(census.plus, census))},
                          {scales_text(census)}});
  }
  return table;
}

}  // namespace

double share(std::uint64_t part, const gguf::Census& census) {
  const auto all = census.minus + census.zero + census.plus + census.undefined;
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string render_terminal(const InspectReport& inspected, const TerminalStyle& style) {
  TerminalText out(style);
  const auto& file = *inspected.file;
  const auto& report = inspected.found;
  for (const auto& problem : report.problems) out.paragraph(0, {"wrong: ", Ink::bad}, problem);
  if (style.quiet) return out.take();
  out.blank();
  out.table(0, tensor_table(report));
  out.blank();
  if (const Table codes = census_table(report); !codes.rows.empty()) {
    out.table(0, codes);
    out.blank();
  }
  out.paragraph(
      0, {""},
      fmt::format("{}, {} metadata entries, alignment {}; {} tensors of {} weights in {}; "
                  "{} ternary, {} of them ambiguous.",
                  file.container == gguf::Container::gguf
                      ? fmt::format("GGUF version {}", file.version)
                      : "safetensors",
                  file.metadata.size(), file.alignment, report.tensors.size(), report.weights,
                  format_bytes(report.bytes), report.ternary_tensors, report.ambiguous_tensors));
  for (const auto& likely : report.likely)
    out.paragraph(
        0, {""},
        fmt::format("{} does not declare its layout. {} is likely: {}. verify and convert "
                    "assume it; --layout overrides.",
                    ternary::format(likely.layout).family, ternary::format(likely.layout).name,
                    likely.reason));
  // Most tensors of a file say the same, so the first that is ambiguous speaks for all.
  for (const auto& one : report.tensors) {
    if (one.format || one.candidates.empty()) continue;
    out.paragraph(0, {""}, fmt::format("Evidence about the layout of {}:", one.tensor->name));
    for (const auto& candidate : one.candidates)
      out.paragraph(2, {candidate.possible ? "possible " : "excluded "},
                    fmt::format("{}: {}", candidate.name, candidate.evidence));
    break;
  }
  return out.take();
}

}  // namespace gpuready
