// The lines that tell why a guest has no GPU, by what they prove.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "doctor/cause.h"

namespace gpuready::vm {

// In the order in which a guest goes through them: a fault explains what fails after it.
enum class Stage { host, boot, device, module, firmware, start, node, library, program };
std::string_view to_string(Stage stage);

// What shows that it kept no GPU from being ready, and makes it a warning; for all a check of the
// GPU that passes later, and for what keeps modules from loading that the driver's is loaded later.
enum class Proof {
  check_later,
  check,          // one that passed, before or after it
  program_later,  // any program that runs later
};

enum class Role {
  cause,
  consequence,  // something does not work, and not why: folded under a cause of its stage or before
};

struct ConsoleCause : doctor::Cause {
  Stage stage;
  // '*' stands for anything; the parts between are in the line in this order.
  doctor::Ids patterns = {};
  Role role = Role::cause;
  Proof refuted_by = Proof::check_later;
};

// The first that fits a line counts.
std::span<const ConsoleCause> console_causes();
const ConsoleCause& console_cause(std::string_view id);
bool fits(std::string_view line, std::string_view pattern);

}  // namespace gpuready::vm
