// The table of what is owed: by level, vendor and surroundings.
#include <algorithm>
#include <span>

#include "report/obligations.h"

namespace gpuready {
namespace {

using enum ObligationKind;

struct Row {
  ObligationKind kind;
  Level from;                        // the least level that owes it
  std::span<const Vendor> judged;    // whose GPUs; empty: everybody's
  std::string_view not_judged = {};  // why others' are not
  std::span<const Surroundings> hidden_by = {};
  std::string_view hidden = {};  // why
};

constexpr Vendor kNvidia[] = {Vendor::nvidia};
constexpr Vendor kCounting[] = {Vendor::nvidia, Vendor::amd};
constexpr Vendor kLinked[] = {Vendor::nvidia, Vendor::amd, Vendor::intel};
constexpr Surroundings kInstance[] = {Surroundings::mig};
constexpr Surroundings kGuests[] = {Surroundings::vgpu, Surroundings::wsl2};
constexpr Surroundings kNoLink[] = {Surroundings::mig, Surroundings::vgpu, Surroundings::wsl2,
                                    Surroundings::vm};
constexpr Surroundings kNoPeers[] = {Surroundings::mig, Surroundings::vgpu, Surroundings::wsl2};
constexpr Surroundings kVgpu[] = {Surroundings::vgpu};

constexpr Row kRows[] = {
    {identity, Level::quick, kCounting, "only one source reports its size", kInstance,
     "a MIG instance is a part of its GPU"},
    {integrity, Level::quick, {}},
    {coverage, Level::quick, {}},
    {clock, Level::quick, kNvidia, "no source reports its clock", kVgpu,
     "the host keeps the clocks of a vGPU"},
    {host_link, Level::quick, kLinked, "it has no own link to the host", kNoLink,
     "the link that is seen here is not the GPU's"},
    {peer_links, Level::standard, kNvidia, "only CUDA's pairs are tested", kNoPeers,
     "GPUs reach no other GPU here"},
    {health_counters, Level::quick, kCounting, "its driver has no error counters", kGuests,
     "the host keeps the counters"},
    {burn, Level::standard, kNvidia, "there is no burn for this kind of GPU"},
};

template <class T>
bool has(std::span<const T> list, T value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

Due due(ObligationKind kind, Vendor vendor, Surroundings surroundings, Level level) {
  const Row& row = *std::ranges::find(kRows, kind, &Row::kind);
  if (level < row.from) return {Duty::not_owed, "a higher level judges it"};
  if (row.judged.size() > 0 && !has(row.judged, vendor)) return {Duty::hidden, row.not_judged};
  if (has(row.hidden_by, surroundings)) return {Duty::hidden, row.hidden};
  return {};
}

Surroundings surroundings_of(const Machine& machine, const Gpu& gpu) {
  using enum Surroundings;
  if (gpu.mig_enabled.value_or(false)) return mig;
  if (gpu.virtualization == "vgpu") return vgpu;
  if (machine.system.wsl2) return wsl2;
  if (machine.system.hypervisor) return vm;
  return machine.container.runtime ? container : bare_metal;
}

std::string_view to_text(Surroundings surroundings) {
  constexpr std::string_view kTexts[] = {"MIG",       "vGPU",      "WSL 2", "virtual machine",
                                         "container", "bare metal"};
  return kTexts[static_cast<std::size_t>(surroundings)];
}

Effect effect_of(const Obligation& obligation) {
  switch (obligation.status) {
    case ObligationStatus::held:
      return Effect::none;
    case ObligationStatus::broken:
      return Effect::unhealthy;
    case ObligationStatus::degraded:
      return obligation.accepted ? Effect::told : Effect::unhealthy;
    case ObligationStatus::not_judged:
      break;
  }
  if (obligation.required || obligation.duty == Duty::owed) return Effect::unknown;
  return obligation.duty == Duty::hidden ? Effect::told : Effect::none;
}

}  // namespace gpuready
