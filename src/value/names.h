// The names of the value types' enumerations, as documents write them: once each.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"

namespace gpuready {

template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};
template <class Enum>
inline constexpr int kNames = 0;  // specialised below

template <>
inline constexpr auto kNames<Vendor> = std::to_array<Named<Vendor>>({
    {Vendor::nvidia, "nvidia"},
    {Vendor::amd, "amd"},
    {Vendor::intel, "intel"},
    {Vendor::apple, "apple"},
    {Vendor::other, "other"},
});
template <>
inline constexpr auto kNames<PathKind> = std::to_array<Named<PathKind>>({
    {PathKind::self, "self"},
    {PathKind::nvlink, "nvlink"},
    {PathKind::nvswitch, "nvswitch"},
    {PathKind::xgmi, "xgmi"},
    {PathKind::same_switch, "same_switch"},
    {PathKind::multiple_switches, "multiple_switches"},
    {PathKind::host_bridge, "host_bridge"},
    {PathKind::numa_node, "numa_node"},
    {PathKind::system, "system"},
    {PathKind::unknown, "unknown"},
});
template <>
inline constexpr auto kNames<Severity> = std::to_array<Named<Severity>>({
    {Severity::info, "info"},
    {Severity::warning, "warning"},
    {Severity::error, "error"},
});
template <>
inline constexpr auto kNames<VerdictStatus> = std::to_array<Named<VerdictStatus>>({
    {VerdictStatus::passed, "passed"},
    {VerdictStatus::failed, "failed"},
    {VerdictStatus::not_tested, "not_tested"},
    {VerdictStatus::not_supported, "not_supported"},
    {VerdictStatus::timed_out, "timed_out"},
    {VerdictStatus::inconclusive, "inconclusive"},
});

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& entry : kNames<Enum>)
    if (entry.value == value) return entry.name;
  return "unknown";
}
template <class Enum>
constexpr std::optional<Enum> named(std::string_view name) {
  for (const auto& entry : kNames<Enum>)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}

}  // namespace gpuready
