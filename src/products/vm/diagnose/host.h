// What keeps this host's devices from virtual machines, as findings with cures.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "doctor/cause.h"
#include "vm/operations.h"

namespace gpuready::vm {

// How the host is set up for VFIO.
struct HostSettings {
  std::optional<bool> unsafe_interrupts;  // vfio_iommu_type1's allow_unsafe_interrupts
  bool iommufd = false;                   // which programs the IOMMU without vfio_iommu_type1
  std::optional<bool> translates;  // for the host's own devices: by the types of their IOMMU groups
  std::optional<bool> remaps_interrupts;      // by the names of their controllers
  std::map<PciAddress, std::string> headers;  // of the configuration of what is awake
  // Whose memory the firmware's or the kernel's boot frame buffer lies in; by /proc/iomem.
  std::optional<std::vector<PciAddress>> framebuffers;
};
HostSettings read_host_settings(Host& host, const State& state,
                                const std::vector<PciAddress>& devices);

// The host beyond its devices.
struct HostView {
  const Machine& machine;  // with its kernel log
  const State& state;
  std::vector<PciAddress> devices;  // that are asked about; each is in the inventory
  HostSettings settings;
};

// Errors first. A device that is merely used by somebody is not a finding: `vm list` says so.
std::vector<Finding> diagnose_host(const HostView& view);

struct HostCause : doctor::Cause {
  std::vector<doctor::Match> (*look)(const HostView&) = nullptr;  // null: `lines` of a device
};
std::span<const HostCause> host_causes();
const HostCause& host_cause(std::string_view id);

}  // namespace gpuready::vm
