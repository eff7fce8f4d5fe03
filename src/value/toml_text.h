#pragma once

#include <string_view>

#include "base/result.h"

namespace gpuready {

// Refuses what toml++ (3.3) takes for impossible: in a table's header a key that begins with no
// character of a key ("[[[a]]]"), and outside strings and comments any character that is not ASCII.
// Its assertions end the program there, and without them its behaviour is undefined. TOML allows
// neither.
Result<void> check_toml_text(std::string_view text, std::string_view name);

}  // namespace gpuready
