// How the fields of the value types are described: once, in visit_fields(), for JSON out and in,
// the schema and docs/fields.md. A field that a struct has and its visit_fields() lacks does not
// compile.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace gpuready {

template <class T>
struct Of {};  // names a type without an object of it

struct FieldStyle {
  // Written also when it is empty, and required when it is read. Numbers, booleans and enumerations
  // that are not optional always are.
  bool always = false;
  int hex_digits = -1;         // "0x", then at least this many digits; -1: decimal
  bool octal = false;          // four digits, as chmod takes them
  bool thousandths = false;    // rounded to three decimals
  std::string_view unit = {};  // where the key's last word does not say it
};

// Inside visit_fields(): key and member have one name. `T` is the struct.
#define FIELD(member, ...) visit(#member, &T::member, __VA_ARGS__)

// The unit that the last word of a key says: "used_bytes" -> "bytes"; empty for none.
constexpr std::string_view unit_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"bytes", "bytes"},     {"bits", "bits"},       {"mhz", "MHz"},
      {"khz", "kHz"},         {"mw", "mW"},           {"celsius", "degrees Celsius"},
      {"percent", "percent"}, {"seconds", "seconds"}, {"ms", "milliseconds"},
      {"ns", "nanoseconds"},  {"mj", "mJ"},
  };
  const auto last = key.substr(key.rfind('_') + 1);  // npos + 1 is 0
  for (const auto& [suffix, unit] : kUnits)
    if (last == suffix) return unit;
  return {};
}

namespace value {

struct FieldCount {
  std::size_t fields = 0;
  constexpr void about(std::string_view, std::string_view) {}
  template <class Member>
  constexpr void operator()(std::string_view, Member, std::string_view, const FieldStyle& = {}) {
    ++fields;
  }
  template <class Value>
  constexpr void derived(std::string_view, Value, std::string_view, const FieldStyle& = {}) {}
};
template <class T>
constexpr std::size_t fields_described() {
  FieldCount count;
  visit_fields(count, Of<T>{});
  return count.fields;
}

// An aggregate has N members when N values initialise it and N + 1 do not.
struct Anything {
  template <class T>
  operator T() const;
};
template <std::size_t>
using AnythingAt = Anything;
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{AnythingAt<I>{}...}; };
}
template <class T>
constexpr bool every_field_is_described() {
  constexpr std::size_t kFields = fields_described<T>();
  return takes<T>(std::make_index_sequence<kFields>{}) &&
         !takes<T>(std::make_index_sequence<kFields + 1>{});
}

template <class T>
concept Described = requires(FieldCount& count) { visit_fields(count, Of<T>{}); };

}  // namespace value
}  // namespace gpuready
