#include "report/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gpuready {
namespace {

struct PathWords {
  PathKind kind;
  std::string_view label, meaning;
};
// Labels as `nvidia-smi topo -m` prints them.
constexpr std::array kPaths{
    PathWords{PathKind::self, "X", "the GPU itself"},
    PathWords{PathKind::nvlink, "NV#", "# NVLinks bundled"},
    PathWords{PathKind::nvswitch, "NV#", "# NVLinks bundled, through NVSwitch"},
    PathWords{PathKind::xgmi, "XGMI", "AMD Infinity Fabric link"},
    PathWords{PathKind::same_switch, "PIX", "one PCIe switch at most"},
    PathWords{PathKind::multiple_switches, "PXB", "several PCIe switches, no host bridge"},
    PathWords{PathKind::host_bridge, "PHB", "a PCIe host bridge (usually the CPU)"},
    PathWords{PathKind::numa_node, "NODE", "several host bridges of one NUMA node"},
    PathWords{PathKind::system, "SYS", "the link between NUMA nodes"},
    PathWords{PathKind::unknown, "?", "not known"},
};
const PathWords& words(PathKind kind) {
  for (const auto& entry : kPaths)
    if (entry.kind == kind) return entry;
  return kPaths.back();
}

}  // namespace

std::string path_label(const GpuPath& path) {
  const auto label = words(path.kind).label;
  return label == "NV#" ? fmt::format("NV{}", path.links) : std::string(label);
}

TopologyMatrix topology_matrix(const Machine& machine) {
  TopologyMatrix matrix;
  if (machine.gpus.size() < 2 || machine.paths.empty()) return matrix;
  std::map<int, std::size_t> row_of;
  for (const Gpu& gpu : machine.gpus) {
    row_of.emplace(gpu.index, matrix.gpus.size());
    matrix.gpus.push_back(gpu.index);
  }
  const auto count = matrix.gpus.size();
  matrix.labels.assign(count, std::vector<std::string>(count, "?"));
  for (std::size_t i = 0; i < count; ++i) matrix.labels[i][i] = "X";
  for (const GpuPath& path : machine.paths) {
    const auto a = row_of.find(path.gpu_a), b = row_of.find(path.gpu_b);
    if (a == row_of.end() || b == row_of.end() || a == b) continue;
    matrix.labels[a->second][b->second] = path_label(path);
    matrix.labels[b->second][a->second] = path_label(path);
  }
  for (const PathWords& entry : kPaths) {
    const bool used = std::any_of(
        machine.paths.begin(), machine.paths.end(),
        [&](const GpuPath& path) { return path.kind == entry.kind && path.gpu_a != path.gpu_b; });
    if (used) matrix.legend.push_back({std::string(entry.label), entry.meaning});
  }
  return matrix;
}

std::vector<GpuGroup> gpu_groups(const Machine& machine) {
  std::vector<GpuGroup> groups;
  for (const Gpu& gpu : machine.gpus) {
    std::string name;
    if (gpu.numa_node) {
      name = fmt::format("NUMA node {}", *gpu.numa_node);
    } else if (gpu.pci) {
      for (const PciDevice& device : machine.pci)
        if (device.address == *gpu.pci && device.host_bridge) name = *device.host_bridge;
    }
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const GpuGroup& group) { return group.name == name; });
    if (it == groups.end()) it = groups.insert(groups.end(), {name, {}});
    it->gpus.push_back(gpu.index);
  }
  return groups;
}

}  // namespace gpuready
