// How the fields of a document are described: once, in visit_fields(), for JSON out and in, the
// schema and docs/fields.md. A field that a struct has and its visit_fields() lacks does not
// compile.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gpuready {

template <class T>
struct Of {};  // names a type without an object of it

struct FieldStyle {
  // Written, also when it is empty, where this holds of the object, and absent elsewhere; WHEN().
  bool (*when)(const void* object) = nullptr;
  // Written also when it is empty, and required when it is read. Numbers, booleans and enumerations
  // that are not optional always are.
  bool always = false;
  bool sparse = false;         // 0, false and an enumeration's first value are left out
  int hex_digits = -1;         // "0x", then at least this many digits; -1: decimal
  bool octal = false;          // four digits, as chmod takes them
  bool thousandths = false;    // rounded to three decimals
  bool as_number = false;      // an enumeration: its value, not its name
  bool printable = false;      // texts of others: what drives a terminal is replaced
  std::string_view unit = {};  // where the key's last word does not say it
  // What the schema says besides.
  bool finite = false;  // a double that is never NaN: required where it is `always` written
  std::optional<double> least = {}, most = {};
  std::size_t least_items = 0, most_items = 0;  // of a list; most: 0 for any
  std::string_view pattern = {};
  std::span<const std::string_view> texts = {};  // all that a text can be
};

// What a type allows beyond its fields.
struct TypeStyle {
  bool one_field = false;  // exactly one of them is there
};

// What a visitor may leave out. The order of calls is that of the document.
struct FieldVisitor {
  constexpr void about(std::string_view /*name*/, std::string_view /*description*/,
                       const TypeStyle& = {}) {}
  // What a document tells beside the fields; it is not read.
  template <class Value>
  constexpr void derived(std::string_view, Value, std::string_view, const FieldStyle& = {}) {}
  // The fields of a part stand beside this type's own. A part is a member, a base (as a function
  // that returns a reference to it), or made by a function, which is not read.
  template <class Part>
  constexpr void merged(Part) {}
  // Members that no document has.
  template <class... Member>
  constexpr void hidden(Member...) {}
};

inline constexpr std::string_view kSha256Pattern = "^[0-9a-f]{64}$";

inline constexpr FieldStyle kAlways{.always = true};

// FIELDS_OF(Type) { calls of `visit` }: `T` is the type.
#define FIELDS_OF(Type)                    \
  template <class Visitor, class T = Type> \
  constexpr void visit_fields(Visitor& visit, Of<Type>)
// Key and member have one name.
#define FIELD(member, ...) visit(#member, &T::member, __VA_ARGS__)
#define WHEN(condition)                           \
  .when = [](const void* object) {                \
    const T& it = *static_cast<const T*>(object); \
    return static_cast<bool>(condition);          \
  }
// What a document tells of `it` beside the members.
#define DERIVED(key, expression, ...) \
  visit.derived(#key, [](const T& it) { return expression; }, __VA_ARGS__)

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

// A base, as a part.
template <class Base>
inline constexpr auto kBase = [](auto& object) -> auto& {
  using Kept = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(object)>>,
                                  const Base, Base>;
  return static_cast<Kept&>(object);
};

namespace value {

// What merged() adds to a document of T.
template <class Part, class T>
using PartOf = std::remove_cvref_t<std::invoke_result_t<Part, const T&>>;
template <class Part, class T>
inline constexpr bool kStored =
    std::is_lvalue_reference_v<std::invoke_result_t<Part, T&>> &&
    !std::is_const_v<std::remove_reference_t<std::invoke_result_t<Part, T&>>>;

template <class T>
struct FieldCount : FieldVisitor {
  std::size_t fields = 0;
  template <class Member>
  constexpr void operator()(std::string_view, Member, std::string_view, const FieldStyle& = {}) {
    ++fields;
  }
  template <class Part>
  constexpr void merged(Part) {
    if (kStored<Part, T>) ++fields;
  }
  template <class... Member>
  constexpr void hidden(Member...) {
    fields += sizeof...(Member);
  }
};
template <class T>
constexpr std::size_t fields_described() {
  FieldCount<T> count;
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
concept Described = requires(FieldCount<T>& count) { visit_fields(count, Of<T>{}); };

}  // namespace value
}  // namespace gpuready
