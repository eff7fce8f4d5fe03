// Schemas and tables of fields, made from visit_fields(), and the check that the files that hold
// them are current. GPUREADY_UPDATE_EXPECTED=1 writes them anew.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"
#include "value/field.h"
#include "value/kinds.h"
#include "value/names.h"

namespace gpuready::value {

// ---- one field
inline constexpr const char* kPciPattern = "^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$";

inline std::string hex_pattern(int digits, std::size_t bytes) {
  if (digits == 0) return "^0x[0-9a-f]+$";
  const bool exact = static_cast<std::size_t>(digits) == 2 * bytes;
  return "^0x[0-9a-f]{" + std::to_string(digits) + (exact ? "}$" : ",}$");
}

struct Kind {
  Json schema;
  std::string words;  // for people
};

template <class T>
std::string name_of_type();

template <class T>
Kind kind_of(const FieldStyle& style) {
  if constexpr (kOptional<T>) {
    return kind_of<typename T::value_type>(style);
  } else if constexpr (std::is_enum_v<T>) {
    Kind kind{{{"enum", Json::array()}}, ""};
    for (const auto& entry : kNames<T>) {
      kind.schema["enum"].push_back(entry.name);
      kind.words += (kind.words.empty() ? "`" : ", `") + std::string(entry.name) + "`";
    }
    return kind;
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{{"type", "boolean"}}, "true or false"};
  } else if constexpr (std::integral<T>) {
    if (style.octal) return {{{"type", "string"}, {"pattern", "^[0-7]{4}$"}}, "octal text"};
    if (style.hex_digits >= 0)
      return {{{"type", "string"}, {"pattern", hex_pattern(style.hex_digits, sizeof(T))}},
              "hexadecimal text"};
    Kind kind{{{"type", "integer"}}, "whole number"};
    if (std::is_unsigned_v<T>) kind.schema["minimum"] = 0;
    return kind;
  } else if constexpr (std::floating_point<T>) {
    return {{{"type", "number"}}, "number"};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{{"type", "string"}}, "text"};
  } else if constexpr (std::is_same_v<T, PciAddress>) {
    return {{{"type", "string"}, {"pattern", kPciPattern}}, "PCI address"};
  } else if constexpr (kList<T>) {
    const Kind item = kind_of<typename T::value_type>(style);
    return {{{"type", "array"}, {"items", item.schema}}, "list of " + item.words};
  } else if constexpr (kMap<T>) {
    const Kind item = kind_of<typename T::mapped_type>(style);
    return {{{"type", "object"}, {"additionalProperties", item.schema}}, "object of " + item.words};
  } else {
    const std::string name = name_of_type<T>();
    return {{{"$ref", "#/$defs/" + name}}, "[" + name + "](#" + name + ")"};
  }
}

// ---- one type
struct Name {
  std::string_view name, description;
  void about(std::string_view named, std::string_view described) {
    name = named;
    description = described;
  }
  template <class Member>
  void operator()(std::string_view, Member, std::string_view, const FieldStyle& = {}) {}
  template <class Value>
  void derived(std::string_view, Value, std::string_view, const FieldStyle& = {}) {}
};
template <class T>
Name named_type() {
  Name name;
  visit_fields(name, Of<T>{});
  return name;
}
template <class T>
std::string name_of_type() {
  return std::string(named_type<T>().name);
}

inline std::string_view unit_in(std::string_view key, const FieldStyle& style) {
  return style.unit.empty() ? unit_of(key) : style.unit;
}

// Walks from a type to all that it holds, each once, in the order in which they are met.
template <class Visit>
class Walk {
 public:
  explicit Walk(Visit visit) : visit_(std::move(visit)) {}

  template <class T>
  void type() {
    if constexpr (kOptional<T> || kList<T>) {
      type<typename T::value_type>();
    } else if constexpr (Described<T>) {
      if (!seen_.insert(name_of_type<T>()).second) return;
      visit_.template operator()<T>();
      Members<T> members{*this};
      visit_fields(members, Of<T>{});
    }
  }

