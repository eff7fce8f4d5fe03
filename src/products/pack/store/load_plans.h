// What a load test tries on each GPU that a variant was chosen for.
#pragma once

#include <string>
#include <vector>

#include "pack/store/load_proof.h"
#include "pack/store/select.h"

namespace gpuready::pack {

// One plan a GPU: every library, and of each kind of container in each file one that the rules say
// this GPU loads. For the CPU's variant the libraries alone.
std::vector<LoadPlan> load_plans(const std::string& folder, const Variant& variant,
                                 const SelectMachine& machine,
                                 const std::vector<std::size_t>& gpus);

}  // namespace gpuready::pack
