// Schemas and tables of fields, made from visit_fields(), and the check that the files that hold
// them are current. GPUREADY_UPDATE_EXPECTED=1 writes them anew.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"
#include "value/document.h"
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
  } else if constexpr (kPointer<T>) {
    return kind_of<std::remove_cvref_t<decltype(*T())>>(style);
  } else if constexpr (std::is_enum_v<T>) {
    Kind kind{{{"enum", Json::array()}}, ""};
    for (const auto& entry : kNames<T>) {
      const Json value = style.as_number ? Json(static_cast<int>(entry.value)) : Json(entry.name);
      kind.schema["enum"].push_back(value);
      kind.words += (kind.words.empty() ? "`" : ", `") +
                    (value.is_string() ? value.get<std::string>() : value.dump()) + "`";
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
    if (style.least) kind.schema["minimum"] = static_cast<std::int64_t>(*style.least);
    if (style.most) kind.schema["maximum"] = static_cast<std::int64_t>(*style.most);
    return kind;
  } else if constexpr (std::floating_point<T>) {
    Kind kind{{{"type", "number"}}, "number"};
    const auto limit = [&](const char* key, const std::optional<double>& number) {
      if (number) kind.schema[key] = static_cast<std::int64_t>(*number);
    };
    limit("minimum", style.least);
    limit("maximum", style.most);
    return kind;
  } else if constexpr (kText<T>) {
    Kind kind{{{"type", "string"}}, "text"};
    if (!style.texts.empty()) kind.schema = {{"enum", style.texts}};
    if (!style.pattern.empty()) kind.schema["pattern"] = style.pattern;
    return kind;
  } else if constexpr (std::is_same_v<T, PciAddress>) {
    return {{{"type", "string"}, {"pattern", kPciPattern}}, "PCI address"};
  } else if constexpr (kList<T>) {
    const Kind item = kind_of<typename T::value_type>(style);
    Kind kind{{{"type", "array"}, {"items", item.schema}}, "list of " + item.words};
    if (style.least_items > 0) kind.schema["minItems"] = style.least_items;
    if (style.most_items > 0) kind.schema["maxItems"] = style.most_items;
    return kind;
  } else if constexpr (kMap<T>) {
    const Kind item = kind_of<typename T::mapped_type>(style);
    return {{{"type", "object"}, {"additionalProperties", item.schema}}, "object of " + item.words};
  } else {
    const std::string name = name_of_type<T>();
    return {{{"$ref", "#/$defs/" + name}}, "[" + name + "](#" + name + ")"};
  }
}

// ---- one type
struct Name : FieldVisitor {
  std::string_view name, description;
  TypeStyle style;
  void about(std::string_view named, std::string_view described, const TypeStyle& styled = {}) {
    name = named;
    description = described;
    style = styled;
  }
  template <class Member>
  void operator()(std::string_view, Member, std::string_view, const FieldStyle& = {}) {}
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
    } else if constexpr (kMap<T>) {
      type<typename T::mapped_type>();
    } else if constexpr (kPointer<T>) {
      type<std::remove_cvref_t<decltype(*T())>>();
    } else if constexpr (Described<T>) {
      if (!seen_.insert(name_of_type<T>()).second) return;
      visit_.template operator()<T>();
      members<T>();
    }
  }
  // All that a type holds, without the type itself.
  template <class T>
  void members() {
    Members<T> members(*this);
    visit_fields(members, Of<T>{});
  }

 private:
  template <class T>
  struct Members : FieldVisitor {
    Walk& walk;
    explicit Members(Walk& by) : walk(by) {}
    template <class Member>
    void operator()(std::string_view, Member T::*, std::string_view, const FieldStyle& = {}) {
      walk.template type<Member>();
    }
    template <class Value>
    void derived(std::string_view, Value, std::string_view, const FieldStyle& = {}) {
      walk.template type<std::remove_cvref_t<std::invoke_result_t<Value, const T&>>>();
    }
    template <class Part>
    void merged(Part) {
      walk.template members<PartOf<Part, T>>();
    }
  };

  Visit visit_;
  std::set<std::string> seen_;
};

// Whether every document has it.
template <class Member>
bool is_required(const FieldStyle& style) {
  if (style.sparse || style.when) return false;
  if (std::floating_point<Member>) return style.finite;
  return style.always;
}

struct PropertyLists {
  Json required = Json::array(), properties = Json::object();
};

template <class T>
struct Properties : FieldVisitor {
  PropertyLists& to;
  explicit Properties(PropertyLists& lists) : to(lists) {}

  template <class Member>
  void operator()(std::string_view key, Member T::*, std::string_view description,
                  const FieldStyle& style = {}) {
    add<Member>(
        key, description, style,
        is_required<Member>(style) || (AlwaysThere<Member> && !style.sparse && !style.when));
  }
  template <class Value>
  void derived(std::string_view key, Value, std::string_view description,
               const FieldStyle& style = {}) {
    using Member = std::remove_cvref_t<std::invoke_result_t<Value, const T&>>;
    add<Member>(key, description, style, !kOptional<Member> && is_required<Member>(style));
  }
  template <class Part>
  void merged(Part) {
    Properties<PartOf<Part, T>> inner(to);
    visit_fields(inner, Of<PartOf<Part, T>>{});
  }

