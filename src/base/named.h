// The names of an enumeration's values, as documents write them: once each, in kNames.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};
template <class Enum>
inline constexpr int kNames = 0;  // specialised beside the enumeration, or its fields

template <class Enum, class... Text>
constexpr auto names_in_order(Text... names) {
  int next = 0;
  return std::array{Named<Enum>{static_cast<Enum>(next++), names}...};
}
// In namespace gpuready, of an enumeration whose values count from 0 on: NAMES_OF(Enum, "a", "b");
#define NAMES_OF(Enum, ...) \
  template <>               \
  inline constexpr auto kNames<Enum> = names_in_order<Enum>(__VA_ARGS__)

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& entry : kNames<Enum>)
    if (entry.value == value) return entry.name;
  return "unknown";
}
// The same for people: "not tested".
template <class Enum>
std::string words_of(Enum value) {
  std::string text(name_of(value));
  for (char& c : text)
    if (c == '_') c = ' ';
  return text;
}
template <class Enum>
constexpr std::optional<Enum> named(std::string_view name) {
  for (const auto& entry : kNames<Enum>)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}

}  // namespace gpuready
