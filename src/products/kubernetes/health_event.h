// NVSentinel's HealthEvents as protobuf: fields of data-models/protobufs/health_event.proto in
// NVIDIA/NVSentinel, wire format of protobuf.dev/programming-guides/encoding. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/finding.h"

namespace gpuready::kubernetes {

inline constexpr std::string_view kHealthEventMethod =
    "/datamodels.PlatformConnector/HealthEventOccurredV1";

// What an event is about: "PCI" and "GPU_UUID" as NVSentinel's monitors name them. No "GPU" with an
// index: after a loss another GPU has it, and a healthy event would clear the wrong one.
struct ImpactedEntity {
  std::string type, value;
  bool operator==(const ImpactedEntity&) const = default;
};

struct HealthEvent {
  std::string check;     // NVSentinel gives the node a condition of this name
  bool healthy = false;  // clears the events of its entities; without entities, of the whole check
  std::string message = {};
  std::uint32_t recommended_action = 0;
  std::vector<std::string> error_codes = {};
  std::vector<ImpactedEntity> entities = {};
};

// RecommendedAction's number. A reset needs the GPU's UUID; without it the node is restarted.
std::uint32_t recommended_action(Action action, bool bare_metal, bool has_uuid);

// One HealthEvents message. Texts must be UTF-8.
std::string encode(std::span<const HealthEvent> events, std::string_view node,
                   std::int64_t unix_seconds);

}  // namespace gpuready::kubernetes
