#include "cli/option_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready::cli {
namespace {

bool is_text(const Option& option) {
  return std::holds_alternative<std::string*>(option.value) ||
         std::holds_alternative<std::optional<std::string>*>(option.value) ||
         std::holds_alternative<std::vector<std::string>*>(option.value);
}

}  // namespace

bool takes_value(const Option& option) { return !std::holds_alternative<bool*>(option.value); }

std::string value_name(const Option& option) {
  if (!takes_value(option)) return {};
  if (option.type != nullptr) return option.type;
  if (option.seconds) return "TIME";
  if (!option.one_of.empty()) return join(option.one_of, "|");
  return is_text(option) ? "TEXT" : "N";
}

std::string range_text(const Option& option) {
  const char* unit = option.seconds ? " s" : "";
  return fmt::format("from {}{} to {}{}", option.range->least, unit, option.range->most, unit);
}

std::string explanation(const Option& option) {
  std::string text = option.help;
  if (option.seconds) text += " (for example 30, 30s or 2m)";
  if (option.range) text += "; " + range_text(option);
  // Unless the help lists them itself.
  if (option.type != nullptr && !option.one_of.empty() &&
      !option.help.contains(option.one_of.front()))
    text += "; one of " + join(option.one_of, ", ");
  if (option.if_bare != nullptr && option.if_bare != std::string_view("-"))
    text += fmt::format("; without a value: {}", option.if_bare);
  if (option.required && option.name[0] == '-') text += "; required";
  if (option.needs != nullptr) text += fmt::format("; only with {}", option.needs);
  if (option.excludes != nullptr) text += fmt::format("; not with {}", option.excludes);
  return text;
}

}  // namespace gpuready::cli
