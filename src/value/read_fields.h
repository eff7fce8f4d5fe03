// Reads any type that has visit_fields() from JSON. An area that describes types of its own
// includes this in one source file and instantiates read_document() there.
#pragma once

#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "value/field.h"
#include "value/kinds.h"
#include "value/names.h"

namespace gpuready {
namespace value {

// What is wrong, with the path to it; empty: nothing is.
using Problem = std::string;

template <class T>
Problem read_fields(const Json& doc, T& object);
template <class T>
Problem read_fields_of(const Json& doc, T& object);

inline Problem at(std::string_view key, Problem problem) {
  if (problem.empty()) return problem;
  const bool deeper = !problem.starts_with(' ') && !problem.starts_with('[');
  return std::string(key) + (deeper ? "." : "") + problem;
}

template <class T>
Problem read_integer(const Json& doc, T& value, const FieldStyle& style) {
  std::optional<std::uint64_t> number;
  if (style.hex_digits >= 0 || style.octal) {
    if (!doc.is_string()) return " is not a text";
    const auto& text = doc.get_ref<const std::string&>();
    number = style.octal ? parse_uint(text, 8) : parse_hex(text);
    if (!number) return style.octal ? " is not an octal number" : " is not a hexadecimal number";
  } else if (doc.is_number_unsigned()) {
    number = doc.get<std::uint64_t>();
  } else if (!doc.is_number_integer()) {
    return " is not a whole number";
  }
  const bool fits = number ? std::in_range<T>(*number) : std::in_range<T>(doc.get<std::int64_t>());
  if (!fits) return " is out of range";
  value = number ? static_cast<T>(*number) : static_cast<T>(doc.get<std::int64_t>());
  return {};
}

template <class T>
Problem read(const Json& doc, T& value, const FieldStyle& style) {
  if constexpr (kOptional<T>) {
    return read(doc, value.emplace(), style);
  } else if constexpr (std::is_enum_v<T>) {
    if (style.as_number) {
      for (const auto& entry : kNames<T>)
        if (doc == static_cast<int>(entry.value)) return value = entry.value, Problem();
      return " is not one of its numbers";
    }
    const auto found = doc.is_string() ? named<T>(doc.get_ref<const std::string&>()) : std::nullopt;
    if (!found) return " is not one of its names";
    value = *found;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!doc.is_boolean()) return " is not true or false";
    value = doc.get<bool>();
  } else if constexpr (std::integral<T>) {
    return read_integer(doc, value, style);
  } else if constexpr (std::floating_point<T>) {
    if (!doc.is_number() || !std::isfinite(doc.get<double>())) return " is not a number";
    value = doc.get<double>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!doc.is_string()) return " is not a text";
    value = doc.get_ref<const std::string&>();
  } else if constexpr (std::is_same_v<T, PciAddress>) {
    const auto found =
        doc.is_string() ? parse_pci_address(doc.get_ref<const std::string&>()) : std::nullopt;
    if (!found) return " is not a PCI address";
    value = *found;
  } else if constexpr (kList<T>) {
    if (!doc.is_array()) return " is not a list";
    value.resize(doc.size());
    for (std::size_t i = 0; i < doc.size(); ++i)
      if (auto problem = read(doc[i], value[i], style); !problem.empty())
        return at("[" + std::to_string(i) + "]", std::move(problem));
  } else if constexpr (kMap<T>) {
    if (!doc.is_object()) return " is not an object";
    for (const auto& [key, item] : doc.items()) {
      typename T::mapped_type member{};
      if (auto problem = read(item, member, style); !problem.empty()) return at(key, problem);
      if constexpr (std::integral<typename T::key_type>) {
        const auto number = parse_int(key);
        if (!number || !std::in_range<typename T::key_type>(*number))
          return key + " is not a number";
        value.emplace(static_cast<typename T::key_type>(*number), std::move(member));
      } else {
        value.emplace(key, std::move(member));
      }
    }
  } else {
    return read_fields(doc, value);
  }
  return {};
}

template <class T>
struct Reader : FieldVisitor {
  const Json& doc;
  T& object;
  Problem problem = {};

  Reader(const Json& from, T& to) : doc(from), object(to) {}
  template <class Member>
  void operator()(const char* key, Member T::* member, std::string_view,
                  const FieldStyle& style = {}) {
    if (!problem.empty()) return;
    const Json& found = gpuready::member(doc, key);
    if (!found.is_null())
      problem = at(key, read(found, object.*member, style));
    else if (style.always || (AlwaysThere<Member> && !style.sparse && !style.when))
      problem = std::string(key) + " is missing";
  }
  template <class Part>
  void merged(Part part) {
    if constexpr (kStored<Part, T>)
      if (problem.empty()) problem = read_fields_of(doc, std::invoke(part, object));
  }
};

template <class T>
Problem read_fields_of(const Json& doc, T& object) {
  Reader<T> reader(doc, object);
  visit_fields(reader, Of<T>{});
  return std::move(reader.problem);
}

template <class T>
Problem read_fields(const Json& doc, T& object) {
  if (!doc.is_object()) return " is not an object";
  return read_fields_of(doc, object);
}

template <class T>
Result<T> read_document(const Json& doc, std::string_view name) {
  T object;
  const auto problem = read_fields(doc, object);
  if (problem.empty()) return object;
  return fail(ErrorKind::bad_input,
              std::string(name) + (problem.starts_with(' ') ? "" : ": ") + printable(problem));
}

}  // namespace value
}  // namespace gpuready
