// Which tiers this CPU has, and their kernels.
#pragma once

#include <string>

#include "gpuready/ternary.h"
#include "ternary/cpu/kernels.h"
#include "ternary/cpu/kernels_weights.h"

namespace gpuready::ternary {

// Null for a tier that this build does not hold.
const kernels::Table* table_of(Tier tier);
// What the CPU and the operating system say about a tier; an empty string: it can be used.
std::string why_not(Tier tier);
// Asks the kernel for AMX's tile state, once in this process; an empty string: granted.
std::string ask_for_tiles();
// The best tier that needs no permission, for work beside the products.
const kernels::Table& vector_table();
const kernels::WeightTable& weight_table();

inline constexpr Tier kAllTiers[] = {Tier::scalar, Tier::avx2, Tier::avx_vnni, Tier::avx512_vnni,
                                     Tier::amx,    Tier::neon, Tier::dotprod,  Tier::i8mm};

}  // namespace gpuready::ternary
