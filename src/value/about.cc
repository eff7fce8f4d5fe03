#include "value/about.h"

namespace gpuready {

bool is_about(const Verdict& verdict, const Gpu& gpu) {
  return (gpu.uuid && (verdict.uuid == gpu.uuid || verdict.peer_uuid == gpu.uuid)) ||
         (gpu.pci && verdict.pci_address == gpu.pci->text());
}

}  // namespace gpuready
