#include "pack/release/recipe_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <tuple>

namespace gpuready::pack {
namespace {

using Problem = std::optional<std::string>;

Problem wrong_with_architectures(const VariantRecipe& variant) {
  std::vector<CudaTarget> seen;
  for (const auto& text : variant.architectures) {
    const auto architecture = parse_architecture(text);
    if (!architecture)
      return fmt::format(
          "variants.{}.architectures: {} is not a compute capability such as 86, 90a or 90+PTX",
          variant.name, text);
    if (std::ranges::find(seen, architecture->target) != seen.end())
      return fmt::format("variants.{}.architectures: {} is there twice", variant.name, text);
    seen.push_back(architecture->target);
  }
  return std::nullopt;
}

Problem wrong_with_probes(const VariantRecipe& variant) {
  const auto& probes = variant.probes;
  for (auto probe = probes.begin(); probe != probes.end(); ++probe) {
    if (variant.architectures.empty())
      return fmt::format(
          "probes: kernel {}: variant {} has no architectures, so nothing of it is "
          "launched",
          probe->kernel, variant.name);
    if (std::find(probes.begin(), probe, *probe) != probe)
      return fmt::format("probes: kernel {} is there twice with the same arguments", probe->kernel);
  }
  return std::nullopt;
}

Problem wrong_with_models(const std::vector<Model>& models) {
  for (auto model = models.begin(); model != models.end(); ++model) {
    const std::ranges::subrange before(models.begin(), model);
    if (std::ranges::find(before, model->name, &Model::name) != model)
      return fmt::format("models: {} is there twice", model->name);
    // One without a program is taken wherever it fits.
    const auto taken = std::ranges::find_if(before, [&](const Model& earlier) {
      return earlier.load.empty() && earlier.free_bytes <= model->free_bytes;
    });
    if (taken != model)
      return fmt::format(
          "models: {} is never chosen: {} before it needs no more memory, and the "
          "first that fits is taken",
          model->name, taken->name);
  }
  return std::nullopt;
}

Problem wrong_with_machines(const std::vector<TestMachine>& machines) {
  for (auto machine = machines.begin(); machine != machines.end(); ++machine) {
    if (std::ranges::find(machines.begin(), machine, machine->name, &TestMachine::name) != machine)
      return fmt::format("machines: {} is there twice", machine->name);
    if (machine->driver && machine->gpus.empty())
      return fmt::format("machines: {} names a driver and no GPU", machine->name);
  }
  return std::nullopt;
}

// Two variants of the same files cannot both be what they declare.
Problem wrong_with_folders(const std::vector<VariantRecipe>& variants) {
  const auto files = [](const VariantRecipe& variant) {
    return std::tie(variant.folder, variant.include, variant.exclude);
  };
  for (auto variant = variants.begin(); variant != variants.end(); ++variant)
    for (auto other = variants.begin(); other != variant; ++other)
      if (files(*other) == files(*variant))
        return fmt::format(
            "variants {} and {} hold the same files of {}: name each one's folder, "
            "or write {{variant}} in the name of all",
            other->name, variant->name, variant->folder);
  return std::nullopt;
}

}  // namespace

Problem wrong_with_recipe(const Recipe& recipe, bool uses_folders) {
  for (const auto& variant : recipe.variants) {
    if (auto wrong = wrong_with_architectures(variant)) return wrong;
    if (auto wrong = wrong_with_probes(variant)) return wrong;
  }
  if (uses_folders)
    if (auto wrong = wrong_with_folders(recipe.variants)) return wrong;
  if (auto wrong = wrong_with_models(recipe.models)) return wrong;
  for (const auto& library : recipe.system_libraries)
    if (library.empty() || library.contains('/'))
      return fmt::format(
          "system_libraries: \"{}\" is not the name of a library such as libX11.so.6", library);
  return wrong_with_machines(recipe.machines);
}

}  // namespace gpuready::pack
