// How GPUs are joined, in the labels that users of `nvidia-smi topo -m` know.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

// "NV18", "PIX", "PXB", "PHB", "NODE", "SYS", "XGMI", "?"
std::string path_label(const GpuPath& path);

struct LegendEntry {
  std::string label;  // "NV#" stands for every bundle size
  std::string_view meaning;
};

struct TopologyMatrix {
  std::vector<int> gpus;                         // indices, in order
  std::vector<std::vector<std::string>> labels;  // [row][column]; "X" on the diagonal
  std::vector<LegendEntry> legend;               // only the labels that occur
};
// Empty for fewer than two GPUs or when no path is known.
TopologyMatrix topology_matrix(const Machine& machine);

// GPUs by what they hang on: the NUMA node where told, else the PCI host bridge.
struct GpuGroup {
  std::string name;  // "NUMA node 0", "pci0000:16"; empty: not known
  std::vector<int> gpus;
};
std::vector<GpuGroup> gpu_groups(const Machine& machine);

}  // namespace gpuready
