// A first pack.toml for folders that are built already.
#pragma once

#include <string>
#include <vector>

#include "pack/release/adopt.h"

namespace gpuready::pack {

// The text of a recipe in which each folder is a variant, with the architectures that all of its
// files load on; what `pack build` would refuse is a comment. `beside`: the folder of the recipe,
// which paths in it are relative to.
Result<std::string> draft_recipe(Host& host, const std::string& name, const std::string& version,
                                 const std::vector<ExistingPackage>& folders,
                                 const std::string& beside, const Scanner& scan);

}  // namespace gpuready::pack
