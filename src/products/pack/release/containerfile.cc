#include "pack/release/containerfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

// A word of a shell, whatever is in it.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string why_not(const VariantRecipe& variant, const Version& cuda) {
  if (variant.command.empty()) return "it has no build command";
  if (variant.architectures.empty()) return {};
  const auto releases = compilers_of(variant.architectures);
  if (!releases) return "no CUDA release compiles all its architectures";
  if (cuda < releases->from)
    return fmt::format("CUDA {} or newer compiles it", version_text(releases->from));
  if (releases->to && cuda > *releases->to)
    return fmt::format("CUDA {} is the last that compiles it", version_text(*releases->to));
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> build_environment(const Recipe& recipe,
                                                                   const VariantRecipe& variant) {
  const auto forms = forms_of(variant.architectures);
  return {{"PACK_NAME", recipe.name},
          {"PACK_VERSION", recipe.version},
          {"PACK_VARIANT", variant.name},
          {"PACK_FOLDER", variant.folder},
          {"CUDAARCHS", forms.cmake},
          {"CMAKE_CUDA_ARCHITECTURES", forms.cmake},
          {"TORCH_CUDA_ARCH_LIST", forms.torch},
          {"NVCC_GENCODE", forms.gencode}};
}

Result<std::string> containerfile(const Recipe& recipe, const std::string& folder,
                                  const Version& cuda) {
  const std::string release =
      version_text({{cuda.major(), cuda.parts.size() > 1 ? cuda.parts[1] : 0}});
  std::string text = fmt::format(
      "# Builds variants of {} {} with CUDA {}:\n"
      "#   podman build --output . --file Containerfile .\n"
      "# Afterwards: gpuready pack build --no-build\n",
      recipe.name, recipe.version, release);
  const auto known = cuda_releases();
  if (std::ranges::none_of(known, [&](const auto& each) { return each.cuda == release; }))
    return fail(ErrorKind::bad_input, fmt::format("no CUDA release {} is known: {} to {} are",
                                                  release, known.front().cuda, known.back().cuda));
  std::string build, copies;
  std::vector<std::string> left_out;
  for (const auto& variant : recipe.variants) {
    if (const auto why = why_not(variant, cuda); !why.empty()) {
      text += fmt::format("# Not {}: {}.\n", variant.name, why);
      left_out.push_back(variant.name + ": " + why);
      continue;
    }
    const auto inside = std::filesystem::path(variant.folder).lexically_relative(folder).string();
    if (inside.empty() || inside.starts_with(".."))
      return fail(ErrorKind::bad_input,
                  fmt::format("variant {}: its folder {} is not below that of the recipe",
                              variant.name, variant.folder));
    VariantRecipe there = variant;
    there.folder = "/source/" + inside;
    build += "RUN ";
    for (const auto& [name, value] : build_environment(recipe, there))
      build += fmt::format("{}={} \\\n    ", name, quoted(value));
    std::vector<std::string> words;
    for (const auto& word : variant.command) words.push_back(quoted(word));
    build += join(words, " ") + "\n";
    copies += fmt::format("COPY --from=build [\"/source/{0}\", \"/{0}\"]\n", inside);
  }
  if (build.empty())
    return fail(ErrorKind::bad_input, fmt::format("CUDA {} builds no variant of the recipe ({})",
                                                  release, join(left_out, "; ")));
  return text +
         fmt::format(
             "\n# Patch releases and distributions differ: --build-arg IMAGE=... names another.\n"
             "ARG IMAGE=docker.io/nvidia/cuda:{}.0-devel-ubuntu22.04\n"
             "FROM ${{IMAGE}} AS build\n"
             "WORKDIR /source\n"
             "COPY . .\n"
             "{}\n"
             "FROM scratch\n"
             "{}",
             release, build, copies);
}

}  // namespace gpuready::pack
