// Device nodes: missing, stale, or closed to this process, for GPUs of all vendors.
// Nodes: machine/system/gpu_nodes.h. Cgroup device rules answer EPERM where file permissions answer
// EACCES. Static and dynamic majors: Linux, Documentation/admin-guide/devices.txt.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "machine/system/gpu_nodes.h"

namespace gpuready::doctor {
namespace {

// path_resolution(7) and mount_namespaces(7) of Linux: a node on a file system mounted nodev, or
// one that a security module guards, is refused with EACCES whatever its mode says.
constexpr std::uint32_t kEverybody = 0006;    // others may read and write
constexpr std::uint32_t kOverflowId = 65534;  // an id of the host that has no name in here

// What podman is to hand in; NVIDIA's nodes have a name of CDI instead.
std::string_view devices_of(const DeviceNode& node) {
  if (node.path.starts_with("/dev/dri")) return "--device /dev/dri ";
  return node.path == "/dev/kfd" ? "--device /dev/kfd --device /dev/dri " : "";
}

// Where the node's mode is not the reason: sets title, explanation and cure of the match, and adds
// the proof.
void explain_refusal(const Machine& machine, const DeviceNode& node, Match& match) {
  const bool open_to_all = node.mode && (*node.mode & kEverybody) == kEverybody;
  const bool in_namespace = machine.system.user_namespace.value_or(false);
  if (!open_to_all) {
    if (machine.system.effective_uid == 0 && !in_namespace) {
      match.explanation =
          "Root lacks the capability to bypass file permissions (CAP_DAC_OVERRIDE), and is not "
          "in the nodes' group.";
      match.cure = "Start the process in the nodes' group, or leave it that capability.";
      if (!in_container(machine)) match.command = "";
      return;
    }
    if (!in_namespace || node.gid != kOverflowId) return;
    match.explanation =
        "The nodes belong to a group of the host that this user namespace does not know, so no "
        "group in here can open them.";
    match.cure =
        "On the host, be in the nodes' group (usermod -aG render USER, then a new login). Start "
        "the container with its nodes and with that user's groups, which podman keeps with the "
        "runtime crun only: runc ignores keep-groups.";
    match.command = fmt::format("podman run {}--group-add keep-groups IMAGE", devices_of(node));
    match.evidence.push_back(evidence("/proc/self/uid_map", "a user namespace"));
    return;
  }
  match.explanation =
      "The nodes' mode lets everybody use them, so something other than file permissions refuses.";
  if (node.nodev.value_or(false)) {
    match.title = "The GPU's device nodes are on a file system that forbids device nodes";
    match.cure =
        "Hand the nodes in as devices and not as files, or mount that file system "
        "without nodev.";
    match.command = "findmnt -T " + node.path;
    match.evidence.push_back(evidence("/proc/self/mountinfo", "mounted nodev"));
  } else if (machine.system.selinux_enforcing.value_or(false)) {
    match.title = "SELinux keeps this process from the GPU's device nodes";
    match.cure = in_container(machine)
                     ? "Let containers use devices (setsebool -P container_use_devices 1 on the "
                       "host), or start this one without confinement (--security-opt "
                       "label=disable)."
                     : "Restore the nodes' labels. If it is refused again, allow what the audit "
                       "log names (ausearch -m AVC -ts recent | audit2allow -M NAME, then semodule "
                       "-i NAME.pp).";
    match.command =
        in_container(machine) ? "setsebool -P container_use_devices 1" : "restorecon -Rv /dev";
    match.evidence.push_back(evidence("/sys/fs/selinux/enforce", "1"));
  } else if (in_namespace) {
    match.title = "A user namespace keeps this process from the GPU's device nodes";
    const auto devices = devices_of(node);
    match.cure = fmt::format(
        "Let the runtime hand the nodes in{}, instead of making or mounting them inside.",
        devices.empty() ? " (CDI)" : "");
    match.command = fmt::format("podman run {}IMAGE",
                                devices.empty() ? "--device nvidia.com/gpu=all " : devices);
    match.evidence.push_back(evidence("/proc/self/uid_map", "a user namespace"));
  } else {
    match.cure =
        "Look for a security module (SELinux, AppArmor) in the audit log, and for a nodev "
        "mount.";
    match.command = "findmnt -T " + node.path;
  }
}

constexpr std::size_t kQuotedNodes = 4;

// What a container or a host without nodes must be given.
struct Ways {
  Vendor vendor;
  Ask give, again;
};
constexpr Ways kWays[] = {
    {Vendor::nvidia, Ask::nvidia_gpus, Ask::nvidia_again},
    {Vendor::amd, Ask::amd_devices, Ask::amd_devices},
    {Vendor::intel, Ask::intel_devices, Ask::intel_devices},
};

struct OnHost {
  std::string_view node, cure, command;
};
constexpr OnHost kOnHost[] = {
    {"/dev/nvidia",
     "Create the nodes now; nvidia-modprobe does it, and needs to be setuid root for users. "
     "Enable nvidia-persistenced, so that they are there after each start.",
     "nvidia-modprobe -c0 -u"},
    {"/dev/kfd",
     "Use a kernel that was built with CONFIG_HSA_AMD (grep finds it set), or install amdgpu-dkms.",
     "grep CONFIG_HSA_AMD /boot/config-{kernel}"},
    {"/dev/dri", "Let udev create the nodes that the kernel's driver registered.",
     "udevadm trigger --subsystem-match=drm --action=add"},
};

// The nodes in one state, of all GPUs of a vendor that it keeps from work.
struct Trouble {
  Match match;
  std::vector<NodeAccess> nodes;  // each once
  bool partly = false;            // other nodes of these GPUs are open
};

void add_gpu(Match& match, const Gpu& gpu) {
  match.gpus.push_back(gpu.index);
  if (gpu.pci) match.pci.push_back(*gpu.pci);
}

std::optional<Trouble> trouble(const Machine& machine, Vendor vendor, NodeState state) {
  Trouble found;
  bool needed = false;
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != vendor || given_others(machine, gpu, state)) continue;
    if (state == NodeState::missing && not_given(machine, gpu) && !is_spare(machine, gpu)) continue;
    bool any = false;
    for (auto& access : nodes_of(machine, gpu)) {
      found.partly |= access.state == NodeState::open;
      if (access.state != state) continue;
      any = true;
      if (std::ranges::find(found.nodes, access.path, &NodeAccess::path) == found.nodes.end())
        found.nodes.push_back(std::move(access));
    }
    if (!any) continue;
    add_gpu(found.match, gpu);
    needed |= !is_spare(machine, gpu);
  }
  if (found.nodes.empty()) return std::nullopt;
  if (!needed) found.match.severity = Severity::info;
  return found;
}

