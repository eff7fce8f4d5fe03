// Characters of text, and those that must not reach a terminal or a reader as they are.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuready {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: what is there is not valid UTF-8
};
Utf8Character read_utf8(std::string_view text, std::size_t at);  // at < text.size()

// Invisible, turning the direction of what follows, or controlling a terminal: such a character
// could make a line read as another. ASCII's control characters but DEL are not among them.
bool is_deceptive(char32_t code);

}  // namespace gpuready
