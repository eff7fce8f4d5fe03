// Package names: NVIDIA's Driver Installation Guide (nvidia-open, cuda-compat), AMD's ROCm
// installation guide (amdgpu-dkms), and the distributions' own packages of firmware.
// Runtimes: NVIDIA Container Toolkit's guide (docker --gpus, CDI names for podman), Kubernetes'
// device plugins (limits), Slurm's gres.
#include "doctor/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/platforms.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "value/about.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

struct Task {
  std::string_view name;
  std::string_view debian, ubuntu, fedora, suse, arch;  // empty: there is no one command for it
  std::string_view yum = {}, gentoo = {}, alpine = {};
};
constexpr Task kTasks[] = {
    {"install-open-driver", "apt-get install nvidia-open", "apt-get install nvidia-open",
     "dnf install nvidia-open", "zypper install nvidia-open", "pacman -S nvidia-open"},
    {"install-driver", "", "ubuntu-drivers install", "", "", ""},
    {"install-built-modules", "", "apt-get install {modules}-{kernel}", "", "", ""},
    // Branch 580, the last one for Maxwell to Volta.
    {"install-proprietary-driver",
     "apt-get install nvidia-driver-pinning-580 && apt-get install cuda-drivers",
     "apt-get install nvidia-driver-580", "", "", ""},
    {"upgrade-driver", "apt-get install --only-upgrade nvidia-open",
     "apt-get install --only-upgrade nvidia-open", "dnf upgrade nvidia-open",
     "zypper update nvidia-open", "pacman -Syu"},
    {"install-libcuda", "apt-get install libcuda1", "ubuntu-drivers install --gpgpu",
     "dnf install nvidia-driver-cuda", "zypper install nvidia-compute-G06",
     "pacman -S nvidia-utils", "", "emerge x11-drivers/nvidia-drivers"},
    {"install-tegra-cuda", "apt-get install nvidia-l4t-cuda", "apt-get install nvidia-l4t-cuda", "",
     "", ""},
    {"remove-linux-driver", "apt-get purge 'libnvidia-*' 'nvidia-driver-*' libcuda1",
     "apt-get purge 'libnvidia-*' 'nvidia-driver-*'", "dnf remove 'nvidia-driver*'",
     "zypper remove 'nvidia-*-G06*'", "pacman -Rs nvidia-utils"},
    {"remove-cuda-compat", "apt-get remove 'cuda-compat-*'", "apt-get remove 'cuda-compat-*'",
     "dnf remove 'cuda-compat-*'", "zypper remove 'cuda-compat-*'", "",
     "yum remove 'cuda-compat-*'"},
    {"install-headers", "apt-get install linux-headers-{kernel}",
     "apt-get install linux-headers-{kernel}", "dnf install kernel-devel-{kernel}", "", "",
     "yum install kernel-devel-{kernel}"},
    {"rebuild-initramfs", "update-initramfs -u", "update-initramfs -u", "dracut --force",
     "dracut --force", "mkinitcpio -P", "dracut --force", "", "mkinitfs"},
    {"enrol-dkms-key", "mokutil --import /var/lib/dkms/mok.pub",
     "mokutil --import /var/lib/shim-signed/mok/MOK.der", "mokutil --import /var/lib/dkms/mok.pub",
     "mokutil --import /var/lib/dkms/mok.pub", "mokutil --import /var/lib/dkms/mok.pub",
     "mokutil --import /var/lib/dkms/mok.pub"},
    {"install-amdgpu-dkms", "apt-get install amdgpu-dkms", "apt-get install amdgpu-dkms",
     "dnf install amdgpu-dkms", "zypper install amdgpu-dkms", "", "yum install amdgpu-dkms"},
    {"reinstall", "apt-get install --reinstall", "apt-get install --reinstall", "dnf reinstall",
     "zypper install --force", "", "yum reinstall"},
    {"install-firmware", "apt-get install firmware-amd-graphics firmware-misc-nonfree",
     "apt-get install linux-firmware", "dnf install linux-firmware",
     "zypper install kernel-firmware-all", "pacman -S linux-firmware", "yum install linux-firmware",
     "emerge sys-kernel/linux-firmware", "apk add linux-firmware"},
};

