#include "report/pack/code_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pack/rules/releases.h"
#include "report/text_layout.h"

namespace gpuready {

using namespace pack;

std::string targets_text(const FileReport& file) {
  std::set<std::pair<TargetGpu, std::string>> targets;  // by architecture, machine code before PTX
  for (const CarrierGroup& group : file.groups)
    for (const DeviceCode& code : group.codes) {
      if (!loadable(code)) continue;
      std::string text = code.target();
      if (code.ptx_isa) text += fmt::format(" (PTX {})", version_text(*code.ptx_isa));
      targets.insert({{.cuda = code.cuda, .gfx = code.gfx}, std::move(text)});
    }
  std::vector<std::string> texts;
  for (const auto& [gpu, text] : targets) texts.push_back(text);
  std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) {
    return a.starts_with("sm_") && b.starts_with("compute_");
  });
  return join(texts, ", ");
}

std::string runs_text(const FileAnswer& answer) {
  const std::uint64_t loads = answer.driver.empty() ? answer.loads() : 0;
  const std::string modules = counted(answer.modules, "module");
  switch (answer.runs) {
    case Runs::all:
      return answer.modules == 1 ? "its module" : "all " + modules;
    case Runs::part:
      return fmt::format("{} of {}", loads, modules);
    case Runs::none:
      return "none of " + modules;
    default:
      return "no device code";
  }
}

Json to_json(const DeviceCode& code) {
  Json json;
  json["kind"] = to_string(code.kind);
  json["target"] = code.target();
  if (code.ptx_isa) json["ptx_isa"] = version_text(*code.ptx_isa);
  json["compression"] = to_string(code.compression);
  if (code.relocatable) json["relocatable"] = true;
  if (code.empty) json["empty"] = true;
  if (code.suffix_unknown) json["suffix_unknown"] = true;
  return json;
}

namespace {

Json elf_json(const ElfFacts& elf) {
  Json json;
  json["machine"] = elf.machine;
  json["type"] = elf.type;
  put(json, "soname", printable(elf.soname));
  put(json, "interpreter", printable(elf.interpreter));
  json["needed"] = Json::array();
  for (const auto& name : elf.needed) json["needed"].push_back(printable(name));
  if (!elf.run_path.empty()) {
    json[elf.rpath ? "rpath" : "runpath"] = Json::array();
    for (const auto& path : elf.run_path)
      json[elf.rpath ? "rpath" : "runpath"].push_back(printable(path));
  }
  if (!elf.symbol_versions.empty()) {
    json["symbol_versions"] = Json::object();
    for (const auto& [name, version] : elf.symbol_versions)
      json["symbol_versions"][printable(name)] = version_text(version);
  }
  return json;
}

Json group_json(const CarrierGroup& group) {
  Json json;
  json["carrier"] = to_string(group.carrier);
  put(json, "section", printable(group.section));
  json["count"] = group.count;
  json["bytes"] = group.bytes;
  json["first_offset"] = group.first_offset;
  json["codes"] = Json::array();
  for (const DeviceCode& code : group.codes) json["codes"].push_back(to_json(code));
  return json;
}

}  // namespace

Json to_json(const FileReport& file) {
  Json json;
  json["path"] = printable(file.path);
  json["bytes"] = file.bytes;
  json["code_bytes"] = file.code_bytes;
  put(json, "foreign", file.foreign);
  if (file.elf) json["elf"] = elf_json(*file.elf);
  json["carriers"] = Json::array();
  for (const CarrierGroup& group : file.groups) json["carriers"].push_back(group_json(group));
  json["problems"] = Json::array();
  for (const auto& problem : file.problems) json["problems"].push_back(printable(problem));
  return json;
}

Json to_json(const FileAnswer& answer) {
  Json json;
  json["runs"] = to_string(answer.runs);
  json["modules"] = answer.modules;
  json["by_cubin"] = answer.by_cubin;
  json["by_jit"] = answer.by_jit;
  json["reasons"] = Json::array();
  for (const auto& reason : answer.reasons)
    json["reasons"].push_back({{"rule", to_string(reason.obstacle)},
                               {"because", reason.because},
                               {"modules", reason.modules}});
  put(json, "driver_problem", answer.driver);
  if (!answer.change.empty()) {
    json["change"]["text"] = answer.change.text;
    put(json["change"], "driver", answer.change.driver);
    put(json["change"], "build", answer.change.build);
  }
  return json;
}

}  // namespace gpuready
