// Which stack of the base is held against which of the candidate, and what names of stacks mean.
// Ids that imports make hold '=' and commas ("n_prompt=512 n_gen=0"), as lists of names do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/compare.h"

namespace gpuready::bench {

// Every stack that is in a run of either side, but for those that could be run on neither: a
// stack that one side lost must be reported. `wanted`: only these, each "ID" or "ID=ID", or
// several parted by commas. Errors: a stack that is in no run; no stack in common.
Result<StackPairs> pairs_of(const Side& base, const Side& candidate,
                            const std::vector<std::string>& wanted);

// A stack that gave no digest is compared only with itself, which gave none either.
Result<void> check_verified(const Side& base, const Side& candidate, const StackPairs& pairs);

// The parts of a list in which a name may hold commas itself: as few parts as give names that are
// all known; where that cannot be, one a comma.
std::vector<std::string> parts_of_list(std::string_view list,
                                       const std::function<bool(std::string_view)>& known);

}  // namespace gpuready::bench
