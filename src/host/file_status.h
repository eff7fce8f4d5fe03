// What stat(2) tells, as a value.
#pragma once

#include <sys/stat.h>

#include "host/host.h"

namespace gpuready {

FileStatus to_file_status(const struct stat& facts);

}  // namespace gpuready