std::string names(const std::vector<NodeAccess>& nodes) {
  std::vector<std::string> paths;
  for (const auto& access : nodes) paths.push_back(access.path);
  if (paths.size() > 3) return fmt::format("{} and {} more", paths[0], paths.size() - 1);
  return join(paths, ", ");
}

std::string needed_by(const std::vector<NodeAccess>& nodes) {
  return fmt::format("{} cannot start without {}.", nodes.front().needed_by, names(nodes));
}

// Linux before 6.12 has 64 nodes for all of a machine's GPUs and screens (drm_drv.c).
std::vector<Match> partitions_without_nodes(const Machine& machine) {
  std::vector<Match> matches;
  for (const auto& hit : log_hits(machine, {"amdgpu: Skip xcp node #"})) {
    if (!hit.pci || !pci_device(machine, *hit.pci)) continue;
    Match match = about(machine, *hit.pci);
    match.severity = Severity::warning;
    match.title = "The kernel has no device nodes left for some of the GPU's partitions";
    match.explanation =
        "Partitions of a GPU have a render node each, and the kernel's numbers for them ran out: "
        "programs cannot use the other partitions.";
    match.cure =
        "Divide the GPUs into fewer partitions (amd-smi set --compute-partition), or use Linux "
        "6.12 or newer, whose numbers suffice.";
    match.evidence.push_back(evidence("kernel log", hit.text));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> nodes_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& ways : kWays) {
    auto found = trouble(machine, ways.vendor, NodeState::missing);
    if (!found) continue;
    Match match = std::move(found->match);
    for (const auto& access : found->nodes)
      if (match.evidence.size() < kQuotedNodes)
        match.evidence.push_back(evidence(access.path, "no such device node"));
    for (const auto& address : match.pci)
      if (const auto* device = pci_device(machine, address);
          device && device->driver && match.evidence.size() < kQuotedNodes)
        match.evidence.push_back(driver_of(*device));
    match.explanation =
        "The kernel's driver runs the GPU, and this system lacks nodes through which programs "
        "reach "
        "it. " +
        needed_by(found->nodes);
    if (in_container(machine)) {
      match.title = found->partly ? "The container was given only some of the GPU's device nodes"
                                  : "The container was given no GPU";
      match.explanation = "The host's driver runs the GPU, and the container lacks its nodes. " +
                          needed_by(found->nodes);
      const bool tegra = ways.vendor == Vendor::nvidia && machine.system.jetson_release;
      cure_in_container(match, machine, tegra ? Ask::tegra_gpu : ways.give);
      if (const auto& asked = machine.visibility.nvidia_visible_devices;
          asked && ways.vendor == Vendor::nvidia) {
        match.evidence.push_back(evidence("environment", "NVIDIA_VISIBLE_DEVICES=" + *asked));
        if (*asked == "void" || *asked == "none")
          *match.explanation +=
              " NVIDIA_VISIBLE_DEVICES tells NVIDIA's runtime to hand none in; Kubernetes sets it "
              "so for pods that ask for none.";
        else if (!tegra)
          *match.explanation +=
              " NVIDIA_VISIBLE_DEVICES asks for GPUs, and NVIDIA's runtime, which reads it, did "
              "not start this container.";
      }
    } else {
      for (const auto& row : kOnHost)
        if (found->nodes.front().path.starts_with(row.node)) {
          match.cure = std::string(row.cure);
          match.command = std::string(row.command);
          break;
        }
      // amdkfd of Linux before 6.6 (kfd_iommu.c).
      for (const auto& hit :
           log_hits(machine, {"amdgpu: ...error getting iommu info. is the iommu enabled"})) {
        if (found->nodes.front().path != "/dev/kfd") break;
        match.evidence.push_back(evidence("kernel log", hit.text));
        match.cure =
            "Turn the IOMMU on in the machine's firmware settings (and remove amd_iommu=off from "
            "the kernel's command line): ROCm needs it for graphics in the processor.";
      }
    }
    matches.push_back(std::move(match));
  }
  for (auto& match : partitions_without_nodes(machine)) matches.push_back(std::move(match));
  return matches;
}

