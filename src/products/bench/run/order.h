// In which order base and candidate take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuready::bench {

// For each pair of runs, whether the candidate goes first. Of every four pairs two do, in random
// order: a steady drift cancels within eight runs, and no rhythm of the machine can favour a side.
std::vector<bool> candidate_first(std::size_t pairs, std::uint64_t seed);

}  // namespace gpuready::bench