 private:
  template <class T>
  struct Members {
    Walk& walk;
    void about(std::string_view, std::string_view) {}
    template <class Member>
    void operator()(std::string_view, Member T::*, std::string_view, const FieldStyle& = {}) {
      walk.template type<Member>();
    }
    template <class Value>
    void derived(std::string_view, Value, std::string_view, const FieldStyle& = {}) {}
  };

  Visit visit_;
  std::set<std::string> seen_;
};

template <class T>
struct Properties {
  Json required = Json::array(), properties = Json::object();

  void about(std::string_view, std::string_view) {}
  template <class Member>
  void operator()(std::string_view key, Member T::*, std::string_view description,
                  const FieldStyle& style = {}) {
    add<Member>(key, description, style);
    if ((style.always && !std::floating_point<Member>) || AlwaysThere<Member>)
      required.push_back(key);
  }
  template <class Value>
  void derived(std::string_view key, Value, std::string_view description,
               const FieldStyle& style = {}) {
    add<std::invoke_result_t<Value, const T&>>(key, description, style);
  }
  template <class Member>
  void add(std::string_view key, std::string_view description, const FieldStyle& style) {
    std::string text(description);
    if (const auto unit = unit_in(key, style); !unit.empty())
      text += " In " + std::string(unit) + ".";
    Json property = {{"description", text}};
    property.update(kind_of<Member>(style).schema);
    properties[std::string(key)] = std::move(property);
  }
};

template <class T>
struct Rows {
  std::string text = {};
  void about(std::string_view, std::string_view) {}
  template <class Member>
  void operator()(std::string_view key, Member T::*, std::string_view description,
                  const FieldStyle& style = {}) {
    row<Member>(key, description, style);
  }
  template <class Value>
  void derived(std::string_view key, Value, std::string_view description,
               const FieldStyle& style = {}) {
    row<std::invoke_result_t<Value, const T&>>(key, description, style);
  }
  template <class Member>
  void row(std::string_view key, std::string_view description, const FieldStyle& style) {
    text += "| `" + std::string(key) + "` | " + kind_of<Member>(style).words + " | " +
            std::string(unit_in(key, style)) + " | " + std::string(description) + " |\n";
  }
};

inline std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Compares, or writes anew.
inline void expect_current(const std::string& file, const std::string& made) {
  const std::string path = std::string(GPUREADY_SOURCE_DIR) + "/" + file;
  if (std::getenv("GPUREADY_UPDATE_EXPECTED") != nullptr) std::ofstream(path) << made;
  EXPECT_TRUE(slurp(path) == made)
      << file << " is not what visit_fields() makes. Run this test with "
      << "GPUREADY_UPDATE_EXPECTED=1, read the difference, and commit "
      << "it.";
}

// "$defs" of a schema: `each_type` calls what it is given once a type.
template <class EachType>
Json schema_definitions(EachType each_type) {
  Json definitions = Json::object();
  each_type([&]<class T>() {
    const Name type = named_type<T>();
    Properties<T> fields;
    visit_fields(fields, Of<T>{});
    Json& definition = definitions[std::string(type.name)];
    definition = {{"description", type.description}, {"type", "object"}};
    if (!fields.required.empty()) definition["required"] = fields.required;
    definition["properties"] = fields.properties;
  });
  return definitions;
}

// A table of fields for each type.
template <class EachType>
std::string field_tables(EachType each_type) {
  std::string text;
  each_type([&]<class T>() {
    const Name type = named_type<T>();
    Rows<T> rows;
    visit_fields(rows, Of<T>{});
    text += "\n## " + std::string(type.name) + "\n\n" + std::string(type.description) +
            "\n\n| key | type | unit | what it is |\n|---|---|---|---|\n" + rows.text;
  });
  return text;
}

// The "$defs" of a schema file are those of the types.
inline void expect_current_definitions(const std::string& file, const Json& definitions) {
  auto schema = parse_json(slurp(std::string(GPUREADY_SOURCE_DIR) + "/" + file), file);
  ASSERT_TRUE(schema) << schema.error().message;
  (*schema)["$defs"] = definitions;
  expect_current(file, dump(*schema));
}

}  // namespace gpuready::value