// Groups below 100 are the distribution's own (root, disk, wheel, sudo), with rights beyond GPUs;
// video alone is for them. Debian's base-passwd, Fedora's setup.
bool is_for_gpus(const DeviceNode& node) {
  constexpr std::uint32_t kFirstOther = 100, kDebiansVideo = 44, kFedorasVideo = 39;
  constexpr std::uint32_t kGroupMay = 0060;
  const auto gid = node.gid.value_or(0);
  return (node.mode.value_or(0) & kGroupMay) == kGroupMay &&
         (gid >= kFirstOther || gid == kDebiansVideo || gid == kFedorasVideo);
}

// Membership of the group that owns the nodes, and of no other.
void let_user_in(const Trouble& found, Vendor vendor, Match& match) {
  std::set<std::uint32_t> groups;
  for (const auto& access : found.nodes) groups.insert(access.node->gid.value_or(0));
  const auto numbers = fmt::format("{}", fmt::join(groups, ","));
  const auto other = std::ranges::find_if(
      found.nodes, [](const NodeAccess& access) { return !is_for_gpus(*access.node); });
  if (other == found.nodes.end()) {
    constexpr std::string_view kDrm = "/dev/dri/renderD";
    const bool render = vendor != Vendor::nvidia && groups.size() == 1 && *groups.begin() >= 100 &&
                        found.nodes.front().path.starts_with(kDrm);
    match.cure = fmt::format("Add the user to the nodes' group ({}{}), then log in again.", numbers,
                             render ? ", mostly named render" : "");
    match.command = fmt::format("usermod -aG {} \"$USER\"", numbers);
    return;
  }
  match.cure = fmt::format(
      "Give the nodes to a group of GPU users, and add the user to it; group {}, which has {} now, "
      "would give no access or other rights, too. {}",
      other->node->gid.value_or(0), other->path,
      vendor == Vendor::nvidia
          ? "The nvidia module's options NVreg_DeviceFileGID and NVreg_DeviceFileMode=0660 do it."
          : "A rule of udev does it: KERNEL==\"kfd|renderD*\", GROUP=\"render\", MODE=\"0660\".");
  match.command = "";
}

