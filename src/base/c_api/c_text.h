// Text for callers of the C interfaces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace gpuready {

// As much of `from` as fits (capacity > 0), never a part of a UTF-8 sequence; the rest is zeros.
inline void copy_text(char* to, std::size_t capacity, std::string_view from) {
  std::size_t length = std::min(from.size(), capacity - 1);
  while (length > 0 && length < from.size() &&
         (static_cast<unsigned char>(from[length]) & 0xC0) == 0x80)
    --length;
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, capacity - length);
}
template <std::size_t N>
void copy_text(char (&to)[N], std::string_view from) {
  copy_text(to, N, from);
}

}  // namespace gpuready