// What the driver's modules come from (NvidiaDriver::modules_from, else a family without DKMS): how
// they are built for another kernel, and the key that signs them.
struct Origin {
  std::string_view from, cure, rebuild, key;
};
constexpr Origin kOrigins[] = {
    {"dkms", "", "dkms autoinstall -k {kernel}", "{do:enrol-dkms-key}"},
    {"akmods", "Rebuild the driver's modules for the running kernel with akmods",
     "akmods --force --kernels {kernel}",
     "kmodgenca -a; mokutil --import /etc/pki/akmods/certs/public_key.der"},
    {"packages", "Install the driver's modules that the distribution built for the running kernel",
     "{do:install-built-modules}", ""},
    {"runfile",
     "Build the driver's modules for the running kernel with NVIDIA's installer "
     "(NVIDIA-Linux-*.run of the installed version)",
     "", ""},
    {"container",
     "Let the GPU Operator build the driver's modules for the running kernel (delete this node's "
     "pod of nvidia-driver-daemonset)",
     "", ""},
    {"gentoo", "Build the driver's modules with Portage for the running kernel",
     "emerge @module-rebuild", ""},
    {"alpine", "Install the driver's modules of the running kernel, or build them for it", "", ""},
};
const Origin& origin_of(const Machine& machine) {
  const Family family = family_of(machine);
  const std::string known = machine.nvidia.modules_from.value_or("none");
  const std::string_view from = known != "none"            ? std::string_view(known)
                                : family == Family::gentoo ? "gentoo"
                                : family == Family::alpine ? "alpine"
                                                           : "";
  const auto* row =
      std::ranges::find(kOrigins, from, [](const Origin& origin) { return origin.from; });
  return row == std::end(kOrigins) ? kOrigins[0] : *row;
}

std::string_view command_of(const Task& task, Family family) {
  switch (family) {
    case Family::debian:
      return task.debian;
    case Family::ubuntu:
      return task.ubuntu;
    case Family::fedora:
      return task.fedora;
    case Family::suse:
      return task.suse;
    case Family::arch:
      return task.arch;
    case Family::yum:
      return task.yum;
    case Family::gentoo:
      return task.gentoo;
    case Family::alpine:
      return task.alpine;
    case Family::unknown:
      break;
  }
  return {};
}

struct Id {
  std::string_view name;
  Family family;
};
constexpr Id kIds[] = {
    {"ubuntu", Family::ubuntu}, {"debian", Family::debian}, {"fedora", Family::fedora},
    {"rhel", Family::fedora},   {"centos", Family::fedora}, {"amzn", Family::fedora},
    {"suse", Family::suse},     {"sles", Family::suse},     {"opensuse", Family::suse},
    {"arch", Family::arch},     {"gentoo", Family::gentoo}, {"alpine", Family::alpine},
};

