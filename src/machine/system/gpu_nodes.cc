// Names: NVIDIA's driver README and nvidia-modprobe; drivers/gpu/drm/drm_drv.c (render nodes) and
// drivers/gpu/drm/amd/amdkfd/kfd_chardev.c of Linux; /proc/devices: proc(5).
#include "machine/system/gpu_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready {
namespace {

constexpr std::string_view kAnyNvidia = "/dev/nvidia#", kAnyRender = "/dev/dri/renderD#";
constexpr NodeOwner kOwners[] = {
    {"/dev/nvidiactl", "CUDA and NVML", "nvidia nvidiactl nvidia-frontend"},
    {kAnyNvidia, "CUDA", "nvidia nvidia-frontend"},
    {"/dev/nvidia-uvm", "CUDA", "nvidia-uvm"},
    {"/dev/nvmap", "CUDA", ""},  // Tegra
    {"/dev/nvhost-gpu", "CUDA", ""},
    {"/dev/nvhost-ctrl-gpu", "CUDA", ""},
    {"/dev/kfd", "ROCm", "kfd"},
    {kAnyRender, "Vulkan, OpenCL and the vendor's compute libraries", "drm"},
    {"/dev/dxg", "CUDA and DirectX", ""},
};

bool fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('#')) return pattern == path;
  const auto number = after_prefix(path, pattern.substr(0, pattern.size() - 1));
  return number && parse_uint(*number);
}

const DeviceNode* find_node(const Machine& machine, std::string_view path) {
  const auto found = std::ranges::find(machine.nodes, path, &DeviceNode::path);
  return found == machine.nodes.end() ? nullptr : &*found;
}

NodeState state_of(const DeviceNode& node) {
  if (!node.exists) return NodeState::missing;
  if (node.driver_major && node.device_major && node.driver_major != node.device_major)
    return NodeState::stale;
  if (node.open_error == "EACCES") return NodeState::no_permission;
  return node.open_error == "EPERM" ? NodeState::refused : NodeState::open;
}

class Needs {
 public:
  explicit Needs(const Machine& machine) : machine_(machine) {}
  void add(const DeviceNode& node) {
    if (const auto* owner = node_owner(node.path))
      needs_.push_back({node.path, state_of(node), owner->needed_by, &node});
  }
  // `path` is reported as missing where /dev was looked at and lacks it.
  void add(std::string_view path, bool must_be) {
    if (const auto* node = find_node(machine_, path))
      add(*node);
    else if (must_be)
      add_missing(std::string(path), path);
  }
  void add_missing(std::string path, std::string_view pattern) {
    needs_.push_back({std::move(path), NodeState::missing, node_owner(pattern)->needed_by});
  }
  std::vector<NodeAccess> take() { return std::move(needs_); }

 private:
  const Machine& machine_;
  std::vector<NodeAccess> needs_;
};

bool is_open(const DeviceNode* node) { return state_of(*node) == NodeState::open; }

std::vector<const DeviceNode*> numbered(const Machine& machine, std::string_view pattern) {
  std::vector<const DeviceNode*> found;
  for (const auto& node : machine.nodes)
    if (fits(pattern, node.path)) found.push_back(&node);
  return found;
}

void add_nvidia(const Machine& machine, const Gpu& gpu, Needs& needs) {
  const bool tegra = machine.system.jetson_release.has_value();
  for (const auto& node : machine.nodes)
    if (tegra && (node.path == "/dev/nvmap" || node.path.starts_with("/dev/nvhost")))
      needs.add(node);
  if (tegra && machine.container.runtime)
    for (const std::string_view node : {"/dev/nvmap", "/dev/nvhost-gpu"})
      if (!find_node(machine, node)) needs.add_missing(std::string(node), node);
  const bool loaded = machine.nvidia.module_loaded && !tegra;
  needs.add("/dev/nvidiactl", loaded);
  const auto nodes = numbered(machine, kAnyNvidia);
  if (gpu.minor_number && !gpu.suspended)
    needs.add(fmt::format("/dev/nvidia{}", *gpu.minor_number), false);
  else if (nodes.empty())
    needs.add("/dev/nvidia0", loaded);
  else if (std::ranges::none_of(nodes, is_open))  // whichever is its own
    for (const auto* node : nodes) needs.add(*node);
  // One that is absent is the cause uvm-missing where CUDA does not start without it.
  if (const auto* uvm = find_node(machine, "/dev/nvidia-uvm"); uvm && uvm->exists) needs.add(*uvm);
}

