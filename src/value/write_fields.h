// Writes any type that has visit_fields() as JSON; see json.h for what is left out.
#pragma once

#include <cmath>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "value/field.h"
#include "value/kinds.h"
#include "value/names.h"

namespace gpuready {
namespace value {

// Deeper nesting than a diagnosis ever makes: keeps a document within what every JSON reader takes.
inline constexpr int kMaxDepth = 8;

inline std::string octal(std::uint32_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3)
    text += static_cast<char>('0' + ((mode >> shift) & 7u));
  return text;
}

inline Json write(double number, const FieldStyle& style) {
  if (!std::isfinite(number)) return {};
  return style.thousandths ? std::round(number * 1000) / 1000 : number;
}

template <class T>
Json write_fields(const T& object, int depth = 0);

// Null: nothing to write.
template <class T>
Json write(const T& value, const FieldStyle& style, int depth) {
  if constexpr (kOptional<T> || kPointer<T>) {
    return value ? write(*value, style, depth) : Json();
  } else if constexpr (std::is_enum_v<T>) {
    if (style.as_number) return static_cast<int>(value);
    return name_of(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::integral<T>) {
    if (style.hex_digits >= 0) return format_hex(value, style.hex_digits);
    if (style.octal) return octal(static_cast<std::uint32_t>(value));
    return value;
  } else if constexpr (std::floating_point<T>) {
    return write(value, style);
  } else if constexpr (kText<T>) {
    if (style.printable) return gpuready::printable(value);
    return value;
  } else if constexpr (std::is_same_v<T, PciAddress>) {
    return value.text();
  } else if constexpr (kList<T>) {
    Json list = Json::array();
    for (const auto& item : value)
      if (Json written = write(item, style, depth); !written.is_null())
        list.push_back(std::move(written));
    return list;
  } else if constexpr (kMap<T>) {
    Json object = Json::object();
    // Keys of a map are different: object[key] would look for each among those before it.
    auto& members = object.get_ref<Json::object_t&>();
    const auto append = [&](std::string key, Json member) {
      members.Json::object_t::Container::emplace_back(std::move(key), std::move(member));
    };
    for (const auto& [key, item] : value) {
      Json written = write(item, style, depth);
      if (written.is_null()) continue;
      if constexpr (std::integral<std::remove_cvref_t<decltype(key)>>)
        append(std::to_string(key), std::move(written));
      else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(key)>, PciAddress>)
        append(key.text(), std::move(written));
      else
        append(key, std::move(written));
    }
    return object;
  } else {
    return write_fields(value, depth + 1);
  }
}

// A text that is set but empty tells something where it is optional: a variable that hides all.
template <class T>
bool says_nothing(const Json& written) {
  if (written.is_null()) return true;
  if constexpr (kOptional<T> || kPointer<T>) return false;
  if constexpr (kText<T>) return written == "";
  return (written.is_array() || written.is_object()) && written.empty();
}

template <class T>
void write_fields_into(Json& doc, const T& object, int depth);

template <class T>
struct Writer : FieldVisitor {
  const T& object;
  Json& doc;
  int depth;

  Writer(const T& from, Json& to, int at_depth) : object(from), doc(to), depth(at_depth) {}
  template <class Member>
  void operator()(const char* key, Member T::* member, std::string_view,
                  const FieldStyle& style = {}) {
    if constexpr (std::is_same_v<Member, std::vector<T>>)
      if (depth >= kMaxDepth) return;
    put(key, object.*member, style);
  }
  template <class Value>
  void derived(const char* key, Value value, std::string_view, const FieldStyle& style = {}) {
    put(key, value(object), style);
  }
  template <class Part>
  void merged(Part part) {
    write_fields_into(doc, std::invoke(part, object), depth);
  }

 private:
  template <class Value>
  void put(const char* key, const Value& value, const FieldStyle& style) {
    if (style.when && !style.when(&object)) return;
    if constexpr (Scalar<Value>)
      if (style.sparse && value == Value{}) return;
    Json written = write(value, style, depth);
    if (written.is_null()) return;
    if (!style.always && !style.when && says_nothing<Value>(written)) return;
    doc[key] = std::move(written);
  }
};

template <class T>
void write_fields_into(Json& doc, const T& object, int depth) {
  static_assert(every_field_is_described<T>(), "visit_fields() lacks a field of this type");
  Writer<T> writer(object, doc, depth);
  visit_fields(writer, Of<T>{});
}

template <class T>
Json write_fields(const T& object, int depth) {
  Json doc = Json::object();
  write_fields_into(doc, object, depth);
  return doc;
}

}  // namespace value
}  // namespace gpuready
