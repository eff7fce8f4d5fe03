// What nobody but root and we ourselves can change.
#pragma once

#include <string>

#include "base/result.h"

namespace gpuready {

// Follows `path` as open(2) does, links included. An error (no_permission) names the first folder,
// link or file on the way that another user owns or may write, so that he could put something else
// there. In a folder with the sticky bit, as /tmp, only what is in it has to be ours. For another
// user than root his own group counts as himself.
Result<void> check_only_ours(const std::string& path);

}  // namespace gpuready