// WSL 2 has one node for the GPUs of all vendors. It is open to everybody; a service's sandbox or a
// rule of udev may close it.
std::vector<Match> dxg_closed(const Machine& machine, std::string_view error) {
  const auto* dxg = machine.system.wsl2 ? node(machine, "/dev/dxg") : nullptr;
  if (!dxg || dxg->open_error != error) return {};
  Match match;
  match.evidence.push_back(
      evidence(dxg->path, fmt::format("may not be opened: {} (mode {:04o}, user {})", error,
                                      dxg->mode.value_or(0), machine.system.effective_uid)));
  return {match};
}

std::vector<Match> node_permission(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = dxg_closed(machine, "EACCES");
  for (auto& match : matches) {
    if ((node(machine, "/dev/dxg")->mode.value_or(0) & kEverybody) == kEverybody) {
      match.explanation = "Its mode lets everybody in, so something else refuses this process.";
      match.cure =
          "Look at what surrounds the process: a sandbox (AppArmor, systemd's DeviceAllow), a user "
          "namespace, a file system mounted with nodev.";
    } else {
      match.cure = "Let everybody open /dev/dxg, as WSL does.";
      match.command = "chmod 0666 /dev/dxg";
    }
  }
  for (const auto& ways : kWays) {
    auto found = trouble(machine, ways.vendor, NodeState::no_permission);
    if (!found) continue;
    Match match = std::move(found->match);
    const DeviceNode& first = *found->nodes.front().node;
    match.explanation =
        "The nodes exist, and their file permissions refuse this user. " + needed_by(found->nodes);
    match.values.emplace_back("gid", std::to_string(first.gid.value_or(0)));
    if (in_container(machine))
      cure_in_container(match, machine, Ask::node_group);
    else
      let_user_in(*found, ways.vendor, match);
    explain_refusal(machine, first, match);
    for (const auto& access : found->nodes)
      if (match.evidence.size() < kQuotedNodes)
        match.evidence.push_back(evidence(
            access.path, fmt::format("may not be opened: EACCES (mode {:04o}, group {}, user {})",
                                     access.node->mode.value_or(0), access.node->gid.value_or(0),
                                     machine.system.effective_uid)));
    matches.push_back(std::move(match));
  }
  return matches;
}

bool started(const Machine& machine, Vendor vendor) {
  const auto& start = vendor == Vendor::nvidia ? machine.nvidia.cuda_start : machine.amd.start;
  return start && start->ok() && vendor != Vendor::intel;
}

