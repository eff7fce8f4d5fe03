// How sources meet: by PCI address, else by UUID.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "machine/pci_ids.h"
#include "machine/sources.h"

namespace gpuready {

Gpu& gpu_at(Machine& machine, const PciAddress& address, Vendor vendor) {
  for (auto& gpu : machine.gpus)
    if (gpu.pci == address) return gpu;
  auto& gpu = machine.gpus.emplace_back();
  gpu.pci = address;
  gpu.vendor = vendor;
  return gpu;
}

Gpu* gpu_with_uuid(Machine& machine, std::string_view uuid) {
  for (auto& gpu : machine.gpus)
    if (gpu.uuid && equals_ignore_case(*gpu.uuid, uuid)) return &gpu;
  return nullptr;
}

void add_source(Gpu& gpu, std::string_view source) {
  if (std::find(gpu.sources.begin(), gpu.sources.end(), source) == gpu.sources.end())
    gpu.sources.emplace_back(source);
}

void note_unseen(Machine& machine, std::string_view what, const Error& error) {
  if (error.kind == ErrorKind::not_found) return;
  std::string why = error.kind == ErrorKind::not_recorded ? "not in the recording" : error.message;
  if (why.empty()) why = to_string(error.kind);
  for (const auto& known : machine.unseen)
    if (known.what == what && known.why == why) return;
  machine.unseen.push_back({std::string(what), std::move(why)});
}

namespace {
// Tegra's GPU is found in the device tree, and again by NVML or CUDA, which give it a PCI address
// that no bus has: one GPU.
void merge_jetson(std::vector<Gpu>& gpus) {
  const auto placeholder = std::find_if(gpus.begin(), gpus.end(), [](const Gpu& gpu) {
    return !gpu.pci && gpu.driver == "nvgpu" && gpu.sources == std::vector<std::string>{"jetson"};
  });
  if (placeholder == gpus.end()) return;
  const auto real = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    const bool integrated = gpu.integrated || (gpu.cuda && gpu.cuda->integrated.value_or(false));
    return &gpu != &*placeholder && gpu.vendor == Vendor::nvidia && integrated;
  });
  if (real == gpus.end()) return;
  real->integrated = true;
  real->driver = placeholder->driver;
  if (!real->clocks.sm_mhz) real->clocks.sm_mhz = placeholder->clocks.sm_mhz;
  if (!real->clocks.max_sm_mhz) real->clocks.max_sm_mhz = placeholder->clocks.max_sm_mhz;
  if (!real->utilization_percent) real->utilization_percent = placeholder->utilization_percent;
  add_source(*real, "jetson");
  gpus.erase(placeholder);
}
}  // namespace

void finish_gpus(Machine& machine) {
  auto& gpus = machine.gpus;
  // Paths may already name GPUs by an earlier numbering, in which a GPU's index was its place; GPUs
  // added since stand behind those and have none.
  constexpr int kNew = -1;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i].index != static_cast<int>(i)) gpus[i].index = kNew;
  merge_jetson(gpus);
  // GPUs without an address (Apple, Jetson, WSL2, faked) keep the order in which they were found.
  std::vector<std::pair<std::optional<PciAddress>, std::size_t>> order;
  for (std::size_t i = 0; i < gpus.size(); ++i) order.emplace_back(gpus[i].pci, i);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.first.has_value() != b.first.has_value()) return a.first.has_value();
    return a < b;
  });
  std::vector<Gpu> sorted;
  for (const auto& [pci, position] : order) sorted.push_back(std::move(gpus[position]));
  gpus = std::move(sorted);
  std::map<int, int> renumbered;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].index != kNew) renumbered.emplace(gpus[i].index, static_cast<int>(i));
    gpus[i].index = static_cast<int>(i);
  }
  std::erase_if(machine.paths, [&](GpuPath& path) {
    const auto a = renumbered.find(path.gpu_a), b = renumbered.find(path.gpu_b);
    if (a == renumbered.end() || b == renumbered.end()) return true;
    std::tie(path.gpu_a, path.gpu_b) = std::minmax({a->second, b->second});
    return false;
  });
  for (auto& gpu : gpus) {
    if (!gpu.name.empty() || !gpu.pci) continue;
    for (const auto& device : machine.pci) {
      if (device.address != *gpu.pci) continue;
      gpu.name = display_name(device.vendor_id, device.device_id, device.name);
      gpu.name_source = device.name ? "pci.ids" : "pci";
    }
  }
}

}  // namespace gpuready
