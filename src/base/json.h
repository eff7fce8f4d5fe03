// JSON, by nlohmann-json with insertion order kept, so that documents read in the order that they
// were written. Doubles that are NaN or infinite never reach a document: use number().
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

using Json = nlohmann::ordered_json;

// Parses one document. `name` is how errors call the input. Depth is limited to 64, size to
// `limit_bytes`; anything after the document, or invalid UTF-8, is an error that names the byte.
// Objects and arrays under the keys `left_out`, at any depth, are kept empty.
Result<Json> parse_json(std::string_view text, std::string_view name,
                        std::size_t limit_bytes = 256u << 20,
                        std::span<const std::string_view> left_out = {});

// Sets doc[key] only when there is a value: an absent field is absent, never null or 0.
template <class T>
void put(Json& doc, const char* key, const std::optional<T>& value) {
  if (value) doc[key] = *value;
}
inline void put(Json& doc, const char* key, const std::string& value) {
  if (!value.empty()) doc[key] = value;
}

// Typed reads that never throw: nothing when the key is absent or of another type or range.
std::optional<std::string> get_string(const Json& doc, std::string_view key);
std::optional<std::int64_t> get_int(const Json& doc, std::string_view key);
std::optional<std::uint64_t> get_uint(const Json& doc, std::string_view key);
std::optional<double> get_double(const Json& doc, std::string_view key);
std::optional<bool> get_bool(const Json& doc, std::string_view key);
// The member, or a null value.
const Json& member(const Json& doc, std::string_view key);

inline std::optional<double> number(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Text of a document: two-space indent, invalid UTF-8 replaced, newline at the end.
std::string dump(const Json& doc);
// The same on one line, without a newline.
std::string dump_line(const Json& doc);

}  // namespace gpuready
