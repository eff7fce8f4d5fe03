// NixOS: its manual (hardware.*, boot.*) and `man configuration.nix`. Talos: docs.siderolabs.com,
// "System Extensions" and "NVIDIA GPU". Home Assistant OS: `ha os --help`. rpm-ostree(1). Red Hat
// CoreOS: OpenShift's "Machine configuration". Container-Optimized OS and GKE: cloud.google.com,
// "Run GPUs". Bottlerocket: bottlerocket.dev, settings.boot and settings.kernel. Flatcar: its docs,
// "Using NVIDIA GPUs". transactional-update(8). LibreELEC: wiki.libreelec.tv, "Config". Unraid:
// docs.unraid.net. TrueNAS: its API, system.advanced.update. Proxmox VE: its administration guide,
// "Host Bootloader". Raspberry Pi and Jetson: their boot documentation. Clouds: EC2's "Instance
// lifecycle", Google's "Shielded VM", Azure's "az vm redeploy" and "Trusted launch".
#include "doctor/platforms.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

// What a cure changes, by its words: first what the system keeps, then what lies below it.
enum class Change {
  driver,
  vgpu_driver,
  firmware_files,
  kernel,
  module_option,
  kernel_option,
  initramfs,
  secure_boot,
  power,
  board
};
struct ChangeSign {
  Change change;
  std::string_view words;  // advises()
};
constexpr ChangeSign kChangeSigns[] = {
    {Change::driver, "install nvidia's driver"},
    {Change::driver, "install the driver"},
    {Change::driver, "install the vendor's driver"},
    {Change::driver, "install a newer driver"},
    {Change::driver, "install driver"},
    {Change::vgpu_driver, "install the vgpu"},
    {Change::driver, "update the driver"},
    {Change::driver, "change the driver"},
    {Change::driver, "another driver"},
    {Change::driver, "flavour"},
    {Change::driver, "branch"},
    {Change::driver, "driver's modules"},
    {Change::driver, "driver's packages"},
    {Change::driver, "user-space"},
    {Change::driver, "reinstall"},
    {Change::driver, "amdgpu-dkms"},
    {Change::driver, "compute runtime"},
    {Change::driver, "fixed in driver"},
    {Change::firmware_files, "firmware files"},
    {Change::firmware_files, "firmware package"},
    {Change::firmware_files, "gpu firmware"},
    {Change::firmware_files, "linux-firmware"},
    {Change::kernel, "newer kernel"},
    {Change::kernel, "update the kernel"},
    {Change::kernel, "kernel before"},
    {Change::module_option, "modprobe.d"},
    {Change::module_option, "nvreg_"},
    {Change::module_option, "remove this line"},
    {Change::kernel_option, "command line"},
    {Change::kernel_option, "boot with "},
    {Change::kernel_option, "pci=realloc"},
    {Change::kernel_option, "pcie_port_pm="},
    {Change::initramfs, "initramfs"},
    {Change::secure_boot, "secure boot off"},
    {Change::power, "cut the power"},
    {Change::power, "cut its power"},
    {Change::power, "power cycle"},
    {Change::board, "slot"},
    {Change::board, "reseat"},
    {Change::board, "riser"},
    {Change::board, "above 4g"},
    {Change::board, "firmware's setup"},
};

// What is said where a cure has a change: `begin`, the ways of its changes, and `end`. A change
// without a way is made as anywhere.
struct Way {
  std::vector<Change> changes;
  std::string_view text;
};
struct Platform {
  bool (*here)(const Machine& machine);
  bool packages;  // it has a package manager, and files of settings that last
  std::string_view begin;
  std::vector<Way> ways;
  std::string_view end;
};

bool has_id(const Machine& machine, std::initializer_list<std::string_view> ids) {
  const auto& known = machine.system.os_ids;
  const auto words = known ? split(*known, " ") : std::vector<std::string_view>{};
  return !words.empty() && std::ranges::find(ids, words.front()) != ids.end();
}
bool kernel_says(const Machine& machine, std::string_view word) {
  return contains(to_lower(machine.system.kernel_release), word);
}
bool on_ostree(const Machine& machine) {
  return contains(machine.system.kernel_command_line.value_or(""), "ostree=");
}

