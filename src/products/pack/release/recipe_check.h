// What is in a recipe and could have no effect, or contradicts something else in it.
#pragma once

#include <optional>
#include <string>

#include "pack/release/recipe.h"

namespace gpuready::pack {

// Of a recipe whose fields are right each by itself; nothing: all is well.
std::optional<std::string> wrong_with_recipe(const Recipe& recipe, bool uses_folders);

}  // namespace gpuready::pack