std::vector<Match> nodes_stale(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& ways : kWays) {
    auto found = trouble(machine, ways.vendor, NodeState::stale);
    if (!found || started(machine, ways.vendor)) continue;
    Match match = std::move(found->match);
    for (const auto& access : found->nodes)
      if (match.evidence.size() < kQuotedNodes) {
        match.evidence.push_back(
            evidence(access.path, fmt::format("major {}", *access.node->device_major)));
        match.evidence.push_back(evidence(
            "/proc/devices", fmt::format("{} for its driver", *access.node->driver_major)));
      }
    match.explanation =
        "A node leads to a driver by its major number. The driver got another one when it was "
        "loaded again, and the node still has the old one. " +
        needed_by(found->nodes);
    if (in_container(machine)) cure_in_container(match, machine, Ask::new_nodes);
    if (!in_container(machine))
      match.command = ways.vendor == Vendor::nvidia
                          ? fmt::format("rm {} && nvidia-modprobe -c0 -u", found->nodes[0].path)
                          : fmt::format("rm {} && udevadm trigger", found->nodes[0].path);
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> cgroup_refuses(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = dxg_closed(machine, "EPERM");
  for (auto& match : matches) {
    match.title = "A device control group keeps this process from the GPU";
    match.explanation =
        "The control group that this process runs in does not allow /dev/dxg, by which WSL 2 hands "
        "GPUs in.";
    match.cure = "Allow it where the process is started: DeviceAllow=/dev/dxg of its service.";
    if (in_container(machine)) cure_in_container(match, machine, Ask::nvidia_again);
  }
  for (const auto& ways : kWays) {
    auto found = trouble(machine, ways.vendor, NodeState::refused);
    const bool nvidia = ways.vendor == Vendor::nvidia;
    const auto* nvml = nvidia ? failed_start(machine.nvidia.nvml_start, {17, 999}) : nullptr;
    const auto* control = node(machine, "/dev/nvidiactl");
    // NVML 999 in a container with its nodes in place is this cause's usual face.
    const bool lost = nvml && in_container(machine) && control && control->exists;
    if (!found && !lost) continue;
    Match match = found ? std::move(found->match) : about_all(machine, ways.vendor);
    if (found)
      for (const auto& access : found->nodes)
        if (match.evidence.size() < kQuotedNodes - 1)
          match.evidence.push_back(evidence(access.path, "may not be opened: EPERM"));
    if (nvml) match.evidence.push_back(evidence(*nvml));
    if (machine.container.cgroup_path)
      match.evidence.push_back(evidence("/proc/self/cgroup", *machine.container.cgroup_path));
    if (in_slurm_job(machine)) {
      match.title = "The Slurm job has no GPU";
      match.explanation =
          "Slurm lets a job use the GPUs that it asked for, and the device control group of this "
          "job refuses them all.";
    } else if (!in_container(machine)) {
      match.title = "A device control group keeps this process from the GPU";
      match.explanation =
          "The nodes are there, and the control group that this process runs in "
          "does not allow them.";
      match.cure =
          "Allow the nodes where the process is started, and restart it: DeviceAllow=char-nvidia "
          "rw and char-nvidia-uvm rw (AMD: char-kfd and char-drm, Intel: char-drm) of a systemd "
          "service, or the devices of a batch system.";
    } else if (!nvidia) {
      match.title = "The container's device control group refuses the GPU";
      match.explanation =
          "The nodes are there, as files only: a container may open a node that "
          "its runtime was asked to allow.";
    }
    if (in_container(machine) || in_slurm_job(machine))
      cure_in_container(match, machine, ways.again);
    matches.push_back(std::move(match));
  }
  return matches;
}

// kfd_process.c of Linux answers EINVAL while KFD is locked. A GPU that leaves amdgpu locks it for
// the others until amdgpu is loaded again; access(2) does not show that, ROCm's start does.
std::vector<Match> kfd_locked(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto* kfd = node(machine, "/dev/kfd");
  if (!kfd || !kfd->exists || std::ranges::count(machine.gpus, "amdgpu", &Gpu::driver) == 0)
    return {};
  const auto loaded = log_hits(machine, {"amdgpu: amdgpu kernel modesetting enabled"});
  auto left = log_hits(machine, {"amdgpu: finishing device"});
  std::erase_if(left, [&](const LogHit& hit) {
    const auto* device = hit.pci ? pci_device(machine, *hit.pci) : nullptr;
    return !hit.pci || (device && !passes_through(device->driver.value_or(""))) ||
           (!loaded.empty() && hit.line < loaded.back().line);
  });
  const auto* failed = failed_start(machine.amd.start, {4104});  // out of resources
  const bool refused = kfd->open_error == "EINVAL";
  if (!refused && (left.empty() || !failed || kfd->openable == false)) return {};
  Match match = about_all(machine, Vendor::amd);
  if (refused) match.evidence.push_back(evidence(kfd->path, "may not be opened: EINVAL"));
  if (!left.empty()) match.evidence.push_back(evidence("kernel log", left.back().text));
  if (failed) match.evidence.push_back(evidence(*failed));
  return {match};
}

}  // namespace