struct ContainerCure {
  Ask ask;
  // Of Container::runtime; "slurm" by the control group; "kubernetes, all" by
  // NVIDIA_VISIBLE_DEVICES=all; empty: others.
  std::string_view runtime;
  std::string_view cure, command;
};
constexpr ContainerCure kContainerCures[] = {
    // So do the pods of device plugins, exporters and validators ask, which hand GPUs out.
    {Ask::nvidia_gpus, "kubernetes, all",
     "Run this pod with NVIDIA's runtime: set runtimeClassName: nvidia in its specification, or "
     "make the runtime the node's default (nvidia-ctk runtime configure --runtime=containerd "
     "--set-as-default, then restart containerd). A pod that computes also asks for "
     "nvidia.com/gpu: 1; one of a device "
     "plugin, an exporter or a validator must not, since NVIDIA_VISIBLE_DEVICES=all gives it all.",
     ""},
    {Ask::nvidia_gpus, "docker", "Start the container with its GPUs.",
     "docker run --gpus all IMAGE"},
    {Ask::nvidia_gpus, "podman",
     "Start the container with its GPUs by their CDI names, which nvidia-ctk generates.",
     "podman run --device nvidia.com/gpu=all IMAGE"},
    {Ask::nvidia_gpus, "kubernetes",
     "Ask for GPUs in the pod's resources: limits: nvidia.com/gpu: 1. If the pod has that, or is "
     "one of the device plugin or an exporter, run it with NVIDIA's runtime (runtimeClassName: "
     "nvidia, or the node's default runtime).",
     ""},
    {Ask::nvidia_gpus, "slurm", "Ask Slurm for GPUs when the job is started.",
     "srun --gpus=1 PROGRAM"},
    {Ask::nvidia_gpus, "apptainer", "Start the container with NVIDIA's libraries and nodes (--nv).",
     "apptainer exec --nv IMAGE PROGRAM"},
    {Ask::nvidia_gpus, "lxc",
     "Give the container its GPU on the host: with LXD or Incus as a device (lxc config device add "
     "NAME gpu gpu, and nvidia.runtime=true); else bind the nodes /dev/nvidia* and allow them in "
     "its device rules.",
     ""},
    {Ask::nvidia_gpus, "flatpak",
     "Let the application use devices, and install Flatpak's extension with the libraries of "
     "exactly the loaded driver (org.freedesktop.Platform.GL.nvidia-VERSION; flatpak update does).",
     "flatpak override --user --device=all APPLICATION"},
    {Ask::nvidia_gpus, "", "Start the container with its GPUs.", ""},
    {Ask::tegra_gpu, "docker",
     "Start the container with NVIDIA's runtime and these variables: without them it mounts "
     "neither a Jetson's nodes nor its libraries. Install none of Jetson Linux's packages in the "
     "container: the host's are mounted.",
     "docker run --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all -e NVIDIA_DRIVER_CAPABILITIES=all "
     "IMAGE"},
    {Ask::tegra_gpu, "podman",
     "Start the container with the GPU by its CDI name, which nvidia-ctk generates (runtime mode "
     "csv).",
     "podman run --device nvidia.com/gpu=all IMAGE"},
    {Ask::tegra_gpu, "",
     "Start the container with NVIDIA's runtime, which mounts a Jetson's nodes and libraries.", ""},
    {Ask::nvidia_compute, "docker",
     "Start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
     "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"},
    {Ask::nvidia_compute, "podman",
     "Start the container by CDI, whose specification names every library of the driver.",
     "podman run --device nvidia.com/gpu=all IMAGE"},
    {Ask::nvidia_compute, "kubernetes",
     "Set NVIDIA_DRIVER_CAPABILITIES=compute,utility in the container's environment.", ""},
    {Ask::nvidia_compute, "",
     "Start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility.", ""},
    {Ask::nvidia_libraries, "lxc",
     "Change the container, not the host, whose kernel module it shares: remove the driver's "
     "packages from the container, and have LXD or Incus hand in the host's libraries "
     "(nvidia.runtime=true); or install in it the libraries of exactly the module's version, "
     "without a kernel module (--no-kernel-modules), and again whenever the host's driver changes.",
     ""},
    {Ask::nvidia_libraries, "flatpak",
     "Update Flatpak's extensions, so that the one with the loaded driver's version is installed "
     "(org.freedesktop.Platform.GL.nvidia-VERSION).",
     "flatpak update"},
    {Ask::nvidia_libraries, "",
     "Recreate the container, so that it gets the libraries of the loaded driver.", ""},
    {Ask::nvidia_again, "docker",
     "Start the container again. To keep it from recurring, have the host create the links of "
     "/dev/char at each start (nvidia-ctk system create-dev-char-symlinks --create-all), or use "
     "CDI devices or Docker's cgroupfs driver.",
     "docker restart CONTAINER"},
    {Ask::nvidia_again, "podman", "Recreate the container with CDI devices.",
     "podman restart CONTAINER"},
    {Ask::nvidia_again, "kubernetes",
     "Delete the pod, so that it is recreated; to prevent recurrence, let the device plugin pass "
     "device specifications (PASS_DEVICE_SPECS=true) or use CDI.",
     ""},
    {Ask::nvidia_again, "slurm", "Start the job again, and ask Slurm for GPUs.",
     "srun --gpus=1 PROGRAM"},
    {Ask::nvidia_again, "", "Recreate the container.", ""},
    {Ask::amd_devices, "docker",
     "Start the container with the GPU's devices (--device, not a volume) and their groups.",
     "docker run --device /dev/kfd --device /dev/dri --group-add video --group-add render IMAGE"},
    {Ask::amd_devices, "podman",
     "Start the container with the GPU's devices (--device, not a volume) and their groups, which "
     "podman keeps with the runtime crun only (runc ignores keep-groups).",
     "podman run --device /dev/kfd --device /dev/dri --group-add keep-groups IMAGE"},
    {Ask::amd_devices, "kubernetes",
     "Ask for GPUs in the pod's resources: limits: amd.com/gpu: 1, and run it in the nodes' "
     "groups (supplementalGroups). A pod of AMD's device plugin is privileged instead.",
     ""},
    {Ask::amd_devices, "slurm", "Ask Slurm for GPUs when the job is started.",
     "srun --gpus=1 PROGRAM"},
    {Ask::amd_devices, "apptainer",
     "Start the container with --rocm; with --contain or --containall, bind the nodes, too.",
     "apptainer exec --rocm --bind /dev/kfd,/dev/dri IMAGE PROGRAM"},
    {Ask::amd_devices, "lxc",
     "Give the container the nodes /dev/kfd and /dev/dri/renderD*, and allow their majors in its "
     "device rules.",
     ""},
    {Ask::amd_devices, "", "Start the container with /dev/kfd, /dev/dri and their groups.", ""},
    {Ask::intel_devices, "docker",
     "Start the container with the GPU's devices (--device, not a volume) and their group.",
     "docker run --device /dev/dri --group-add \"$(stat -c %g /dev/dri/renderD128)\" IMAGE"},
    {Ask::intel_devices, "podman",
     "Start the container with the GPU's devices (--device, not a volume) and their group, which "
     "podman keeps with the runtime crun only (runc ignores keep-groups).",
     "podman run --device /dev/dri --group-add keep-groups IMAGE"},
    {Ask::intel_devices, "kubernetes",
     "Ask for GPUs in the pod's resources, by the name of Intel's device plugin: limits: "
     "gpu.intel.com/xe: 1 (gpu.intel.com/i915 with that driver), and run it in the nodes' group "
     "(supplementalGroups).",
     ""},
    {Ask::intel_devices, "slurm", "Ask Slurm for GPUs when the job is started.",
     "srun --gpus=1 PROGRAM"},
    {Ask::intel_devices, "apptainer",
     "Bind the nodes where the container is started with --contain or --containall.",
     "apptainer exec --bind /dev/dri IMAGE PROGRAM"},
    {Ask::intel_devices, "lxc",
     "Give the container the nodes /dev/dri/renderD*, and allow major 226 in its device rules.",
     ""},
    {Ask::intel_devices, "", "Start the container with /dev/dri and its group.", ""},
    {Ask::node_group, "docker",
     "Start the container in the nodes' group, by its number, or as a user that may open them.",
     "docker run --group-add {gid} IMAGE"},
    {Ask::node_group, "podman",
     "Beside the nodes, keep the groups of the user who starts the container, and be in the nodes' "
     "group on the host. podman keeps groups with the runtime crun only: runc ignores keep-groups.",
     "podman run --group-add keep-groups IMAGE"},
    {Ask::node_group, "kubernetes",
     "Run the pod in the nodes' group: securityContext.supplementalGroups with its number.", ""},
    {Ask::node_group, "apptainer",
     "Be in the nodes' group on the host: the container runs as its user, with its groups.", ""},
    {Ask::node_group, "lxc",
     "Map the nodes' group into the container, or change the nodes' group for it.", ""},
    {Ask::node_group, "", "Start the container in the nodes' group, by its number.", ""},
    {Ask::new_nodes, "docker", "Start the container again: it gets new nodes then.",
     "docker restart CONTAINER"},
    {Ask::new_nodes, "podman", "Start the container again: it gets new nodes then.",
     "podman restart CONTAINER"},
    {Ask::new_nodes, "kubernetes", "Delete the pod, so that a new one gets new nodes.", ""},
    {Ask::new_nodes, "lxc",
     "Bind the host's node into the container (lxc.mount.entry), allow the new major in its device "
     "rules (lxc.cgroup2.devices.allow), and start it again.",
     ""},
    {Ask::new_nodes, "", "Start the container again with the host's nodes of now.", ""},
};

