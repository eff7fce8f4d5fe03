// How each pair of GPUs is connected: the best link that a source told, else the PCI tree.
#include <algorithm>

#include "machine/pci/pci_files.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
const PciDevice* device_of(const Machine& machine, const Gpu& gpu) {
  for (const auto& device : machine.pci)
    if (gpu.pci == device.address) return &device;
  return nullptr;
}

int direct_links(const Gpu& from, const Gpu& to) {
  return static_cast<int>(
      std::count_if(from.nvlinks.begin(), from.nvlinks.end(), [&](const NvLink& link) {
        return link.up.value_or(false) && link.remote && link.remote == to.pci;
      }));
}

int switch_links(const Gpu& gpu) {
  return static_cast<int>(std::count_if(
      gpu.nvlinks.begin(), gpu.nvlinks.end(),
      [](const NvLink& link) { return link.up.value_or(false) && link.remote_kind == "switch"; }));
}

bool has_xgmi(const Gpu& from, const Gpu& to) {
  return to.pci && std::find(from.xgmi_peers.begin(), from.xgmi_peers.end(), *to.pci) !=
                       from.xgmi_peers.end();
}

PathKind pci_kind(const Machine& machine, const Gpu& a, const Gpu& b) {
  const auto* first = device_of(machine, a);
  const auto* second = device_of(machine, b);
  if (!first || !second || first->path.empty() || second->path.empty()) return PathKind::unknown;
  if (const auto kind =
          kind_of_path({first->host_bridge, first->path}, {second->host_bridge, second->path}))
    return *kind;
  if (machine.system.numa_cpus.size() == 1) return PathKind::numa_node;
  if (!a.numa_node || !b.numa_node) return PathKind::unknown;
  return a.numa_node == b.numa_node ? PathKind::numa_node : PathKind::system;
}

void connect(const Machine& machine, const Gpu& a, const Gpu& b, GpuPath& path) {
  if (const int links = std::max(direct_links(a, b), direct_links(b, a)); links > 0) {
    path.kind = PathKind::nvlink;
    path.links = links;
  } else if (const int through = std::min(switch_links(a), switch_links(b)); through > 0) {
    path.kind = PathKind::nvswitch;
    path.links = through;
  } else if (has_xgmi(a, b) || has_xgmi(b, a)) {
    path.kind = PathKind::xgmi;
    path.links = 1;
  } else {
    // NVML's own answer about the PCI tree stands.
    if (path.kind == PathKind::unknown) path.kind = pci_kind(machine, a, b);
  }
}
}  // namespace

void derive_topology(Machine& machine) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < machine.gpus.size(); ++j) {
      const int a = static_cast<int>(i), b = static_cast<int>(j);
      auto found =
          std::find_if(machine.paths.begin(), machine.paths.end(),
                       [&](const GpuPath& path) { return path.gpu_a == a && path.gpu_b == b; });
      if (found == machine.paths.end()) {
        machine.paths.push_back({a, b, PathKind::unknown, 0, std::nullopt});
        found = std::prev(machine.paths.end());
      }
      connect(machine, machine.gpus[i], machine.gpus[j], *found);
    }
  }
  std::sort(machine.paths.begin(), machine.paths.end(), [](const GpuPath& x, const GpuPath& y) {
    return std::pair(x.gpu_a, x.gpu_b) < std::pair(y.gpu_a, y.gpu_b);
  });
}

}  // namespace gpuready
