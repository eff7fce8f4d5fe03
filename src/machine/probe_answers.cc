#include "machine/probe_answers.h"

#include <climits>

#include "base/text.h"

namespace gpuready {

std::optional<std::string> as_text(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  auto text = printable(trim(value.get_ref<const std::string&>()));
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> as_u64(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  return std::nullopt;
}

std::optional<std::uint32_t> as_u32(const Json& value) {
  const auto wide = as_u64(value);
  if (!wide || *wide > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*wide);
}

std::optional<int> as_int(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT_MAX) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  const auto wide = value.get<std::int64_t>();
  if (wide < INT_MIN || wide > INT_MAX) return std::nullopt;
  return static_cast<int>(wide);
}

std::optional<bool> as_flag(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() != 0;
  if (value.is_number_integer()) return value.get<std::int64_t>() != 0;
  return std::nullopt;
}

std::optional<CallName> parse_call(std::string_view key) {
  const auto open = key.find('(');
  if (open == std::string_view::npos || open == 0 || !key.ends_with(')')) return std::nullopt;
  return CallName{key.substr(0, open), split(key.substr(open + 1, key.size() - open - 2), ", ")};
}

std::string DeviceAnswers::key(std::string_view symbol, std::string_view argument) const {
  std::string out(symbol);
  out += '(';
  out += id_;
  if (!argument.empty()) {
    out += ',';
    out += argument;
  }
  return out += ')';
}

const ProbeCall* DeviceAnswers::find(std::string_view symbol, std::string_view argument) const {
  return document_->find(key(symbol, argument));
}

const Json& DeviceAnswers::value(std::string_view symbol, std::string_view argument) const {
  return document_->value(key(symbol, argument));
}

const Json& DeviceAnswers::first_value(std::initializer_list<std::string_view> symbols,
                                       std::string_view argument) const {
  static const Json kNull;
  for (const auto symbol : symbols)
    if (const Json& found = value(symbol, argument); !found.is_null()) return found;
  return kNull;
}

}  // namespace gpuready
