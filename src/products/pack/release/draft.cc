#include "pack/release/draft.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/json.h"

namespace gpuready::pack {
namespace {

// A text of TOML, which quotes as JSON does.
std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const auto& text : texts) parts.push_back(quoted(text));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace

Result<std::string> draft_recipe(Host& host, const std::string& name, const std::string& version,
                                 const std::vector<ExistingPackage>& folders,
                                 const std::string& beside, const Scanner& scan) {
  std::string text = fmt::format("name = {}\nversion = {}\n", quoted(name), quoted(version));
  for (const auto& [variant_name, path] : folders) {
    const auto folder = std::filesystem::path(TRY(host.real_path(path))).lexically_relative(beside);
    VariantRecipe variant;
    variant.name = variant_name;
    variant.architectures_from_code = true;
    variant.folder = path;
    BuildOptions options;
    options.only_check = true;
    options.run_commands = false;
    options.scan = scan;
    const auto built = TRY(build_variant(host, {}, variant, options));
    text += fmt::format("\n[variants.{}]\nfolder = {}\n", quoted(variant_name),
                        quoted(folder.string()));
    if (!built.variant.for_cpu())
      text += fmt::format("architectures = {}\n", list_of(built.variant.architectures));
    // In a comment, a name must not end the line.
    for (const auto& problem : problems_of(built))
      text += fmt::format("# pack build refuses: {}\n", printable(problem));
  }
  return text;
}

}  // namespace gpuready::pack