std::string runtime_of(const Machine& machine) {
  if (machine.container.runtime) return *machine.container.runtime;
  if (in_slurm_job(machine)) return "slurm";
  return {};
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Whether a management controller (BMC) may cut the power: no desktop, laptop or tablet has one
// (SMBIOS 3.7, table 17), nor has a board with an Arm processor, and a guest has none of its own.
bool may_have_bmc(const Machine& machine) {
  constexpr int kPersonal[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 30, 31, 32, 35, 36};
  const SystemState& system = machine.system;
  return !system.hypervisor && !system.wsl2 && !machine.container.runtime &&
         !system.jetson_release && !is_plain_arm(machine) &&
         std::ranges::find(kPersonal, system.chassis_type.value_or(0)) == std::end(kPersonal);
}

// What a command, or the text of a change of settings, does at least.
struct Sign {
  std::string_view words;  // advises()
  CureRisk risk;
  CureNeeds needs;
};
constexpr Sign kSigns[] = {
    {"reboot", CureRisk::reboots, CureNeeds::free_machine},
    {"restart the machine", CureRisk::reboots, CureNeeds::free_machine},
    {"start the machine again", CureRisk::reboots, CureNeeds::free_machine},
    {"cut the power", CureRisk::reboots, CureNeeds::free_machine},
    {"power cycle", CureRisk::reboots, CureNeeds::free_machine},
    {"boot with", CureRisk::reboots, CureNeeds::free_machine},
    {"kernel's command line", CureRisk::reboots, CureNeeds::free_machine},
    {"firmware's setup", CureRisk::reboots, CureNeeds::free_machine},
    {"firmware settings", CureRisk::reboots, CureNeeds::free_machine},
    {"in the firmware", CureRisk::reboots, CureNeeds::free_machine},
    {"talosctl upgrade", CureRisk::reboots, CureNeeds::free_machine},
    {"bios", CureRisk::reboots, CureNeeds::free_machine},
    {"initramfs", CureRisk::reboots, CureNeeds::free_machine},
    {"dracut ", CureRisk::reboots, CureNeeds::free_machine},
    {"mkinitcpio ", CureRisk::reboots, CureNeeds::free_machine},
    {"mkinitfs", CureRisk::reboots, CureNeeds::free_machine},
    {"--shutdown", CureRisk::reboots, CureNeeds::free_machine},
    {"--gpu-reset", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"/unbind", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"rmmod ", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"modprobe -r", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"reload", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"modprobe.d", CureRisk::ends_processes, CureNeeds::free_gpu},  // counts when it is loaded
    {"load the driver with", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"reset the gpu", CureRisk::ends_processes, CureNeeds::free_gpu},
    {"systemctl restart", CureRisk::restarts_service, CureNeeds::root},
    {"load the", CureRisk::restarts_service, CureNeeds::root},
    {"load it", CureRisk::restarts_service, CureNeeds::root},
    {"modprobe ", CureRisk::restarts_service, CureNeeds::root},
    {"insmod ", CureRisk::restarts_service, CureNeeds::root},
    {"restart container", CureRisk::ends_processes, CureNeeds::nothing},
    {"apt-get ", CureRisk::harmless, CureNeeds::root},
    {"dnf ", CureRisk::harmless, CureNeeds::root},
    {"yum ", CureRisk::harmless, CureNeeds::root},
    {"zypper ", CureRisk::harmless, CureNeeds::root},
    {"pacman ", CureRisk::harmless, CureNeeds::root},
    {"emerge ", CureRisk::harmless, CureNeeds::root},
    {"apk ", CureRisk::harmless, CureNeeds::root},
    {"dkms ", CureRisk::harmless, CureNeeds::root},
    {"akmods ", CureRisk::harmless, CureNeeds::root},
    {"usermod ", CureRisk::harmless, CureNeeds::root},
    {"chmod ", CureRisk::harmless, CureNeeds::root},
    {"mount ", CureRisk::harmless, CureNeeds::root},
    {"setsebool ", CureRisk::harmless, CureNeeds::root},
    {"sudo ", CureRisk::harmless, CureNeeds::root},
    {"drivers_probe", CureRisk::harmless, CureNeeds::root},
};

constexpr std::uint64_t kFirstOpenOnly = 570;  // it drives GPUs that only the open modules drive

// "{do:NAME}" by the distribution's command; left where there is none.
void fill_tasks(std::string& text, const Machine& machine) {
  if (may_have_bmc(machine)) replace_all(text, "{do:power-cycle}", "ipmitool chassis power cycle");
  // Proxmox VE's packages; the name is another one since its kernel 6.5.
  const std::string_view release = machine.system.kernel_release;
  if (release.ends_with("-pve"))
    replace_all(text, "{do:install-headers}",
                release.starts_with("5.") || release.starts_with("6.2.")
                    ? "apt-get install pve-headers-{kernel}"
                    : "apt-get install proxmox-headers-{kernel}");
  // NVIDIA's repository has nvidia-open, and Ubuntu's archive has the driver by branch. Kernels of
  // clouds have one package of modules that follows the kernel.
  const auto& nvidia = machine.nvidia;
  const auto branch = nvidia.module_version.value_or("").substr(0, 3);
  const bool in_archive = nvidia.modules_from == "packages" || nvidia.modules_from == "none";
  if (family_of(machine) == Family::ubuntu && in_archive && parse_uint(branch) >= kFirstOpenOnly)
    replace_all(text, "{do:install-open-driver}",
                fmt::format("apt-get install nvidia-driver-{0}-open "
                            "linux-modules-nvidia-{0}-open-{1}",
                            branch,
                            release.ends_with("-aws") || release.ends_with("-azure") ||
                                    release.ends_with("-gcp")
                                ? "{flavour}"
                                : "{kernel}"));
  const auto& origin = origin_of(machine);
  if (!origin.rebuild.empty()) replace_all(text, "{do:rebuild-modules}", origin.rebuild);
  if (!origin.key.empty()) replace_all(text, "{do:enrol-key}", origin.key);
  const Family family = family_of(machine);
  for (const auto& task : kTasks) {
    // A Jetson's driver is a part of its system, and WSL 2's comes from Windows.
    if ((machine.system.jetson_release && contains(task.name, "driver")) ||
        (machine.system.wsl2 && task.name == "install-libcuda"))
      continue;
    if (const auto command = command_of(task, family); !command.empty())
      replace_all(text, "{do:" + std::string(task.name) + "}", command);
  }
}

// NVIDIA's services are units of systemd. Where another program starts services, processes are not
// in its slices and scopes.
bool runs_systemd(const Machine& machine) {
  constexpr std::string_view kOthers[] = {"alpine", "artix", "devuan", "gentoo", "void"};
  const std::string ids = machine.system.os_ids.value_or(""),
                    group = machine.container.cgroup_path.value_or("");
  return contains(group, ".slice") || contains(group, ".scope") ||
         std::ranges::find(kOthers, std::string_view(ids).substr(0, ids.find(' '))) ==
             std::end(kOthers);
}

// The job of a user who is not root: the cluster's administrators have all rights, and other jobs
// use the same machine.
bool is_users_job(const Machine& machine) {
  return in_slurm_job(machine) && !in_container(machine) && machine.system.effective_uid != 0;
}

}  // namespace

