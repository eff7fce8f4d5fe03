#include "kubernetes/health_event.h"

#include <algorithm>

#include "value/action.h"

namespace gpuready::kubernetes {
namespace {

struct ActionNumber {
  std::string_view name;
  std::uint32_t number;
};
constexpr ActionNumber kActionNumbers[] = {
    {"NONE", 0},        {"COMPONENT_RESET", 2}, {"CONTACT_SUPPORT", 5}, {"RESTART_VM", 15},
    {"RESTART_BM", 24}, {"REPLACE_VM", 25},     {"RUN_DCGMEUD", 26},
};

constexpr unsigned kVersion = 1;  // of HealthEvents and of each event

enum class WireType : unsigned { varint = 0, length_delimited = 2 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  out += static_cast<char>(value);
}
void put_tag(std::string& out, unsigned field, WireType type) {
  put_varint(out, field << 3 | static_cast<unsigned>(type));
}
void put_number(std::string& out, unsigned field, std::uint64_t value) {
  if (value == 0) return;  // the default is not written
  put_tag(out, field, WireType::varint);
  put_varint(out, value);
}
void put_bytes(std::string& out, unsigned field, std::string_view bytes) {
  put_tag(out, field, WireType::length_delimited);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string encode(const HealthEvent& event, std::string_view node, std::int64_t unix_seconds) {
  std::string out;
  put_number(out, 1, kVersion);
  put_bytes(out, 2, "gpuready");  // agent
  put_bytes(out, 3, "GPU");       // componentClass
  put_bytes(out, 4, event.check);
  put_number(out, 5, !event.healthy);  // isFatal
  put_number(out, 6, event.healthy);
  put_bytes(out, 7, event.message);
  put_number(out, 8, event.recommended_action);
  for (const auto& code : event.error_codes) put_bytes(out, 9, code);
  for (const auto& entity : event.entities) {
    std::string inner;
    put_bytes(inner, 1, entity.type);
    put_bytes(inner, 2, entity.value);
    put_bytes(out, 10, inner);
  }
  std::string timestamp;  // google.protobuf.Timestamp
  put_number(timestamp, 1, static_cast<std::uint64_t>(unix_seconds));
  put_bytes(out, 12, timestamp);
  put_bytes(out, 13, node);
  return out;
}

}  // namespace

std::uint32_t recommended_action(Action action, bool bare_metal, bool has_uuid) {
  if (action == Action::reset_gpu && !has_uuid) action = Action::reboot;
  std::string_view name =
      std::ranges::find(action_words(), action, &ActionWords::action)->nvsentinel;
  if (bare_metal && name == "RESTART_VM") name = "RESTART_BM";
  return std::ranges::find(kActionNumbers, name, &ActionNumber::name)->number;
}

std::string encode(std::span<const HealthEvent> events, std::string_view node,
                   std::int64_t unix_seconds) {
  std::string out;
  put_number(out, 1, kVersion);
  for (const auto& event : events) put_bytes(out, 2, encode(event, node, unix_seconds));
  return out;
}

}  // namespace gpuready::kubernetes
