// Reading a probe's document: typed values that never throw, and the calls about one device.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/probe_document.h"

namespace gpuready {

// Nothing when the value is of another type or out of range. Text is trimmed, made printable, and
// nothing when empty.
std::optional<std::string> as_text(const Json& value);
std::optional<int> as_int(const Json& value);
std::optional<std::uint32_t> as_u32(const Json& value);
std::optional<std::uint64_t> as_u64(const Json& value);
std::optional<bool> as_flag(const Json& value);  // a boolean, or a number: not 0

// "symbol(a,b)" taken apart.
struct CallName {
  std::string_view symbol;
  std::vector<std::string_view> arguments;
};
std::optional<CallName> parse_call(std::string_view key);

// The answers about one device of a document: calls whose first argument is its id.
class DeviceAnswers {
 public:
  DeviceAnswers(const ProbeDocument& document, std::string id)
      : document_(&document), id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  const ProbeDocument& document() const { return *document_; }
  std::string key(std::string_view symbol, std::string_view argument = {}) const;
  const ProbeCall* find(std::string_view symbol, std::string_view argument = {}) const;
  // The value of the call when it was answered with 0; null otherwise.
  const Json& value(std::string_view symbol, std::string_view argument = {}) const;
  // The first of these that was answered.
  const Json& first_value(std::initializer_list<std::string_view> symbols,
                          std::string_view argument = {}) const;

 private:
  const ProbeDocument* document_;
  std::string id_;
};

// Sets a field when there is a value, and leaves what another source told otherwise.
template <class T, class U>
void take(std::optional<T>& field, const std::optional<U>& value) {
  if (value) field = static_cast<T>(*value);
}
// As take(), but only a field that no one has told.
template <class T, class U>
void take_if_absent(std::optional<T>& field, const std::optional<U>& value) {
  if (!field) take(field, value);
}

}  // namespace gpuready