// The GPU's own render node. Where sysfs does not tell which that is, the nodes are in the order of
// the GPUs; where their counts differ, any of them may be it.
void add_render(const Machine& machine, const Gpu& gpu, Needs& needs) {
  std::vector<const DeviceNode*> own, unplaced;
  for (const auto* node : numbered(machine, kAnyRender)) {
    if (node->pci && node->pci == gpu.pci) own.push_back(node);
    if (!node->pci) unplaced.push_back(node);
  }
  std::vector<const Gpu*> gpus;
  for (const auto& other : machine.gpus)
    if (other.driver && *other.driver != "nvidia") gpus.push_back(&other);
  if (own.empty() && unplaced.size() == gpus.size())
    if (const auto at = std::ranges::find(gpus, &gpu); at != gpus.end())
      own.push_back(unplaced[static_cast<std::size_t>(at - gpus.begin())]);
  for (const auto* node : own.empty() ? unplaced : own) needs.add(*node);
  if (own.empty() && unplaced.empty() && machine.container.runtime)
    needs.add_missing("/dev/dri/renderD*", kAnyRender);
}

// A graphics card with a render node of its own. Where Vulkan was asked, it lists the card.
bool is_for_graphics(const Machine& machine, const PciDevice& device) {
  constexpr std::uint32_t kVga = 0x0300;
  const auto of_card = [&](const auto& item) { return item.pci == device.address; };
  const auto nodes = numbered(machine, kAnyRender);
  const auto& vulkan = machine.vulkan;
  return device.class_code >> 8 == kVga &&
         std::ranges::any_of(nodes, [&](const auto* node) { return of_card(*node); }) &&
         (vulkan.outcome != "completed" || std::ranges::any_of(vulkan.devices, of_card));
}

}  // namespace

const NodeOwner* node_owner(std::string_view path) {
  for (const auto& owner : kOwners)
    if (fits(owner.path, path) || owner.path == path) return &owner;
  return nullptr;
}

std::map<std::string, std::uint32_t, std::less<>> parse_char_majors(std::string_view text) {
  std::map<std::string, std::uint32_t, std::less<>> majors;
  for (const auto line : lines(text)) {
    if (line.starts_with("Block devices")) break;
    const auto words = split(line, " \t");
    const auto major = words.size() == 2 ? parse_uint(words[0]) : std::nullopt;
    if (major && *major <= std::numeric_limits<std::uint32_t>::max())
      majors.emplace(words[1], static_cast<std::uint32_t>(*major));
  }
  return majors;
}

std::vector<NodeAccess> nodes_of(const Machine& machine, const Gpu& gpu) {
  Needs needs(machine);
  const auto device =
      gpu.pci ? std::ranges::find(machine.pci, *gpu.pci, &PciDevice::address) : machine.pci.end();
  const bool bound = device == machine.pci.end() || !unbound(*device);
  const bool jetson_inside = machine.system.jetson_release && machine.container.runtime;
  if (gpu.faked || machine.system.wsl2 || !bound || (machine.nodes.empty() && !jetson_inside))
    return {};
  if (gpu.vendor == Vendor::nvidia) add_nvidia(machine, gpu, needs);
  if (gpu.vendor != Vendor::amd && gpu.vendor != Vendor::intel) return needs.take();
  // The processor's graphics may be left out of KFD; and without ROCm, what draws needs none, nor
  // does a graphics card that Vulkan reaches by its render node.
  const auto* kfd = find_node(machine, "/dev/kfd");
  const bool draws =
      !machine.container.runtime && !machine.amd.rocm_version && !machine.amd.start &&
      device != machine.pci.end() &&
      (drives_display(machine, *device) != DrivesDisplay::no || is_for_graphics(machine, *device));
  if (gpu.vendor == Vendor::amd && ((!gpu.integrated && !draws) || (kfd && kfd->exists)))
    needs.add("/dev/kfd", machine.amd.module_loaded);
  add_render(machine, gpu, needs);
  return needs.take();
}

bool reachable(const Machine& machine, const Gpu& gpu) {
  const auto nodes = nodes_of(machine, gpu);
  return !nodes.empty() && std::ranges::all_of(nodes, [](const NodeAccess& access) {
    return access.state == NodeState::open;
  });
}

// All of them, in whatever state.
bool has_its_nodes(const Machine& machine, const Gpu& gpu) {
  const auto nodes = nodes_of(machine, gpu);
  return !nodes.empty() && std::ranges::none_of(nodes, [](const NodeAccess& access) {
    return access.state == NodeState::missing;
  });
}

bool is_spare(const Machine& machine, const Gpu& gpu) {
  return gpu.integrated && std::ranges::any_of(machine.gpus, [&](const Gpu& other) {
           return !other.integrated && reachable(machine, other);
         });
}

bool given_others(const Machine& machine, const Gpu& gpu, NodeState state) {
  const bool handed_out = machine.container.runtime || state == NodeState::refused;
  if (state == NodeState::open || !handed_out) return false;
  return std::ranges::any_of(machine.gpus, [&](const Gpu& other) {
    if (&other == &gpu) return false;
    // What was handed in says what was left out, even where it may not be opened any more.
    if (state == NodeState::missing)
      return (gpu.integrated || !other.integrated) && has_its_nodes(machine, other);
    // A node that exists was handed in: other vendors' GPUs do not explain why it is refused.
    return gpu.vendor == other.vendor && reachable(machine, other);
  });
}

}  // namespace gpuready
