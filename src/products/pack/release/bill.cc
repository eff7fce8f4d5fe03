#include "pack/release/bill.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace gpuready::pack {
namespace {

Json property(std::string_view name, std::string value) {
  return {{"name", fmt::format("gpuready:{}", name)}, {"value", std::move(value)}};
}

// Nothing for a file without device code.
Json code_properties(const Variant& variant, const std::string& path) {
  Json properties = Json::array();
  for (const auto& code : variant.code) {
    if (code.path != path) continue;
    for (const auto& modules : code.modules)
      properties.push_back(
          property("modules", fmt::format("{}: {}", modules.count, join(modules.targets, ", "))));
    if (code.cuda) properties.push_back(property("cuda", *code.cuda));
  }
  return properties;
}

Json component(std::string_view type, std::string_view name, std::string reference) {
  return {{"type", type}, {"bom-ref", std::move(reference)}, {"name", name}};
}

Json component_of(const Variant& variant) {
  Json files = Json::array();
  for (const auto& file : variant.files) {
    if (file.link) continue;
    Json entry = component("file", file.path, fmt::format("{}/{}", variant.name, file.path));
    entry["hashes"] = {{{"alg", "SHA-256"}, {"content", file.sha256.value_or("")}}};
    if (auto code = code_properties(variant, file.path); !code.empty())
      entry["properties"] = std::move(code);
    files.push_back(std::move(entry));
  }
  Json properties = Json::array();
  for (const auto& architecture : variant.architectures)
    properties.push_back(property("architecture", architecture));
  const auto& floors = variant.floors;
  for (const auto& [name, floor] : {std::pair{"driver", floors.driver},
                                    {"cuda", floors.cuda},
                                    {"cudnn", floors.cudnn},
                                    {"glibc", floors.glibc},
                                    {"cpu", floors.cpu}})
    if (floor) properties.push_back(property(fmt::format("floor:{}", name), *floor));
  Json whole = component("library", variant.name, variant.name);
  whole["properties"] = std::move(properties);
  whole["components"] = std::move(files);
  return whole;
}

}  // namespace

std::string bill_of_materials(const Manifest& manifest) {
  Json release =
      component("library", manifest.name, fmt::format("{}@{}", manifest.name, manifest.version));
  release["version"] = manifest.version;
  Json tool = {{"type", "application"}, {"name", "gpuready"}};
  Json components = Json::array();
  for (const auto& variant : manifest.variants) components.push_back(component_of(variant));
  return dump({{"bomFormat", "CycloneDX"},
               {"specVersion", "1.5"},
               {"version", 1},
               {"metadata",
                {{"timestamp", manifest.created_utc},
                 {"tools", {{"components", Json::array({tool})}}},
                 {"component", release}}},
               {"components", components}});
}

}  // namespace gpuready::pack
