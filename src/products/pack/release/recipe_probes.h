// [[probes]] of a recipe.
#pragma once

#include "pack/release/recipe.h"
#include "value/toml_reader.h"

namespace gpuready::pack {

// Gives each probe to the variants that it names, else to all that are for GPUs.
Result<void> read_probes(TomlReader& top, Recipe& recipe, std::string_view name);

}  // namespace gpuready::pack
