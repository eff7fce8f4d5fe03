// What a release holds, as a bill of materials that other programs read (CycloneDX 1.5).
#pragma once

#include <string>

#include "pack/release/manifest.h"

namespace gpuready::pack {

// Each variant is a component, and each of its files one below that, with its SHA-256 and the
// device code that the scanner found. The same manifest gives the same bytes.
std::string bill_of_materials(const Manifest& manifest);

}  // namespace gpuready::pack
