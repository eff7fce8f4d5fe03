// What the options leave open is read from the environment.
#include "base/text.h"
#include "ternary/device/engine_parts.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

std::optional<std::string_view> value_of(ReadVariable variable, const char* name) {
  const char* value = variable(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<bool> flag(std::optional<bool> given, ReadVariable variable, const char* name) {
  if (given) return *given;
  const auto value = value_of(variable, name);
  if (!value || *value == "0") return false;
  if (*value == "1") return true;
  return fail(ErrorKind::bad_input,
              std::string(name) + " is \"" + printable(*value) + "\", not 0 or 1");
}

}  // namespace

std::optional<std::uint64_t> parse_byte_count(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (const auto unit = kUnits.find(text.back()); unit != kUnits.npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    text.remove_suffix(1);
  }
  const auto count = parse_uint(text);
  if (!count || *count > (UINT64_MAX >> shift)) return std::nullopt;
  return *count << shift;
}

Result<ResolvedOptions> resolve_options(const DeviceOptions& options, ReadVariable variable) {
  ResolvedOptions resolved;
  if (options.target) {
    resolved.target = *options.target;
  } else if (const auto name = value_of(variable, "GPUREADY_TERNARY_DEVICE")) {
    const auto target = parse_target(*name);
    if (!target)
      return fail(ErrorKind::bad_input, "GPUREADY_TERNARY_DEVICE: " + target.error().message);
    resolved.target = *target;
  }
  const auto strict = TRY(flag(options.strict, variable, "GPUREADY_TERNARY_STRICT"));
  const auto forced = TRY(flag(options.force_cpu_fallback, variable, "GPUREADY_TERNARY_FORCE_CPU"));
  resolved.strict = strict;
  resolved.forced = forced;
  resolved.memory_limit_bytes = options.memory_limit_bytes;
  if (const auto limit = value_of(variable, "GPUREADY_TERNARY_MEMORY_LIMIT");
      limit && !resolved.memory_limit_bytes) {
    resolved.memory_limit_bytes = parse_byte_count(*limit);
    if (!resolved.memory_limit_bytes)
      return fail(ErrorKind::bad_input, "GPUREADY_TERNARY_MEMORY_LIMIT is \"" + printable(*limit) +
                                            "\", not a number of bytes");
  }
  return resolved;
}

}  // namespace gpuready::ternary
