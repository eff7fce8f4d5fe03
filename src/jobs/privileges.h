// What a child of root gives up before it loads a library that somebody else made.
#pragma once

#include "base/result.h"

namespace gpuready {

// Becomes the user and group nobody, without supplementary groups, unable to get rights again. Of
// root's rights one stays: to read any file, for libraries that lie in root's own folder. Does
// nothing for other users. Call it before there is a second thread.
Result<void> drop_privileges();

// Lets that right outlast execve(2), for a program that lies in root's own folder. After
// drop_privileges(); does nothing where the right is not there.
Result<void> keep_reading_as_another_program();

}  // namespace gpuready
