// Small functions of PCI addresses.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "gpuready/machine.h"

namespace gpuready {

// Functions of one device: a GPU, its audio and its USB-C.
inline bool same_slot(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

// "0000:17:00.0 0000:17:00.1"
inline std::string joined(const std::vector<PciAddress>& addresses) {
  std::vector<std::string> texts;
  for (const auto& address : addresses) texts.push_back(address.text());
  return join(texts, " ");
}

}  // namespace gpuready