std::optional<std::string> rebuild_cure(const Machine& machine) {
  const auto& origin = origin_of(machine);
  return origin.cure.empty() ? std::nullopt : std::optional(std::string(origin.cure));
}

Family family_of(const Machine& machine) {
  const auto known = [](std::string_view id) {
    const auto* row = std::find_if(std::begin(kIds), std::end(kIds), [&](const Id& known_id) {
      return id == known_id.name ||
             (known_id.family == Family::suse && id.starts_with(known_id.name));
    });
    return row == std::end(kIds) ? Family::unknown : row->family;
  };
  const std::string ids = machine.system.os_ids.value_or("");
  const std::string name = machine.system.os_name.value_or("") + " ";
  const bool has_yum = contains(name, " 7 ") || contains(name, " 7.") || name == "Amazon Linux 2 ";
  for (const auto id : split(ids, " "))
    if (const auto family = known(id); family != Family::unknown)
      return family == Family::fedora && has_yum ? Family::yum : family;
  return Family::unknown;
}

bool safe_word(std::string_view text) {
  constexpr std::string_view kMarks = "._+~:-";
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != kMarks.npos;
  });
}

void add_command(Finding& finding, std::string text, const Match& match, const Machine& machine) {
  if (text.empty()) return;
  auto values = match.values;
  if (!finding.pci.empty()) values.emplace_back("pci", finding.pci.front().text());
  if (!finding.gpus.empty()) values.emplace_back("index", std::to_string(finding.gpus.front()));
  if (!machine.system.kernel_release.empty())
    values.emplace_back("kernel", machine.system.kernel_release);
  if (const auto& release = machine.system.kernel_release; contains(release, "-"))
    values.emplace_back("flavour", release.substr(release.rfind('-') + 1));
  if (machine.nvidia.modules_package)
    values.emplace_back("modules", *machine.nvidia.modules_package);
  if (machine.nvidia.module_version) values.emplace_back("driver", *machine.nvidia.module_version);
  fill_tasks(text, machine);
  for (const auto& [name, value] : values) {
    const std::string placeholder = "{" + name + "}";
    if (!contains(text, placeholder)) continue;
    if (!safe_word(value)) {
      finding.cure = finding.cure.value_or("") + (finding.cure ? " " : "") +
                     "No command is given: what this machine says for " + placeholder +
                     " holds characters that a shell may execute.";
      return;
    }
    replace_all(text, placeholder, value);
  }
  if (contains(text, "{") || (contains(text, "systemctl ") && !runs_systemd(machine))) return;
  finding.command = std::move(text);
}

