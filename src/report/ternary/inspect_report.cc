#include "report/ternary/inspect_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/terminal_text.h"

namespace gpuready {
namespace {

namespace gguf = ternary::gguf;

std::string text_of(const gguf::TensorReport& report) {
  if (report.format) return std::string(ternary::format(*report.format).name);
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

double share(std::uint64_t part, const gguf::Census& census) {
  const auto all = census.minus + census.zero + census.plus + census.undefined;
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
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

Json census_json(const gguf::Census& census) {
  Json json;
  json["minus_share"] = share(census.minus, census);
  json["zero_share"] = share(census.zero, census);
  json["plus_share"] = share(census.plus, census);
  json["undefined_codes"] = census.undefined;
  json["scales"] = census.scales;
  json["scales_not_finite"] = census.scales_not_finite;
  if (census.scales > census.scales_not_finite) {
    json["scale_least"] = census.scale_least;
    json["scale_greatest"] = census.scale_greatest;
  }
  return json;
}

Json tensor_json(const gguf::TensorReport& report) {
  Json json;
  json["name"] = printable(report.tensor->name);
  json["shape"] = Json::array();
  for (std::uint32_t i = 0; i < report.tensor->dim_count; ++i)
    json["shape"].push_back(report.tensor->dims[i]);
  json["type"] = report.type;
  json["type_number"] = report.tensor->type;
  if (report.format) json["format"] = ternary::format(*report.format).name;
  json["ambiguous"] = report.ambiguous;
  for (const auto& candidate : report.candidates)
    json["candidates"].push_back({{"name", candidate.name},
                                  {"possible", candidate.possible},
                                  {"evidence", printable(candidate.evidence)}});
  json["bytes"] = report.bytes;
  json["bits_per_weight"] = report.bits_per_weight;
  if (report.census) json["codes"] = census_json(*report.census);
  put(json, "problem", printable(report.problem));
  return json;
}

}  // namespace

Json to_json(const std::string& path, const gguf::File& file, const gguf::FileReport& report,
             const Envelope& envelope) {
  Json json = begin_document("gpuready.ternary-inspect", envelope);
  json["file"] = {{"path", printable(path)},
                  {"bytes", file.bytes.size()},
                  {"gguf_version", file.version},
                  {"alignment", file.alignment},
                  {"metadata_entries", file.metadata.size()}};
  json["weights"] = report.weights;
  json["tensor_bytes"] = report.bytes;
  json["ternary_tensors"] = report.ternary_tensors;
  json["ambiguous_tensors"] = report.ambiguous_tensors;
  json["problems"] = Json::array();
  for (const auto& problem : report.problems) json["problems"].push_back(printable(problem));
  json["tensors"] = Json::array();
  for (const auto& one : report.tensors) json["tensors"].push_back(tensor_json(one));
  return json;
}

std::string render_terminal(const gguf::File& file, const gguf::FileReport& report,
                            const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& problem : report.problems) out.paragraph(0, {"wrong: ", Ink::bad}, problem);
  if (style.quiet) return out.take();
  out.blank();
  out.table(0, tensor_table(report));
  out.blank();
  if (const Table codes = census_table(report); !codes.rows.empty()) {
    out.table(0, codes);
    out.blank();
  }
  out.paragraph(0, {""},
                fmt::format("GGUF version {}, {} metadata entries, alignment {}; {} tensors of {} "
                            "weights in {}; {} ternary, {} of them ambiguous.",
                            file.version, file.metadata.size(), file.alignment,
                            report.tensors.size(), report.weights, format_bytes(report.bytes),
                            report.ternary_tensors, report.ambiguous_tensors));
  // Most tensors of a file say the same, so the first that is ambiguous speaks for all.
  for (const auto& one : report.tensors) {
    if (one.format || one.candidates.empty()) continue;
    out.paragraph(0, {""},
                  fmt::format("{} stands for several layouts; name one with --layout. For {}:",
                              one.type, one.tensor->name));
    for (const auto& candidate : one.candidates)
      out.paragraph(2, {candidate.possible ? "possible " : "excluded "},
                    fmt::format("{}: {}", candidate.name, candidate.evidence));
    break;
  }
  return out.take();
}

}  // namespace gpuready