std::vector<Cause> access_causes() {
  const std::vector<std::string_view> kClosed = {
      "nvml-start-failed",  "cuda-start-failed",   "gpu-not-listed",       "nvml-library-missing",
      "expected-gpu-count", "uvm-missing",         "cuda-library-missing", "hidden-by-variable",
      "rocm-start-failed",  "vulkan-software-only"};
  return {
      {.id = "device-nodes-missing",
       .title = "The GPU's device nodes are missing",
       .explanation = "The kernel's driver runs the GPU, and this system lacks nodes through which "
                      "programs reach it.",
       .cure = "Create the nodes.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = kClosed,
       .match = nodes_missing},
      {.id = "device-node-stale",
       .title = "A device node leads to no driver",
       .explanation = "The node has another major number than its driver.",
       .cure = "Delete the node and let it be created again.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = kClosed,
       .match = nodes_stale},
      {.id = "device-node-permission",
       .title = "This user may not open the GPU's device nodes",
       .explanation = "The nodes exist, and their file permissions refuse this user.",
       .cure = "Add the user to the nodes' group, then log in again.",
       .command = "usermod -aG {gid} \"$USER\"",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = kClosed,
       .match = node_permission},
      {.id = "kfd-locked",
       .title = "The kernel's driver for ROCm (KFD) refuses every program",
       .explanation =
           "KFD is locked: a GPU was taken from amdgpu (for a virtual machine, or pulled "
           "out), or did not come back from a reset or sleep. Opening /dev/kfd fails "
           "until amdgpu is loaded again, whatever ROCm is installed.",
       .cure =
           "Stop what uses AMD's GPUs, and load amdgpu again; if that fails, reboot. To keep it "
           "from recurring, give GPUs for virtual machines to vfio-pci at boot, before amdgpu "
           "drives them, or use Linux 7.0 or newer.",
       .command = "modprobe -r amdgpu && modprobe amdgpu",
       .action = Action::reload_driver,
       .backing = Backing::looked,
       .explains = {"rocm-start-failed", "rocm-newer-than-driver", "expected-gpu-count"},
       .match = kfd_locked},
      {.id = "cgroup-revoked",
       .title = "The container has lost its access to the GPU",
       .explanation =
           "The nodes are there, and the device cgroup refuses them: a reload of systemd "
           "drops what a runtime added behind its back.",
       .cure = "Recreate the container; to keep it from recurring, use CDI devices or the "
               "cgroupfs driver.",
       .action = Action::configure,
       .terms = kAtLaunch,
       .explains = kClosed,
       .match = cgroup_refuses},
  };
}

}  // namespace gpuready::doctor