using enum Change;
const std::vector<Platform>& systems() {
  static const std::vector<Platform> kSystems = {
      {[](const Machine& machine) { return has_id(machine, {"nixos"}); },
       false,
       "On NixOS, set in the configuration",
       {{{driver},
         "the driver (hardware.nvidia.package and .open; hardware.graphics.extraPackages)"},
        {{firmware_files}, "hardware.enableRedistributableFirmware = true"},
        {{kernel}, "boot.kernelPackages"},
        {{module_option}, "boot.extraModprobeConfig or boot.blacklistedKernelModules"},
        {{kernel_option}, "boot.kernelParams"}},
       ", run nixos-rebuild switch, and reboot; the boot menu keeps the generation before."},
      {[](const Machine& machine) { return has_id(machine, {"talos"}); },
       false,
       "Talos installs nothing while it runs; upgrade it (talosctl upgrade) to an image of its "
       "factory with",
       {{{driver}, "the system extension of the driver"},
        {{vgpu_driver},
         "a system extension built from the guest driver of the host's vGPU release"},
        {{firmware_files}, "the system extension of the firmware (amdgpu, i915)"},
        {{kernel}, "another release of Talos"},
        {{module_option}, "the module's parameters (machine.kernel.modules)"},
        {{kernel_option}, "the kernel's options (extraKernelArgs of the schematic)"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"haos"}); },
       false,
       "Home Assistant OS has no packages and no initramfs to rebuild:",
       {{{driver, firmware_files, kernel},
         "kernel, drivers and firmware come together; update it (ha os update), or start the "
         "release before (ha os boot-slot other)"},
        {{kernel_option}, "the kernel's options are in cmdline.txt of the boot partition"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"rhcos"}); },
       false,
       "On Red Hat CoreOS",
       {{{driver}, "the GPU Operator's ClusterPolicy chooses the driver"},
        {{firmware_files, kernel}, "kernel and firmware come with OpenShift's release"},
        {{module_option}, "a MachineConfig writes files of /etc/modprobe.d"},
        {{kernel_option}, "a MachineConfig sets kernelArguments"}},
       "; the node restarts with it."},
      {[](const Machine& machine) {
         return has_id(machine, {"opensuse-microos", "opensuse-aeon", "sle-micro", "sl-micro"});
       },
       false,
       "This system is changed in a snapshot, by",
       {{{driver, firmware_files}, "transactional-update pkg install"},
        {{kernel}, "transactional-update dup"},
        {{initramfs}, "transactional-update initrd"},
        {{kernel_option}, "transactional-update grub.cfg after a change of /etc/default/grub"}},
       ", and a reboot."},
      {on_ostree,
       false,
       "This system is an image:",
       {{{driver},
         "rebase it onto the image with the GPU's driver, or layer the driver (rpm-ostree "
         "install)"},
        {{firmware_files, kernel},
         "kernel and firmware come with it (rpm-ostree upgrade; rpm-ostree rollback brings the one "
         "before, and ostree admin pin 0 keeps the one that runs)"},
        {{initramfs}, "rpm-ostree initramfs --enable builds an initramfs here"},
        {{kernel_option}, "rpm-ostree kargs changes the kernel's options"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"cos"}); },
       false,
       "On Container-Optimized OS",
       {{{driver},
         "the node pool's gpu-driver-version, or cos-extensions install gpu, chooses the driver"},
        {{firmware_files, kernel},
         "kernel and firmware come with the node's image, so upgrade the node pool"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"bottlerocket"}); },
       false,
       "On Bottlerocket",
       {{{driver, firmware_files, kernel},
         "kernel and driver come with the image (its nvidia variant); use another release of it"},
        {{kernel_option}, "settings.boot.kernel-parameters sets the kernel's options"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"flatcar"}); },
       false,
       "On Flatcar",
       {{{driver}, "NVIDIA_DRIVER_VERSION in /etc/flatcar/nvidia-metadata chooses the driver"},
        {{firmware_files, kernel},
         "kernel and firmware come with the release (update_engine_client -update)"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"steamos"}); },
       false,
       "On SteamOS",
       {{{driver, firmware_files, kernel},
         "kernel, drivers and firmware come with its release (steamos-update)"}},
       "."},
      {[](const Machine& machine) { return has_id(machine, {"libreelec", "coreelec"}); },
       false,
       "On this system",
       {{{driver, kernel}, "kernel, drivers and firmware come with its release: update it"},
        {{firmware_files}, "files of firmware may lie below /storage/.config/firmware"},
        {{module_option}, "modules' options are in /storage/.config/modprobe.d"},
        {{kernel_option}, "the kernel's options are in a file of /flash"}},
       "."},
      {[](const Machine& machine) { return kernel_says(machine, "-unraid"); },
       false,
       "On Unraid",
       {{{driver}, "a plugin installs the driver of the GPU (Apps)"},
        {{firmware_files, kernel}, "kernel and firmware come with its release: update it"},
        {{module_option}, "modules' options are in /boot/config/modprobe.d"},
        {{kernel_option},
         "the kernel's options are in the Syslinux configuration of the flash device (Main > "
         "Flash)"}},
       "."},
      {[](const Machine& machine) { return kernel_says(machine, "truenas"); },
       false,
       "On TrueNAS",
       {{{driver},
         "the driver comes with its release (Apps > Settings > Install NVIDIA Drivers); since "
         "25.10 "
         "it is the open flavour, so that a GPU before Turing needs an image with the proprietary "
         "one (nvidia.raw in /usr/share/truenas/sysext-extensions)"},
        {{firmware_files, kernel}, "kernel and firmware come with its release: update it"},
        {{kernel_option},
         "kernel_extra_options of system.advanced.update (midclt) sets the kernel's options"}},
       "."},
      {[](const Machine& machine) { return kernel_says(machine, "-pve"); },
       true,
       "On Proxmox VE",
       {{{kernel}, "proxmox-boot-tool kernel pin keeps a kernel that works"},
        {{kernel_option},
         "the kernel's options are in /etc/kernel/cmdline (then proxmox-boot-tool refresh) where "
         "systemd-boot starts it, else in /etc/default/grub (then update-grub)"}},
       "."},
      {[](const Machine& machine) {
         return machine.system.product_name.value_or("").starts_with("Raspberry Pi");
       },
       true,
       "On a Raspberry Pi",
       {{{kernel_option}, "the kernel's options are in cmdline.txt of /boot/firmware"}},
       "."},
      {[](const Machine& machine) { return machine.system.jetson_release.has_value(); },
       true,
       "On a Jetson",
       {{{kernel_option}, "the kernel's options are in /boot/extlinux/extlinux.conf"}},
       "."},
  };
  return kSystems;
}

