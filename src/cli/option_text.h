// What help and the man pages say of one option.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace gpuready::cli {

bool takes_value(const Option& option);
// "FILE", "quick|standard|thorough", "N"; empty for a flag.
std::string value_name(const Option& option);
// "from 1 s to 3600 s", of an option with a range.
std::string range_text(const Option& option);
// Its help, with its choices, its range and what it goes with.
std::string explanation(const Option& option);

}  // namespace gpuready::cli
