// What keeps this host's devices from virtual machines, as findings with cures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpuready/finding.h"
#include "vm/operations.h"

namespace gpuready::vm {

// The host beyond its devices.
struct HostView {
  const Machine& machine;  // with its kernel log
  const State& state;
  std::vector<PciAddress> devices;        // that are asked about; each is in the inventory
  std::optional<bool> unsafe_interrupts;  // vfio_iommu_type1's parameter
};
// "Y" or "N" of /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts.
std::optional<bool> read_unsafe_interrupts(Host& host);

// Errors first. A device that is merely used by somebody is no finding: `vm list` says so.
std::vector<Finding> diagnose_host(const HostView& view);

// The ids that diagnose_host() may give.
std::vector<std::string_view> host_finding_ids();

}  // namespace gpuready::vm
