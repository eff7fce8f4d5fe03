// Words, numbers and variables of PTX text.
#pragma once

#include <algorithm>
#include <charconv>

#include "lanes.h"

namespace ptx {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

inline std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

inline std::vector<std::string_view> split(std::string_view s, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = s.find(at);
    parts.push_back(trim(s.substr(0, end)));
    if (end == s.npos) return parts;
    s.remove_prefix(end + 1);
  }
}

template <class T>
T number(std::string_view s, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (error != std::errc{} || end != s.data() + s.size())
    throw Fault("not a number: " + std::string(s));
  return value;
}

// The bits of "5", "-1", "0x7f", "0f3F800000" and "0d3FF0000000000000".
inline u64 immediate(std::string_view s) {
  if (s.starts_with("0f") || s.starts_with("0F") || s.starts_with("0d") || s.starts_with("0x"))
    return number<u64>(s.substr(2), 16);
  if (s.starts_with("-")) return static_cast<u64>(number<i64>(s));
  return number<u64>(s);
}

// "name[12]" or "name[]".
inline std::pair<std::string_view, u32> sized(std::string_view s) {
  const auto open = s.find('[');
  if (open == s.npos) return {s, 1};
  const auto size = s.substr(open + 1, s.find(']') - open - 1);
  return {s.substr(0, open), size.empty() ? 0 : number<u32>(size)};
}

// "0x1f".
inline std::string hex(u64 value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

struct Variable {  // of shared memory
  u32 bytes = 0, align = 1;
  bool dynamic = false;
};
using Variables = std::map<std::string_view, Variable>;

// ".shared .align 16 .b8 name[12]"; the name, and what it is.
inline std::pair<std::string_view, Variable> variable(std::string_view s) {
  Variable v;
  std::string_view name;
  u32 element = 1;
  auto words = split(s, ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (auto w : split(words[i], '\t')) {
      if (w == ".extern") v.dynamic = true;
      if (w == ".align") v.align = number<u32>(words[++i]);
      if (w.starts_with(".b") || w.starts_with(".u") || w.starts_with(".f"))
        element = bytes_of(w.substr(1));
      if (!w.empty() && w.front() != '.') {
        const auto [n, count] = sized(w);
        name = n;
        v.bytes = count * element;
      }
    }
  }
  v.align = std::max(v.align, element);
  return {name, v};
}

}  // namespace ptx
