// What a child of root gives up before it loads a library that somebody else made.
#pragma once

#include "base/result.h"

namespace gpuready {

// Becomes the user and group `nobody`, without supplementary groups and capabilities, unable to get
// rights again. What lies in a folder that only root may enter is reached through the current
// folder. Does nothing for other users. Call it before there is a second thread.
Result<void> drop_privileges();

}  // namespace gpuready