const std::vector<Platform>& surroundings() {
  static const std::vector<Platform> kSurroundings = {
      {[](const Machine& machine) { return cloud_of(machine) == "Amazon EC2"; },
       true,
       "On Amazon EC2,",
       {{{power, board},
         "stop the instance and start it again, which mostly gives it another host (a restart "
         "does not), or replace it"},
        {{secure_boot}, "start an instance of an image that does not turn Secure Boot on"}},
       "."},
      {[](const Machine& machine) { return cloud_of(machine) == "Google Cloud"; },
       true,
       "On Google Cloud,",
       {{{power, board},
         "stop the instance and start it again, or delete the node, so that it gets another host"},
        {{secure_boot},
         "Secure Boot is a switch of the instance (Shielded VM: --no-shielded-secure-boot while it "
         "is stopped; of a GKE node pool when it is made)"}},
       "."},
      {[](const Machine& machine) { return cloud_of(machine) == "Azure"; },
       true,
       "On Azure,",
       {{{power, board}, "redeploy the machine (az vm redeploy), which moves it to another host"},
        {{secure_boot},
         "Secure Boot is a switch of the machine (Trusted launch: az vm update "
         "--enable-secure-boot false while it is deallocated)"}},
       "."},
      {[](const Machine& machine) { return machine.system.thunderbolt == true; },
       true,
       "If the GPU is in a Thunderbolt or USB4 enclosure,",
       {{{power, board},
         "switch the enclosure off and on, or plug its cable in again; then check its supply, its "
         "cable and the GPU's plugs"}},
       "."},
  };
  return kSurroundings;
}

// Which of them the text makes.
std::vector<Change> changes_of(std::string_view cure) {
  std::vector<Change> changes;
  for (const auto& sign : kChangeSigns)
    if (advises(cure, sign.words)) changes.push_back(sign.change);
  return changes;
}

void say(Finding& finding, const Platform& platform, const std::vector<Change>& changes) {
  std::vector<std::string> ways;
  for (const Way& way : platform.ways)
    if (std::ranges::find_first_of(changes, way.changes) != changes.end())
      ways.emplace_back(way.text);
  if (!ways.empty())
    *finding.cure +=
        " " + std::string(platform.begin) + " " + join(ways, "; ") + std::string(platform.end);
}

}  // namespace

bool advises(std::string_view advice, std::string_view words) {
  const std::string text = to_lower(advice);
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1))
    if (at == 0 || !is_letter_or_digit(text[at - 1]) || !is_letter_or_digit(words.front()))
      return true;
  return false;
}

bool is_talos(const Machine& machine) { return has_id(machine, {"talos"}); }

bool is_fixed_system(const Machine& machine) {
  return std::ranges::any_of(systems(), [&](const Platform& platform) {
    return !platform.packages && platform.here(machine);
  });
}

void fit_platform(Finding& finding, const Machine& machine) {
  if (!finding.cure) return;
  const auto changes = changes_of(*finding.cure);
  for (const Platform& platform : surroundings())
    if (platform.here(machine)) say(finding, platform, changes);
  if (in_container(machine)) return;  // it has a system of its own, and its host's is not seen
  const auto system = std::ranges::find_if(
      systems(), [&](const Platform& platform) { return platform.here(machine); });
  if (system == systems().end()) return;
  say(finding, *system, changes);
  const bool of_system = std::ranges::any_of(changes, [](Change c) { return c < secure_boot; });
  if (of_system && !system->packages) finding.command.reset();
}

}  // namespace gpuready::doctor
