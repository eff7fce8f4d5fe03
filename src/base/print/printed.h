// printf's text with a decimal point whatever locale the program has set, for libraries that other
// programs load and that are built without fmt.
#pragma once

#include <string>

namespace gpuready {

[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

}  // namespace gpuready
