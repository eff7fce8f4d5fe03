#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/ternary_commands.h"
#include "cli/ternary_file.h"
#include "ternary/gguf_inspect.h"
#include "ternary/gguf_types.h"

namespace gpuready::cli {
namespace {

namespace gguf = ternary::gguf;

struct Options {
  std::string file;
  std::optional<std::string> json;
  std::vector<std::string> layouts;
};

std::string text_of(const gguf::TensorReport& report) {
  if (report.format) return std::string(ternary::format(*report.format).name);
  std::string names;
  for (const auto& candidate : report.candidates)
    if (candidate.possible) names += (names.empty() ? "" : " | ") + candidate.name;
  if (report.candidates.empty()) return "-";
  return names.empty() ? "no layout fits" : "ambiguous: " + names;
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

std::string census_text(const std::optional<gguf::Census>& census) {
  if (!census) return "-";
  std::string text = fmt::format("{} {} {}", format_percent(share(census->minus, *census)),
                                 format_percent(share(census->zero, *census)),
                                 format_percent(share(census->plus, *census)));
  if (census->scales == census->scales_not_finite) return text;
  return text + (census->scale_least == census->scale_greatest
                     ? fmt::format(", scale {:.6g}", census->scale_least)
                     : fmt::format(", scales {:.6g} to {:.6g}", census->scale_least,
                                   census->scale_greatest));
}

void print(const gguf::File& file, const gguf::FileReport& report) {
  std::size_t name_width = 6, shape_width = 5, type_width = 4, format_width = 6;
  for (const auto& one : report.tensors) {
    name_width = std::max(name_width, std::min<std::size_t>(48, one.tensor->name.size()));
    shape_width = std::max(shape_width, shape_of(*one.tensor).size());
    type_width = std::max(type_width, one.type.size());
    format_width = std::max(format_width, text_of(one).size());
  }
  const auto line = [&](std::string_view name, std::string_view shape, std::string_view type,
                        std::string_view format, std::string_view bytes, std::string_view bits,
                        std::string_view rest) {
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {:>10}  {:>7}  {}\n", name, name_width, shape,
               shape_width, type, type_width, format, format_width, bytes, bits, rest);
  };
  line("tensor", "shape", "type", "format", "bytes", "bits/w", "-1 0 +1, scale");
  for (const auto& one : report.tensors)
    line(one_line(one.tensor->name), shape_of(*one.tensor), one.type, text_of(one),
         format_bytes(one.bytes), fmt::format("{:.3f}", one.bits_per_weight),
         census_text(one.census));
  fmt::print("GGUF version {}, {} metadata entries, alignment {}; {} tensors of {} weights in {}\n",
             file.version, file.metadata.size(), file.alignment, report.tensors.size(),
             report.weights, format_bytes(report.bytes));
  fmt::print("{} ternary tensors, {} of them ambiguous\n", report.ternary_tensors,
             report.ambiguous_tensors);
  // Most tensors of a file say the same, so the first that is ambiguous speaks for all.
  for (const auto& one : report.tensors) {
    if (one.format || one.candidates.empty()) continue;
    fmt::print("{} stands for several layouts; name one with --layout. For {}:\n", one.type,
               one_line(one.tensor->name));
    for (const auto& candidate : one.candidates)
      fmt::print("  {} {}: {}\n", candidate.possible ? "possible" : "excluded", candidate.name,
                 printable(candidate.evidence));
    break;
  }
  for (const auto& problem : report.problems) fmt::print("wrong: {}\n", one_line(problem));
}

Json to_json(const gguf::Census& census) {
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

Json to_json(const gguf::TensorReport& report) {
  Json json;
  json["name"] = printable(report.tensor->name);
  json["shape"] = Json::array();
  for (std::uint32_t i = 0; i < report.tensor->dim_count; ++i)
    json["shape"].push_back(report.tensor->dims[i]);
  json["type"] = report.type;
  json["type_number"] = report.tensor->type;
  if (report.format) json["format"] = ternary::format(*report.format).name;
  json["ambiguous"] = !report.format && !report.candidates.empty();
  for (const auto& candidate : report.candidates)
    json["candidates"].push_back({{"name", candidate.name},
                                  {"possible", candidate.possible},
                                  {"evidence", printable(candidate.evidence)}});
  json["bytes"] = report.bytes;
  json["bits_per_weight"] = report.bits_per_weight;
  if (report.census) json["codes"] = to_json(*report.census);
  put(json, "problem", printable(report.problem));
  return json;
}

Json to_json(const std::string& path, const gguf::File& file, const gguf::FileReport& report) {
  Json json;
  json["schema"] = "gpuready.ternary-inspect";
  json["schema_version"] = 1;
  json["tool"] = {{"name", "gpuready"}, {"version", GPUREADY_VERSION}};
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
  for (const auto& one : report.tensors) json["tensors"].push_back(to_json(one));
  json["exit_code"] = report.problems.empty() ? 0 : 1;
  return json;
}

int run(const Options& options) {
  const auto layouts = layouts_of(options.layouts);
  if (!layouts) return complain(layouts.error());
  const auto opened = open_ternary_file(options.file);
  if (!opened) return complain(opened.error());
  const auto report = gguf::inspect(opened->file, *layouts);
  if (options.json) {
    const std::string text = dump(to_json(options.file, opened->file, report));
    if (*options.json == "-")
      fmt::print("{}", text);
    else if (const auto written = write_file(*options.json, text); !written)
      return complain(written.error());
  }
  if (options.json != "-") print(opened->file, report);
  return static_cast<int>(report.problems.empty() ? Exit::ok : Exit::unhealthy);
}

}  // namespace

void add_ternary_inspect(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "A GGUF file, version 2 or 3")->required();
  add_layouts(app, options->layouts);
  app.add_option("--json", options->json, "Write JSON to FILE; - or nothing: standard output")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("[FILE]");
  app.footer("Exit codes: 0 nothing is wrong; 1 the file or a tensor is; 2 it is no such file.");
  app.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace gpuready::cli
