// Field values: one call answers many numbered questions, each with a code of its own.
#include <cstring>
#include <span>
#include <vector>

#include "base/vendor_codes.h"
#include "probe/nvml_session.h"

namespace gpuready::nvml {
namespace {

constexpr std::uint32_t kBasic[] = {
    nvml_field::kEccNow,  // in a quarter of the time that nvmlDeviceGetEccMode takes
    nvml_field::kEccPending,
    nvml_field::kMemoryTemperature,
    nvml_field::kRecoveryAction,
};
constexpr std::uint32_t kFull[] = {
    nvml_field::kNvlinkCount,  nvml_field::kPcieReplays, nvml_field::kPcieCorrectable,
    nvml_field::kPcieNonfatal, nvml_field::kPcieFatal,
    nvml_field::kPowerNow,  // not the mean of the last second
};

Json render(const FieldValue& field) {
  switch (field.type) {
    case kF64:
      return field.value.f64;
    case kU32:
      return field.value.u32;
    case kUl:
      return field.value.ul;
    case kU64:
      return field.value.u64;
    case kS64:
      return field.value.s64;
    case kS32:
      return field.value.s32;
    case kU16:
      return field.value.u16;
    default:
      return nullptr;
  }
}

// Value: {"82":{"code":0,"value":45},"230":{"code":3}}
void ask_group(Session& session, const Target& target, std::span<const std::uint32_t> ids,
               const char* group) {
  constexpr const char* kSymbol = "nvmlDeviceGetFieldValues";
  const auto key = call_key(kSymbol, target.id, group);
  auto* function = function_or_missing<int(Device, int, FieldValue*)>(session, kSymbol, key);
  if (function == nullptr) return;
  ask(session.writer, key, [&](Json& value) {
    std::vector<FieldValue> fields(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) fields[i].field = ids[i];
    const int code = function(target.handle, static_cast<int>(ids.size()), fields.data());
    value = Json::object();
    for (const auto& field : fields) {
      Json& entry = value[std::to_string(field.field)];
      entry = Json{{"code", field.code}};
      if (field.code == kSuccess) entry["value"] = render(field);
    }
    return code;
  });
}

}  // namespace

void ask_fields(Session& session, const Target& target) {
  ask_group(session, target, kBasic, "basic");
  if (session.full) ask_group(session, target, kFull, "full");
}

}  // namespace gpuready::nvml
