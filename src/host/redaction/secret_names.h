// Which names mark a secret.
#pragma once

#include <string_view>

namespace gpuready {

// An environment variable whose value must never be kept: API keys, tokens, passwords.
bool names_a_credential(std::string_view variable);
// A call or field whose value names a program that somebody runs.
bool names_a_process(std::string_view name);
// NVIDIA's own, whose name a rule reads and which says nothing of the machine.
bool is_driver_process(std::string_view process);
// A call, field or file whose value identifies one machine or board.
bool names_a_serial(std::string_view name);
// One that names a product: a GPU, a board.
bool names_a_product(std::string_view name);
bool names_a_uuid(std::string_view name);

}  // namespace gpuready
