// Which names mark a secret.
#pragma once

#include <string_view>

namespace gpuready {

// An environment variable whose value must never be kept: API keys, tokens, passwords.
bool names_a_credential(std::string_view variable);
// A call, field or file whose value identifies one machine or board.
bool names_a_serial(std::string_view name);
bool names_a_uuid(std::string_view name);

}  // namespace gpuready
