// What a journal may ask for. Root carries out what it reads there, so each action is compared with
// those that plans are made of: attributes, programs and services by name, values by their form.
#pragma once

#include "base/result.h"
#include "vm/plan.h"

namespace gpuready::vm {

// `bad_input`, and which step, where a plan holds an action that no plan of gpuready's holds.
Result<void> check_known_steps(const Plan& plan);

}  // namespace gpuready::vm
