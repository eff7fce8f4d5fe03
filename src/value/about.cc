#include "value/about.h"

#include <algorithm>

namespace gpuready {

bool is_about(const Verdict& verdict, const Gpu& gpu) {
  return (gpu.uuid && (verdict.uuid == gpu.uuid || verdict.peer_uuid == gpu.uuid)) ||
         (gpu.pci && verdict.pci_address && *verdict.pci_address == gpu.pci->text());
}

bool is_about(const Finding& finding, const Gpu& gpu) {
  return std::ranges::find(finding.gpus, gpu.index) != finding.gpus.end() ||
         (gpu.pci && std::ranges::find(finding.pci, *gpu.pci) != finding.pci.end());
}

}  // namespace gpuready
