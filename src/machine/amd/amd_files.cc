// AMD GPUs from files: KFD's topology, amdgpu's sysfs files, ROCm's folders.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "machine/amd/amd_parse.h"
#include "machine/sources.h"
#include "machine/system/drm_cards.h"
#include "machine/system/hwmon.h"

namespace gpuready {
namespace {
const std::string kNodes = "/sys/class/kfd/kfd/topology/nodes/";
constexpr std::uint64_t kLinkXgmi = 11;                     // io_links type, CRAT_IOLINK_TYPE_XGMI
constexpr std::uint64_t kMi300a = 0x74a0;                   // its target is that of MI300X
constexpr std::uint64_t kHeapPublic = 1, kHeapPrivate = 2;  // mem_banks heap_type: frame buffer

std::optional<int> small(std::optional<std::uint64_t> value) {
  if (!value || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

std::uint64_t frame_buffer_bytes(Host& host, const std::string& node) {
  std::uint64_t total = 0;
  const auto banks = host.list_directory(node + "/mem_banks");
  if (!banks) return 0;
  for (const auto& bank : *banks) {
    const auto text = host.read_file(node + "/mem_banks/" + bank + "/properties");
    if (!text) continue;
    const auto properties = parse_kfd_properties(*text);
    const auto heap = property(properties, "heap_type");
    if (heap == kHeapPublic || heap == kHeapPrivate)
      total += property(properties, "size_in_bytes").value_or(0);
  }
  return total;
}

struct Node {
  std::string folder;
  std::optional<PciAddress> address;  // of a GPU; nothing for a CPU
  KfdProperties properties;
};

// One GPU in compute partitions has a node for each: their units add up.
void add_node(Host& host, Machine& machine, const Node& node, bool first_of_gpu) {
  auto& gpu = gpu_at(machine, *node.address, Vendor::amd);
  add_source(gpu, "kfd");
  const auto& properties = node.properties;
  gpu.gfx_target = gfx_name(property(properties, "gfx_target_version").value_or(0));
  if (gpu.gfx_target) gpu.architecture = amd_architecture(*gpu.gfx_target);
  const auto simds = property(properties, "simd_count");
  const auto simds_per_cu = property(properties, "simd_per_cu");
  if (simds && simds_per_cu && *simds_per_cu > 0)
    if (const auto units = small(*simds / *simds_per_cu))
      gpu.multiprocessors = (first_of_gpu ? 0 : gpu.multiprocessors.value_or(0)) + *units;
  if (const auto clock = small(property(properties, "max_engine_clk_fcompute"));
      clock && *clock > 0)
    gpu.clocks.max_sm_mhz = clock;
  // Older kernels put an APU's cores on the node of its GPU; newer ones make two nodes of it.
  gpu.integrated = property(properties, "cpu_cores_count").value_or(0) > 0 ||
                   (gpu.gfx_target && is_apu_target(*gpu.gfx_target)) ||
                   property(properties, "device_id") == kMi300a;
  if (const auto bytes = frame_buffer_bytes(host, node.folder); bytes > 0)
    gpu.memory.total_bytes = (first_of_gpu ? 0 : gpu.memory.total_bytes.value_or(0)) + bytes;
}

std::map<std::string, Node> read_nodes(Host& host, Machine& machine) {
  std::map<std::string, Node> nodes;
  const auto names = host.list_directory(kNodes.substr(0, kNodes.size() - 1));
  if (!names) {
    note_unseen(machine, "KFD topology", names.error());
    return nodes;
  }
  machine.amd.kfd_present = true;
  for (const auto& name : *names) {
    Node node{kNodes + name, std::nullopt, {}};
    const auto text = host.read_file(node.folder + "/properties");
    if (!text) {
      // Since Linux 5.9 a container that was not given the GPU reads EPERM here.
      note_unseen(machine, "KFD node " + name, text.error());
      continue;
    }
    node.properties = parse_kfd_properties(*text);
    const auto location = property(node.properties, "location_id");
    if (property(node.properties, "simd_count").value_or(0) > 0 && location)
      node.address =
          kfd_address(property(node.properties, "domain").value_or(0) & 0xffffffff, *location);
    nodes.emplace(name, std::move(node));
  }
  return nodes;
}

void add_xgmi(Host& host, Machine& machine, const std::map<std::string, Node>& nodes) {
  for (const auto& [name, node] : nodes) {
    if (!node.address) continue;
    const auto links = host.list_directory(node.folder + "/io_links");
    if (!links) continue;
    for (const auto& link : *links) {
      const auto text = host.read_file(node.folder + "/io_links/" + link + "/properties");
      if (!text) continue;
      const auto properties = parse_kfd_properties(*text);
      const auto to = property(properties, "node_to");
      if (property(properties, "type") != kLinkXgmi || !to) continue;
      const auto other = nodes.find(std::to_string(*to));
      if (other == nodes.end() || !other->second.address || other->second.address == node.address)
        continue;
      auto& peers = gpu_at(machine, *node.address, Vendor::amd).xgmi_peers;
      if (std::find(peers.begin(), peers.end(), *other->second.address) == peers.end())
        peers.push_back(*other->second.address);
    }
  }
}

void read_ras(Host& host, const std::string& device, Gpu& gpu) {
  const auto names = host.list_directory(device + "/ras");
  if (!names) return;
  for (const std::string_view name : *names) {
    constexpr std::string_view kSuffix = "_err_count";
    if (!name.ends_with(kSuffix)) continue;
    const auto text = host.read_text(device + "/ras/" + std::string(name));
    if (!text) continue;
    const auto counts = parse_ras(*text);
    const std::string block(name.substr(0, name.size() - kSuffix.size()));
    auto& ecc = gpu.ecc.since_boot;
    if (counts.correctable) {
      gpu.ras_errors[block + "_ce"] = *counts.correctable;
      ecc.corrected = ecc.corrected.value_or(0) + *counts.correctable;
    }
    if (counts.uncorrectable) {
      gpu.ras_errors[block + "_ue"] = *counts.uncorrectable;
      ecc.uncorrected = ecc.uncorrected.value_or(0) + *counts.uncorrectable;
    }
  }
}

void read_sensors(Host& host, const std::string& device, Gpu& gpu) {
  const auto sensors = read_hwmon(host, device);
  gpu.thermal.gpu_celsius =
      sensors.junction_celsius ? sensors.junction_celsius : sensors.edge_celsius;
  gpu.thermal.memory_celsius = sensors.memory_celsius;
  gpu.thermal.slowdown_celsius = sensors.critical_celsius;
  gpu.thermal.shutdown_celsius = sensors.emergency_celsius;
  gpu.power.draw_mw = sensors.power_mw;
  gpu.power.limit_mw = sensors.power_cap_mw;
  gpu.power.default_limit_mw = sensors.power_cap_default_mw;
  gpu.power.max_limit_mw = sensors.power_cap_max_mw;
  if (const auto busy = host.read_int(device + "/gpu_busy_percent");
      busy && *busy >= 0 && *busy <= 100)
    gpu.utilization_percent = static_cast<int>(*busy);

  const auto bytes = host.read_file(device + "/gpu_metrics", 64u << 10);
  const auto metrics = bytes ? parse_gpu_metrics(*bytes) : std::nullopt;
  if (!metrics) return;
  if (metrics->format_revision == 2 || metrics->format_revision == 3) gpu.integrated = true;
  const auto fill = [](auto& field, const auto& value) {
    if (!field && value) field = *value;
  };
  fill(gpu.thermal.gpu_celsius,
       metrics->hotspot_celsius ? metrics->hotspot_celsius : metrics->edge_celsius);
  fill(gpu.thermal.memory_celsius, metrics->memory_celsius);
  fill(gpu.utilization_percent, metrics->activity_percent);
  if (!gpu.power.draw_mw && metrics->socket_power_watts)
    gpu.power.draw_mw = *metrics->socket_power_watts * 1000;
}

void read_device_files(Host& host, const std::string& device, Gpu& gpu) {
  const auto total = host.read_int(device + "/mem_info_vram_total");
  if (!total) return;  // amdgpu is not bound
  add_source(gpu, "amdgpu");
  // KFD counts the memory that the GPU can use. Far more than its own is the host's.
  const auto own = static_cast<std::uint64_t>(std::max<std::int64_t>(*total, 0));
  if (gpu.memory.total_bytes.value_or(0) / 2 > own) gpu.integrated = true;
  if (own > 0) gpu.memory.total_bytes = own;
  if (const auto used = host.read_int(device + "/mem_info_vram_used"); used && *used >= 0) {
    gpu.memory.used_bytes = static_cast<std::uint64_t>(*used);
    if (*used <= *total) gpu.memory.free_bytes = static_cast<std::uint64_t>(*total - *used);
  }
  gpu.uuid = host.read_text(device + "/unique_id");
  gpu.serial = host.read_text(device + "/serial_number");
  gpu.part_number = host.read_text(device + "/product_number");
  gpu.vbios_version = host.read_text(device + "/vbios_version");
  if (const auto name = host.read_text(device + "/product_name")) {
    gpu.name = *name;
    gpu.name_source = "amdgpu";
  }
  if (const auto replays = host.read_int(device + "/pcie_replay_count"); replays && *replays >= 0)
    gpu.pcie_errors.replays = static_cast<std::uint64_t>(*replays);
  if (const auto text = host.read_text(device + "/pp_dpm_sclk")) {
    const auto clocks = parse_dpm(*text);
    gpu.clocks.sm_mhz = clocks.now_mhz;
    if (clocks.max_mhz) gpu.clocks.max_sm_mhz = clocks.max_mhz;
  }
  if (const auto text = host.read_text(device + "/pp_dpm_mclk")) {
    const auto clocks = parse_dpm(*text);
    gpu.clocks.memory_mhz = clocks.now_mhz;
    gpu.clocks.max_memory_mhz = clocks.max_mhz;
  }
  read_sensors(host, device, gpu);
  read_ras(host, device, gpu);
}

// All below a GPU's folder that amdgpu answers by asking the GPU.
void add_driver_files(Host& host, const std::string& device, std::vector<std::string>& files) {
  for (const char* name : {"gpu_busy_percent", "gpu_metrics", "mem_info_vram_used",
                           "pcie_replay_count", "pp_dpm_mclk", "pp_dpm_sclk"})
    files.push_back(device + "/" + name);
  if (const auto names = host.list_directory(device + "/ras"))
    for (const auto& name : *names)
      if (name.ends_with("_err_count")) files.push_back(device + "/ras/" + name);
  add_hwmon_files(host, device, files);
}

void read_rocm_folders(Host& host, AmdDriver& amd) {
  std::vector<std::string> roots;
  if (const auto named = host.environment("ROCM_PATH"); named && named->starts_with('/'))
    roots.push_back(*named);
  roots.push_back("/opt/rocm");
  if (const auto names = host.list_directory("/opt"))
    for (const auto& name : *names)
      if (name.starts_with("rocm-")) roots.push_back("/opt/" + name);
  for (const auto& root : roots) {
    if (!amd.rocm_version)
      if (const auto text = host.read_text(root + "/.info/version"))
        amd.rocm_version = parse_rocm_version(*text);
    if (!amd.rocblas_targets.empty()) continue;
    if (const auto files = host.list_directory(root + "/lib/rocblas/library"))
      amd.rocblas_targets = rocblas_targets(*files);
  }
}
}  // namespace

void read_amd_files(Host& host, Machine& machine) {
  auto& amd = machine.amd;
  amd.module_loaded = host.exists("/sys/module/amdgpu");
  if (amd.module_loaded) amd.module_version = host.read_text("/sys/module/amdgpu/version");
  const auto nodes = read_nodes(host, machine);
  std::set<PciAddress> seen;
  for (const auto& [name, node] : nodes)
    if (node.address) add_node(host, machine, node, seen.insert(*node.address).second);
  add_xgmi(host, machine, nodes);

  const bool any = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                               [](const Gpu& gpu) { return gpu.vendor == Vendor::amd; });
  if (any && amd.module_loaded) {
    const auto cards = drm_cards(host);
    std::vector<std::pair<Gpu*, std::string>> folders;
    std::vector<std::string> files;
    for (auto& gpu : machine.gpus) {
      if (gpu.vendor != Vendor::amd || gpu.suspended || !gpu.pci) continue;
      const auto card = cards.find(*gpu.pci);
      folders.emplace_back(&gpu, card != cards.end() ? card->second + "/device"
                                                     : "/sys/bus/pci/devices/" + gpu.pci->text());
      add_driver_files(host, folders.back().second, files);
    }
    if (!folders.empty()) host.ask_driver(files);
    for (const auto& [gpu, folder] : folders) read_device_files(host, folder, *gpu);
  }
  if (any || amd.kfd_present || machine.system.wsl2) read_rocm_folders(host, amd);
}

}  // namespace gpuready
