// Which file a program's name stands for, and whether we may run it.
#pragma once

#include <string>

#include "base/result.h"

namespace gpuready {

// A name with a slash is a path, which its caller answers for: the user who gave it, or we, who
// looked for it by this rule. A name without one is looked up in PATH as execvp(3) does. As root
// that passes over all that another user could have put there (jobs/trusted_path.h); where nothing
// else is found, the error (no_permission) names it.
Result<std::string> find_program(const std::string& name);

// `path`, a value of PATH, without the folders in which another user could put a program. For
// another user than root that is all of it.
std::string only_our_folders(const std::string& path);

}  // namespace gpuready
