// Measurements as text: the file in which a search is kept, and what programs print. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/slow/search.h"

namespace gpuready::fleet {

// One line for each pair, "ROUND NODE NODE RATE", with "-" for the rate of a pair that gave no
// answer and "wrong" for that of one with wrong values, in any unit that more of is faster; "#"
// begins a comment.
std::string write_rates(const SlowSearch& search);
// Its rounds. Errors name the line: a node that `map` does not have, a round that ends twice.
Result<std::vector<std::vector<PairRate>>> read_rates(std::string_view text, const FleetMap& map);

// Whether nccl-tests found wrong values in its results, in its JSON (version 3) or its text.
bool has_wrong_values(std::string_view output);
// The rate in a program's output: nccl-tests' average bus bandwidth, else the last number, with or
// without a unit. Wrong values, results of several runs and a number with a comma are errors.
Result<double> rate_in(std::string_view output);

}  // namespace gpuready::fleet
