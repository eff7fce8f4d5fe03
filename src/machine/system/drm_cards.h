// What DRM has of each PCI device: /sys/class/drm/{cardN,renderDN}/device links to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

struct DrmNode {
  std::string name;  // "card0", "renderD128": as in /dev/dri
  PciAddress gpu;
};
std::vector<DrmNode> drm_nodes(Host& host);

// Address -> "/sys/class/drm/card0".
std::map<PciAddress, std::string> drm_cards(Host& host);

// Whether a display is connected to an output ("card0-DP-1") of these GPUs. The kernel's memory
// answers: nothing is woken. GPUs without outputs are left out.
std::map<PciAddress, bool> connected_displays(Host& host);

}  // namespace gpuready
