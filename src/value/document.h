// Documents as a whole: their names and versions, and what stands around their fields.
#pragma once

#include "value/envelope.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {

struct DocumentForm {
  std::string_view name;  // "pack-env": its key `schema` says "gpuready.pack-env"
  std::string_view title = {}, description = {};
  std::string_view exit_codes = {};  // "0: done; 1: ..."; empty: no command's, without an envelope
  // The key that all stands under; empty: the fields stand beside the envelope's.
  const char* key = "";
  std::string_view key_description = {};
  std::string_view required = {};  // a key of the envelope that it always has
  bool input = false;              // it is read, also where a newer version wrote it

  std::string schema() const { return "gpuready." + std::string(name); }
};
template <class T>
inline constexpr DocumentForm kForm{};
// In namespace gpuready, beside the fields: DOCUMENT_OF(Type, members of the form);
#define DOCUMENT_OF(Type, ...)                \
  template <>                                 \
  inline constexpr DocumentForm kForm<Type> { \
    __VA_ARGS__                               \
  }

namespace value {

// Raised when a key changes its meaning or goes away; new keys do not raise it.
inline constexpr int kSchemaVersion = 1;

inline Json begin_document(const DocumentForm& form) {
  return {{"schema", form.schema()}, {"schema_version", kSchemaVersion}};
}
template <class T>
Json write_document(const T& object) {
  Json doc = begin_document(kForm<T>);
  write_fields_into(doc, object, 0);
  return doc;
}
inline bool is_document(const Json& doc, const DocumentForm& form) {
  return get_string(doc, "schema") == form.schema() &&
         get_int(doc, "schema_version") == kSchemaVersion;
}

}  // namespace value

template <class Report>
Json to_json(const Report& report, const Envelope& envelope) {
  constexpr const DocumentForm& form = kForm<Report>;
  Json doc = value::begin_document(form);
  value::write_fields_into(doc, envelope, 0);
  if constexpr (*form.key != 0)
    doc[form.key] = value::write(report, {.always = true}, 0);
  else
    value::write_fields_into(doc, report, 0);
  return doc;
}

}  // namespace gpuready
