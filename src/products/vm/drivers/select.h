// Which files of a bundle a use needs.
#pragma once

#include <vector>

#include "vm/drivers/bundle.h"

namespace gpuready::vm {

// The files that serve one of these capabilities (all where none is named), with the libraries of
// the bundle that they load, in the bundle's order. Modules are those that the capabilities need;
// firmware always comes along.
std::vector<const DriverFile*> select_files(const DriverBundle& bundle,
                                            const std::vector<Capability>& capabilities);

}  // namespace gpuready::vm
