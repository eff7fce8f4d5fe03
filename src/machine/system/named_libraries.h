// Drivers' libraries that environment variables name in place of the system's. What such a library
// answers is not a statement on the machine's driver, so a report names it and proves nothing by
// it.
#pragma once

#include <map>
#include <string>

#include "host/host.h"

namespace gpuready {

// By variable, as set. GPUREADY_HELPER is listed where this process is `gpuready` itself and the
// variable names another program; a program that uses the library may need one.
std::map<std::string, std::string> named_libraries(Host& host, bool is_gpuready);

// On a live host: an error that names the variable whose file is not there. A name without a folder
// is the loader's to find.
Result<void> check_named_libraries(Host& host);

// "GPUREADY_LIBCUDA=/opt/x/libcuda.so, GPUREADY_LIBNVML=..."
std::string named_libraries_text(const std::map<std::string, std::string>& named);

// Whether GPUREADY_TRUST_NAMED_LIBRARIES is set: results count as those of the system's driver, and
// are still marked.
bool trusts_named_libraries(Host& host);

}  // namespace gpuready