 private:
  template <class Member>
  void add(std::string_view key, std::string_view description, const FieldStyle& style,
           bool required) {
    if (required) to.required.push_back(key);
    std::string text(description);
    if (const auto unit = unit_in(key, style); !unit.empty())
      text += " In " + std::string(unit) + ".";
    Json property = {{"description", text}};
    property.update(kind_of<Member>(style).schema);
    to.properties[std::string(key)] = std::move(property);
  }
};

template <class T>
PropertyLists properties_of() {
  PropertyLists lists;
  Properties<T> properties(lists);
  visit_fields(properties, Of<T>{});
  return lists;
}

template <class T>
struct Rows : FieldVisitor {
  std::string& text;
  explicit Rows(std::string& to) : text(to) {}
  template <class Member>
  void operator()(std::string_view key, Member T::*, std::string_view description,
                  const FieldStyle& style = {}) {
    row<Member>(key, description, style);
  }
  template <class Value>
  void derived(std::string_view key, Value, std::string_view description,
               const FieldStyle& style = {}) {
    row<std::remove_cvref_t<std::invoke_result_t<Value, const T&>>>(key, description, style);
  }
  template <class Part>
  void merged(Part) {
    Rows<PartOf<Part, T>> inner(text);
    visit_fields(inner, Of<PartOf<Part, T>>{});
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

// One object of a schema, whose description stands before or is `description`.
inline Json object_schema(std::string_view description, const PropertyLists& lists, bool open) {
  Json object = {{"description", description}, {"type", "object"}};
  if (open) object["additionalProperties"] = true;
  if (!lists.required.empty()) object["required"] = lists.required;
  object["properties"] = lists.properties;
  return object;
}

// "$defs" of a schema: `each_type` calls what it is given once a type.
template <class EachType>
Json schema_definitions(EachType each_type, bool open = false) {
  Json definitions = Json::object();
  each_type([&]<class T>() {
    const Name type = named_type<T>();
    Json& definition = definitions[std::string(type.name)];
    definition = object_schema(type.description, properties_of<T>(), open);
    if (type.style.one_field) {
      definition["additionalProperties"] = false;
      definition["minProperties"] = definition["maxProperties"] = 1;
    }
  });
  return definitions;
}

// The exit codes that a text explains, and that of an interruption: "0: done; 2: not."
inline Json codes_in(std::string_view text) {
  Json codes = Json::array();
  for (const auto& entry : kNames<Exit>) {
    const auto code = std::to_string(static_cast<int>(entry.value)) + ": ";
    if (text.starts_with(code) || text.find("; " + code) != text.npos)
      codes.push_back(static_cast<int>(entry.value));
  }
  if (!codes.empty()) codes.push_back(static_cast<int>(Exit::interrupted));
  return codes;
}

// The schema of the documents of a type with a kForm.
template <class T>
Json schema_of() {
  constexpr const DocumentForm& form = kForm<T>;
  const bool envelope = !form.exit_codes.empty();
  PropertyLists lists;
  lists.required = {"schema", "schema_version"};
  lists.properties = {
      {"schema", {{"description", "Names this form of document."}, {"const", form.schema()}}},
      {"schema_version",
       {{"description",
         "Raised when a key changes its meaning or goes away; new keys do not raise it."},
        {"const", kSchemaVersion}}}};
  if (envelope) {
    Properties<Envelope> around(lists);
    visit_fields(around, Of<Envelope>{});
    Json& code = lists.properties["exit_code"];
    code["description"] = form.exit_codes;
    if (!form.required.empty()) lists.required.push_back(form.required);
    if (const Json codes = codes_in(form.exit_codes); !codes.empty()) code["enum"] = codes;
  }
  if constexpr (*form.key != 0) {
    lists.required.push_back(form.key);
    Json property = {{"description", form.key_description}};
    property.update(kind_of<T>({}).schema);
    lists.properties[form.key] = std::move(property);
  } else {
    Properties<T> own(lists);
    visit_fields(own, Of<T>{});
  }
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", form.schema()},
                 {"title", form.title}};
  schema.update(object_schema(form.description, lists, form.input));
  const Json definitions = schema_definitions(
      [&](auto visit) {
        Walk walk(std::move(visit));
        if (envelope) walk.template members<Envelope>();
        if constexpr (*form.key != 0)
          walk.template type<T>();
        else
          walk.template members<T>();
      },
      form.input);
  if (!definitions.empty()) schema["$defs"] = definitions;
  return schema;
}

// One line for each thing that holds no object of named properties.
inline std::string schema_text(const Json& schema, const std::string& indent = "") {
  if (!schema.is_structured() ||
      (schema.dump().find("\"properties\":") == std::string::npos && indent.size() > 2)) {
    std::string line = schema.dump(-1, ' ');
    return line;
  }
  const bool object = schema.is_object();
  std::string text, inner = indent + "  ";
  for (const auto& [key, value] : schema.items())
    text += (text.empty() ? "\n" : ",\n") + inner + (object ? Json(key).dump() + ": " : "") +
            schema_text(value, inner);
  return (object ? "{" : "[") + text + "\n" + indent + (object ? "}" : "]");
}

// A table of fields for each type.
template <class EachType>
std::string field_tables(EachType each_type) {
  std::string text;
  each_type([&]<class T>() {
    const Name type = named_type<T>();
    std::string lines;
    Rows<T> rows(lines);
    visit_fields(rows, Of<T>{});
    text += "\n## " + std::string(type.name) + "\n\n" + std::string(type.description) +
            "\n\n| key | type | unit | what it is |\n|---|---|---|---|\n" + lines;
  });
  return text;
}

}  // namespace gpuready::value
