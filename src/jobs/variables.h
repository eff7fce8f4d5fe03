// What of our environment a program of others is given (Job::keeps).
#pragma once

#include <string_view>

namespace gpuready {

// What any program needs to run: where programs, libraries, compilers, homes and temporary files
// are, and the language. No secret of the caller's, and nothing that loads code into the program.
bool is_basic_variable(std::string_view name);

}  // namespace gpuready
