// The start of a stack, by the names of PyC's suite.
#pragma once

#include <optional>

#include "base/json.h"

namespace gpuready::bench {

// In ms. `setup`: from the inputs to a stack that is ready to run; `compile`: the part of it that
// compiles; `first_step`: the first iteration; `p50`: of the iterations in the steady state. Their
// sum, and what compiling costs (the compilation, and what the first iteration takes longer than
// others), are absent where a part of them is. In adapters/gpuready_bench.py, too.
Json startup_json(std::optional<double> setup, std::optional<double> compile,
                  std::optional<double> first_step, std::optional<double> p50);

}  // namespace gpuready::bench
