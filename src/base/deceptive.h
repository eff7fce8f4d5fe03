// Characters that must not reach a terminal or a reader as they are.
#pragma once

namespace gpuready {

// Invisible, turning the direction of what follows, or controlling a terminal: such a character
// could make a line read as another. ASCII's control characters but DEL are not among them.
bool is_deceptive(char32_t code);

}  // namespace gpuready
