// How the variants of a recipe are built in a container of one CUDA release, for makers whose
// machine has none, or another one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pack/release/recipe.h"

namespace gpuready::pack {

// What a build command finds in its environment: the package, the variant, and the architectures in
// the forms that build systems read.
std::vector<std::pair<std::string, std::string>> build_environment(const Recipe& recipe,
                                                                   const VariantRecipe& variant);

// A Containerfile that builds, in NVIDIA's image of this CUDA release, each variant that its
// compiler knows, and leaves their folders where the recipe wants them. `folder`: of the recipe. An
// error: it knows none of them, or the recipe has no build command.
Result<std::string> containerfile(const Recipe& recipe, const std::string& folder,
                                  const Version& cuda);

}  // namespace gpuready::pack
