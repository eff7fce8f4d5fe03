// What a list of bad words has in common: leads to where in the chip the fault lies.
#pragma once

#include <span>
#include <string>

#include "gpuready/verdict.h"

namespace gpuready {

// "all in bit 37; all within one page of 2 MiB; ..."; empty when nothing stands out. `words` are
// ascending and may be the first ones only, of `total`.
std::string describe_relation(std::span<const BadWord> words, std::uint64_t total);

}  // namespace gpuready