void add_terms(Finding& finding, CureTerms stated) {
  if (!finding.cure && !finding.command) return;
  const std::string command = finding.command.value_or(""), cure = finding.cure.value_or("");
  for (const auto& sign : kSigns) {
    if (!advises(command, sign.words) &&
        (finding.action != Action::configure || !advises(cure, sign.words)))
      continue;
    stated.risk = std::max(stated.risk, sign.risk);
    stated.needs = std::max(stated.needs, sign.needs);
  }
  // A management controller cuts the power from here.
  if (stated.place == CurePlace::hardware && command.starts_with("ipmitool"))
    stated.place = CurePlace::here;
  finding.terms = stated;
}

void fit_place(Finding& finding, const Machine& machine) {
  if (finding.terms) {
    auto& place = finding.terms->place;
    if (in_container(machine) && place == CurePlace::here &&
        finding.terms->needs != CureNeeds::nothing)
      place = outside(machine);
    const bool by_hand = place == CurePlace::firmware || place == CurePlace::hardware;
    if (is_users_job(machine) && (by_hand || finding.terms->needs != CureNeeds::nothing)) {
      finding.cure = "Ask the cluster's administrators to do this: " +
                     finding.cure.value_or(finding.command.value_or(""));
      if (finding.action > Action::configure) finding.action = Action::ask_host;
      place = outside(machine);
    }
    const bool elsewhere =
        place == CurePlace::host || place == CurePlace::provider ||
        (place == CurePlace::windows &&
         (in_container(machine) || !finding.command.value_or("").starts_with("wsl.exe")));
    if (elsewhere) finding.command.reset();
  }
  for (Finding& inner : finding.explains) fit_place(inner, machine);
}

