// DRM cards by PCI address: /sys/class/drm/cardN/device links to the PCI device.
#pragma once

#include <map>
#include <string>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

// Address -> "/sys/class/drm/card0". Connectors ("card0-DP-1") and render nodes are left out.
std::map<PciAddress, std::string> drm_cards(Host& host);

}  // namespace gpuready
