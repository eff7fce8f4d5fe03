// Device files of GPUs: whether they exist, and who may use them. Nothing is opened: opening
// /dev/nvidia0 starts the GPU when persistence is off, and opening /dev/kfd makes a process known
// to every AMD GPU.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/errno_names.h"
#include "machine/sources.h"
#include "machine/system/drm_cards.h"
#include "machine/system/gpu_nodes.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready {
namespace {
constexpr std::size_t kMountsMax = 4u << 20;

struct NodeRule {
  const char* path;
  Vendor vendor;  // other: of any machine
  bool expected;  // told even when absent, once its vendor's driver is there
};
constexpr NodeRule kFixed[] = {
    {"/dev/nvidiactl", Vendor::nvidia, true},
    {"/dev/nvidia-uvm", Vendor::nvidia, true},
    {"/dev/nvidia-uvm-tools", Vendor::nvidia, false},
    {"/dev/nvidia-modeset", Vendor::nvidia, false},
    {"/dev/nvidia-nvswitchctl", Vendor::nvidia, false},
    {"/dev/nvhost-gpu", Vendor::nvidia, false},
    {"/dev/nvhost-ctrl-gpu", Vendor::nvidia, false},
    {"/dev/nvmap", Vendor::nvidia, false},  // Tegra's allocator of memory
    {"/dev/dxg", Vendor::other, false},
    {"/dev/kfd", Vendor::amd, true},
};

DeviceNode& add_node(Host& host, Machine& machine, const std::string& path) {
  auto& node = machine.nodes.emplace_back();
  node.path = path;
  const auto status = host.status(path);
  if (!status) {
    note_unseen(machine, path, status.error());
    return node;
  }
  node.exists = true;
  node.mode = status->mode;
  node.uid = status->uid;
  node.gid = status->gid;
  if (status->kind == FileKind::character_device || status->kind == FileKind::block_device) {
    node.device_major = status->device_major;
    node.device_minor = status->device_minor;
  }
  return node;
}

// proc(5): "36 35 98:0 /root /mount/point rw,nosuid,nodev ..."; the innermost mount counts, and of
// several on one point the last.
std::optional<bool> mounted_nodev(std::string_view mounts, std::string_view path) {
  std::optional<bool> nodev;
  std::size_t longest = 0;
  for (const auto line : lines(mounts)) {
    const auto fields = split(line, " ");
    if (fields.size() < 6) continue;
    const auto point = fields[4];
    const bool above = path.starts_with(point) &&
                       (point == "/" || path.size() == point.size() || path[point.size()] == '/');
    if (!above || point.size() < longest) continue;
    longest = point.size();
    const auto options = split(fields[5], ",");
    nodev = std::find(options.begin(), options.end(), "nodev") != options.end();
  }
  return nodev;
}

std::string error_name(const Error& error) {
  if (const auto name = errno_name(error.code); !name.empty()) return std::string(name);
  return error.kind == ErrorKind::no_permission ? "EACCES" : error.message;
}

// A mount with nodev refuses the open alone: access(2) does not report it.
void ask_access(Host& host, DeviceNode& node, std::string_view mounts) {
  const auto allowed = host.may_open(node.path);
  if (!allowed && allowed.error().kind == ErrorKind::not_recorded) return;
  node.openable = allowed.has_value();
  if (!allowed) node.open_error = error_name(allowed.error());
  node.nodev = mounted_nodev(mounts, node.path);
  if (!allowed || node.nodev != true) return;
  node.openable = false;
  node.open_error = "EACCES";
}

// A node is found again by its number. The driver registers its major when it is loaded, and some
// get another one each time; a container's node keeps the old one.
void add_driver_majors(Host& host, Machine& machine) {
  const auto text = host.read_file("/proc/devices");
  if (!text) return;
  const auto majors = parse_char_majors(*text);
  for (auto& node : machine.nodes) {
    const auto* owner = node_owner(node.path);
    if (!node.device_major || owner == nullptr) continue;
    for (const auto name : split(owner->registered_as, " "))
      if (const auto major = majors.find(name); major != majors.end() && !node.driver_major)
        node.driver_major = major->second;
  }
}

// Nodes of DRM that the kernel has and /dev may lack, and which GPU each is of.
void add_drm_nodes(Host& host, Machine& machine) {
  for (const auto& drm : drm_nodes(host)) {
    if (machine.find_gpu(drm.gpu) == nullptr) continue;
    const std::string path = "/dev/dri/" + drm.name;
    const auto known = std::ranges::find(machine.nodes, path, &DeviceNode::path);
    if (known != machine.nodes.end())
      known->pci = drm.gpu;
    else if (const auto status = host.status(path);
             !status && status.error().kind == ErrorKind::not_found)
      add_node(host, machine, path).pci = drm.gpu;
  }
}

bool driver_of(const Machine& machine, Vendor vendor) {
  if (vendor == Vendor::nvidia) return machine.nvidia.module_loaded;
  if (vendor == Vendor::amd) return machine.amd.module_loaded || machine.amd.kfd_present;
  return false;
}

void list_numbered(Host& host, Machine& machine, const std::string& folder,
                   std::string_view prefix) {
  const auto names = host.list_directory(folder);
  if (!names) return;
  for (const auto& name : *names) {
    const auto number = after_prefix(name, prefix);
    if (number && parse_uint(*number)) add_node(host, machine, folder + "/" + name);
  }
}
}  // namespace

void read_device_nodes(Host& host, Machine& machine) {
  for (const auto& rule : kFixed) {
    const bool driver = driver_of(machine, rule.vendor);
    if (!rule.expected && !host.exists(rule.path)) continue;
    if (rule.expected && !driver && !host.exists(rule.path)) continue;
    add_node(host, machine, rule.path);
  }
  list_numbered(host, machine, "/dev", "nvidia");
  list_numbered(host, machine, "/dev", "nvidia-nvswitch");
  list_numbered(host, machine, "/dev/nvidia-caps", "nvidia-cap");
  list_numbered(host, machine, "/dev/dri", "card");
  list_numbered(host, machine, "/dev/dri", "renderD");
  add_drm_nodes(host, machine);
  // A GPU that the driver runs and that has no file here was not handed into this container, or its
  // file was never made.
  for (const auto& gpu : machine.gpus) {
    if (!gpu.minor_number || gpu.driver != "nvidia") continue;
    const std::string path = "/dev/nvidia" + std::to_string(*gpu.minor_number);
    const bool known = std::any_of(machine.nodes.begin(), machine.nodes.end(),
                                   [&](const DeviceNode& node) { return node.path == path; });
    if (!known) add_node(host, machine, path);
  }
  add_driver_majors(host, machine);
  if (!machine.full) return;
  const auto mounts = host.read_file("/proc/self/mountinfo", kMountsMax);
  for (auto& node : machine.nodes)
    if (node.exists) ask_access(host, node, mounts.value_or(""));
}

}  // namespace gpuready
