#include "base/json.h"

namespace gpuready {

Result<Json> parse_json(std::string_view text, std::string_view name, std::size_t limit_bytes) {
  if (text.size() > limit_bytes)
    return fail(ErrorKind::too_large, std::string(name) + ": " + std::to_string(text.size()) +
                                          " bytes of JSON, more than the limit of " +
                                          std::to_string(limit_bytes));
  constexpr int kMaxDepth = 64;
  bool too_deep = false;
  const auto callback = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  try {
    Json doc = Json::parse(text.begin(), text.end(), callback);
    if (too_deep)
      return fail(ErrorKind::bad_input, std::string(name) + ": JSON nested deeper than 64 levels");
    return doc;
  } catch (const Json::exception& error) {
    return fail(ErrorKind::bad_input, std::string(name) + ": " + error.what());
  }
}

const Json& member(const Json& doc, std::string_view key) {
  static const Json kNull;
  if (!doc.is_object()) return kNull;
  const auto it = doc.find(key);
  return it == doc.end() ? kNull : *it;
}

std::optional<std::string> get_string(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<std::int64_t> get_int(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<std::uint64_t> get_uint(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  return std::nullopt;
}

std::optional<double> get_double(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_number()) return std::nullopt;
  return number(value.get<double>());
}

std::optional<bool> get_bool(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>();
}

std::string dump(const Json& doc) {
  return doc.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string dump_line(const Json& doc) {
  return doc.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuready
