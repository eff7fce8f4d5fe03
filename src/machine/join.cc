// How sources meet: by PCI address, else by UUID.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "machine/pci/pci_ids.h"
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
  // NVML writes "GPU-" before it, but not on Tegra; CUDA and Vulkan give the bytes alone.
  const auto bare = [](std::string_view text) {
    constexpr std::string_view kPrefix = "GPU-";
    const bool prefixed = equals_ignore_case(text.substr(0, kPrefix.size()), kPrefix);
    return prefixed ? text.substr(kPrefix.size()) : text;
  };
  for (auto& gpu : machine.gpus)
    if (gpu.uuid && equals_ignore_case(bare(*gpu.uuid), bare(uuid))) return &gpu;
  return nullptr;
}

Gpu* gpu_of_tegra(Machine& machine, const std::optional<PciAddress>& address) {
  const bool on_bus = std::any_of(machine.pci.begin(), machine.pci.end(),
                                  [&](const auto& device) { return device.address == address; });
  if (!machine.system.jetson_release || on_bus) return nullptr;
  for (auto& gpu : machine.gpus)
    if (gpu.driver == "nvgpu") return &gpu;
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

void finish_gpus(Machine& machine) {
  auto& gpus = machine.gpus;
  // Paths may already name GPUs by an earlier numbering, in which a GPU's index was its place; GPUs
  // added since stand behind those and have none.
  constexpr int kNew = -1;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i].index != static_cast<int>(i)) gpus[i].index = kNew;
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