bool takes_picture(std::string_view advice) {
  constexpr std::string_view kStops[] = {"--gpu-reset",
                                         "eset the GPU",
                                         "eset it",
                                         "eset all GPUs",
                                         "nbind",
                                         "driver_override",
                                         "lacklist",
                                         "modprobe -r",
                                         "rmmod nvidia_drm",
                                         "rmmod nvidia_uvm nvidia_drm",
                                         "rmmod amdgpu",
                                         "rmmod i915",
                                         "rmmod xe",
                                         "rmmod nouveau",
                                         "rmmod radeon",
                                         "systemctl stop",
                                         "systemctl isolate",
                                         "sysfb_init",
                                         "efifb:off"};
  return std::ranges::any_of(kStops, [&](auto part) { return contains(advice, part); });
}

void spare_display(Finding& finding, const Machine& machine) {
  const std::string cure = finding.cure.value_or(""), command = finding.command.value_or("");
  const bool any = takes_picture(command) || takes_picture(cure);
  const bool all = finding.gpus.empty() && finding.pci.empty();
  const bool draws =
      any && std::ranges::any_of(machine.pci, [&](const PciDevice& device) {
        return (all || std::ranges::find(finding.pci, device.address) != finding.pci.end()) &&
               drives_display(machine, device) != DrivesDisplay::no;
      });
  if (!draws) return;
  if (takes_picture(command) || takes_picture(cure.substr(0, cure.find_first_of(".;")))) {
    finding.cure =
        "Restart the machine. What may help without a restart takes the picture from "
        "the display that the GPU drives: " +
        cure;
    if (!command.empty()) *finding.cure += " (" + command + ")";
    finding.command.reset();
    if (finding.action != Action::none) finding.action = std::max(finding.action, Action::reboot);
    finding.terms = usual_terms(Action::reboot);
  } else if (!contains(cure, "takes the picture")) {
    finding.cure = cure + " That takes the picture from a display that the GPU drives.";
    if (finding.terms) {
      finding.terms->risk = std::max(finding.terms->risk, CureRisk::takes_picture);
      finding.terms->needs = std::max(finding.terms->needs, CureNeeds::free_gpu);
    }
  }
}

void spare_vgpu(Finding& finding, const Machine& machine) {
  const bool shared = std::ranges::any_of(
      machine.gpus, [&](const Gpu& gpu) { return gpu.virtualization == "vgpu"; });
  if (!shared || (finding.action != Action::reset_gpu &&
                  !contains(finding.command.value_or(""), "--gpu-reset")))
    return;
  finding.cure =
      "Restart this virtual machine: a guest cannot reset its vGPU. If that does not help, have "
      "the host's administrators reset the GPU.";
  finding.command.reset();
  if (finding.action != Action::none) finding.action = std::max(finding.action, Action::reboot);
  finding.terms = usual_terms(Action::reboot);
}

void cure_in_container(Match& match, const Machine& machine, Ask ask) {
  const auto runtime = runtime_of(machine);
  const bool all = runtime == "kubernetes" && machine.visibility.nvidia_visible_devices == "all";
  for (const auto& row : kContainerCures) {
    const bool fits =
        row.runtime.empty() || row.runtime == runtime || (all && row.runtime == "kubernetes, all");
    if (row.ask != ask || !fits) continue;
    match.cure = std::string(row.cure);
    match.command = std::string(row.command);
    match.action = Action::configure;
    match.terms = kAtLaunch;
    return;
  }
}

}  // namespace gpuready::doctor
