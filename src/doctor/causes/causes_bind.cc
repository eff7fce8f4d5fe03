// Which driver holds a GPU, and whether the right one could be loaded.
// Lines: kernel/module/signing.c and security/lockdown of Linux ("Loading of ... is rejected").
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/characters.h"
#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/known_faults.h"
#include "doctor/platforms.h"
#include "machine/system/kernel_log.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

template <class Test>
std::vector<Match> held_by(const Facts& facts, Test&& test) {
  std::vector<Match> matches;
  for (const Vendor vendor : kDrivenVendors)
    for (const auto* device : without_driver(facts.machine, vendor))
      if (device->driver && test(vendor, *device->driver)) {
        matches.push_back(at_device(facts.machine, *device));
        matches.back().pci = {device->address};  // NVML may name another function
      }
  return matches;
}

bool is_nouveau(Vendor vendor, std::string_view driver) {
  return vendor == Vendor::nvidia && driver == "nouveau";
}

// No one asked this GPU to compute: what its present driver does is all that is wanted of it.
bool is_display_only(const Facts& facts, const PciDevice& device) {
  return !facts.options.compute_asked && !facts.options.expected_gpus &&
         gpuready::is_display_only(facts.machine, device);
}

void report_display_only(const PciDevice& device, Match& match) {
  match.severity = Severity::info;
  match.standing = Standing::chosen;
  match.title =
      fmt::format("The GPU is for display only: {} offers no compute", quote(*device.driver));
  match.command = "";
}

// What of NVIDIA's drivers runs this GPU, by the chip's name in pci.ids: the open modules from
// Turing on, the proprietary ones from Maxwell on.
std::string_view driver_for(const PciDevice& device) {
  const std::string_view chip = device.name ? std::string_view(*device.name) : "";
  for (const auto prefix : {"TU1", "GA1", "AD1", "GH1", "GB1", "GB2"})
    if (chip.starts_with(prefix)) return "{do:install-open-driver}";
  for (const auto prefix : {"GM1", "GM2", "GP1", "GV1"})
    if (chip.starts_with(prefix)) return "{do:install-proprietary-driver}";
  return "";
}

constexpr const char* kBuildAgain =
    "Build the driver's modules for the running kernel with DKMS. If the build fails, make.log "
    "below /var/lib/dkms/nvidia says why; mostly the driver is older than the kernel: install a "
    "newer release of its branch, or boot the kernel before.";

// Why NVIDIA's module, which was installed, is not loaded, as far as files tell.
struct Obstacle {
  std::string title, explanation, cure, command;
  Evidence proof;
};

// "modprobe.blacklist=nouveau,nvidia" (kmod), "module_blacklist=" (kernel/module/main.c); or an
// option by itself.
std::optional<Evidence> blocking_option(const Machine& machine, std::string_view module,
                                        const Ids& starts = {
                                            "", "modprobe.blacklist=", "module_blacklist="}) {
  const auto command_line = machine.system.kernel_command_line.value_or("");
  for (const auto option : split(command_line, " \n"))
    for (const auto start : starts)
      if (const auto modules = after_prefix(option, start))
        if (std::ranges::count(split(*modules, ","), module) > 0)
          return evidence("/proc/cmdline", option);
  return std::nullopt;
}

// "/etc/modprobe.d/FILE: blacklist nvidia"
Evidence blocking_line(const std::string& block) {
  const auto colon = block.find(": ");
  return evidence(block.substr(0, colon), block.substr(colon + 2));
}

// "6.1.0-40-rt-amd64", "6.8.1-1015-realtime", "5.14.0-503.el9.x86_64+rt".
bool is_realtime(std::string_view release) {
  const auto parts = split(release, "-.+");
  return std::ranges::any_of(parts, [](std::string_view part) {
    const auto number = after_prefix(part, "rt");
    return part == "realtime" || (number && (number->empty() || parse_uint(*number)));
  });
}

// Oracle's, Amazon's and Red Hat's special kernels name the package in ways of their own: "+debug"
// at the end is one of Red Hat's, and "+deb13" before the flavour is not.
std::string headers_command(std::string_view release) {
  const auto last = release.substr(release.rfind('-') + 1);
  if (contains(release, "uek") || contains(release, "amzn") || contains(last, "+")) return {};
  return "{do:install-headers} && {do:rebuild-modules}";
}

// A kernel that the distribution did not build, by its name: its repositories have no headers of
// it. Debian and Ubuntu name theirs VERSION-ABI-FLAVOUR, newer Debian VERSION+REVISION-FLAVOUR or
// VERSION-FLAVOUR. Distributions that call themselves like Red Hat's have endings of their own.
bool is_foreign_kernel(const Machine& machine) {
  constexpr std::string_view kFlavours =
      "amd64 arm64 686 pae armmp lpae ppc64el powerpc riscv64 s390x pve tegra";
  constexpr std::string_view kRedHats = "fedora rhel centos rocky almalinux ol amzn";
  const auto is_one_of = [](std::string_view word, std::string_view words) {
    return std::ranges::count(split(words, " "), word) > 0;
  };
  const std::string_view release = machine.system.kernel_release;
  const std::string ids = machine.system.os_ids.value_or("");
  switch (family_of(machine)) {
    case Family::debian:
    case Family::ubuntu: {
      const auto parts = split(release, "-");
      const bool has_abi = parts.size() > 2 && is_digit(parts[1].front());
      const bool has_revision = parts.size() > 1 && contains(parts[0], "+");
      return !has_abi && !has_revision && (parts.empty() || !is_one_of(parts.back(), kFlavours));
    }
    case Family::fedora:
    case Family::yum:
      return is_one_of(std::string_view(ids).substr(0, ids.find(' ')), kRedHats) &&
             !contains(release, ".fc") && !contains(release, ".el") && !contains(release, ".amzn");
    default:
      return false;
  }
}

// The kernel for which NVIDIA's module is installed, where it is not the running one.
std::optional<std::string> other_kernel(const Machine& machine) {
  const std::string block = machine.nvidia.module_blocked.value_or("");
  const auto rest = after_prefix(block, "/lib/modules/");
  if (!rest) return std::nullopt;
  return std::string(rest->substr(0, rest->find(": ")));
}

// What a file system has free is too little to build the module.
bool is_full(const Machine& machine) {
  return machine.nvidia.module_blocked.value_or("").ends_with(" free");
}

// The driver was built for another kernel, by an installer that builds for no later one.
void by_other_kernel(const std::string& other, Match& match) {
  match.evidence.push_back(evidence("/lib/modules/" + other, "has NVIDIA's kernel module"));
  match.explanation =
      "NVIDIA's kernel module is installed for another kernel, and not for the running one.";
  match.cure = fmt::format(
      "Install the headers of the running kernel and DKMS, install the driver again so that DKMS "
      "builds its modules (NVIDIA's installer: --dkms), and load it: DKMS builds them for each "
      "later kernel, too. If the build fails (make.log below /var/lib/dkms/nvidia, or "
      "/var/log/nvidia-installer.log), install a newer release of the driver (branch 580 is the "
      "last for Maxwell to Volta, without the open modules). Until then, start the kernel {}, and "
      "hold the kernel's package.",
      quote(other));
  match.command = "{do:install-headers} dkms";
  match.terms = kByReboot;
}

// Options that installers of NVIDIA's driver write. They keep nouveau from the GPU, also where the
// driver is gone.
std::vector<std::string_view> options_left_over(const Machine& machine) {
  constexpr std::string_view kOptions[] = {
      "rd.driver.blacklist=nouveau", "modprobe.blacklist=nouveau", "module_blacklist=nouveau",
      "nouveau.modeset=0",           "nvidia-drm.modeset=1",       "nvidia_drm.modeset=1"};
  std::vector<std::string_view> found;
  const auto command_line = machine.system.kernel_command_line.value_or("");
  for (const auto option : split(command_line, " \n"))
    if (const auto* known = std::ranges::find(kOptions, option); known != std::end(kOptions))
      found.push_back(*known);
  if (std::ranges::none_of(found, [](auto option) { return contains(option, "nouveau"); }))
    found.clear();
  return found;
}

void by_options(const std::vector<std::string_view>& options, Match& match) {
  match.evidence.push_back(evidence("/proc/cmdline", fmt::format("{}", fmt::join(options, " "))));
  match.title = "NVIDIA's driver is not installed, and the kernel's command line keeps nouveau out";
  match.explanation =
      "These options of the kernel's command line are left over from NVIDIA's driver, which is not "
      "installed. So no driver may take the GPU, and the display has only the firmware's picture.";
  match.cure = fmt::format(
      "Remove these options and reboot: nouveau then takes the picture over from the firmware. On "
      "an image, rpm-ostree kargs --delete-if-present={} removes them; on other systems, they are "
      "in /etc/default/grub (then update-grub or grub2-mkconfig). To compute, keep them, install "
      "NVIDIA's driver and load it.",
      fmt::join(options, " --delete-if-present="));
}

std::optional<Obstacle> obstacle(const Machine& machine) {
  const auto& nvidia = machine.nvidia;
  if (nvidia.libraries.empty() && nvidia.modules_from.value_or("none") == "none")
    return std::nullopt;
  const auto& release = machine.system.kernel_release;
  // Known only where the modules are built on the machine.
  const bool lacks_headers = !nvidia.kernel_headers.value_or(true);
  const bool built = nvidia.module_installed.value_or(false) || !nvidia.kernel_headers;
  const auto option = blocking_option(machine, "nvidia");
  const auto former = other_kernel(machine);
  if ((option || (nvidia.module_blocked && !former && !is_full(machine))) &&
      (built || (!is_realtime(release) && !lacks_headers))) {
    return Obstacle{
        "NVIDIA's kernel module is kept from loading",
        "The module is blocked by configuration, as laptops' switches to the processor's graphics "
        "do it (prime-select intel, Bumblebee, EnvyControl), or guides for pass-through.",
        option ? "Remove nvidia from this option of the kernel's command line, and reboot."
               : "Remove this line (on a laptop: prime-select on-demand, or the tool that wrote "
                 "it), rebuild the initramfs, and reboot.",
        option ? "" : "{do:rebuild-initramfs}",
        option ? *option : blocking_line(*nvidia.module_blocked)};
  }
  if (is_full(machine) && !is_fixed_system(machine))
    return Obstacle{
        "NVIDIA's kernel module is not built, and the disk is full",
        "The driver is installed, and its module is not there for the running kernel. A build and "
        "its packages need about 1 GiB, more than this file system has.",
        std::string("First make room there, or enlarge the disk") +
            (cloud_of(machine) == "Amazon EC2" ? " (aws ec2 modify-volume, growpart, then "
                                                 "xfs_growfs or resize2fs)"
                                               : "") +
            ". Then install the headers of the running kernel, build the driver's modules "
            "with DKMS, and load the driver.",
        "df -h / /usr /var", blocking_line(*nvidia.module_blocked)};
  if (built) return std::nullopt;
  if (is_realtime(release))
    return Obstacle{"NVIDIA's driver does not support this real-time kernel",
                    "NVIDIA's modules refuse to be built for kernels with PREEMPT_RT.",
                    "Boot the distribution's ordinary kernel; or build the modules with "
                    "IGNORE_PREEMPT_RT_PRESENCE=1, which NVIDIA does not support.",
                    "", evidence("kernel release", release)};
  if (!lacks_headers) return std::nullopt;
  if (former && is_foreign_kernel(machine))
    return Obstacle{
        "NVIDIA's kernel module could not be built for a kernel from elsewhere",
        "The running kernel is not the distribution's, and its headers are missing. The driver's "
        "modules are installed for another kernel.",
        fmt::format("Start the kernel {}, which has NVIDIA's module (advanced options of the boot "
                    "menu), and remove the running one if nothing needs it. To keep that, install "
                    "its headers from where it came from, because the distribution has none, and "
                    "build the driver's modules. If the build fails, make.log below "
                    "/var/lib/dkms/nvidia says why; mostly the driver is older than the kernel.",
                    quote(*former)),
        "", evidence("/lib/modules/" + *former, "has NVIDIA's kernel module")};
  return Obstacle{"NVIDIA's kernel module could not be built: the kernel's headers are missing",
                  "The driver's modules are built on this machine, which needs the headers of the "
                  "running kernel.",
                  "Install the headers of the running kernel, rebuild the driver's modules, and "
                  "reboot or load the driver. A package that follows the kernel "
                  "(linux-headers-amd64, linux-headers-generic, kernel-devel-matched) keeps it so.",
                  headers_command(release),
                  evidence("/lib/modules/" + release + "/build", "missing")};
}

// The same of AMD's and Intel's modules, which are the kernel's own or built by DKMS.
std::optional<Obstacle> obstacle(const Machine& machine, const KernelDriver& driver) {
  const bool amd = driver.vendor == Vendor::amd;
  const auto& block = amd ? machine.amd.module_blocked : machine.intel.module_blocked;
  if (block && block->starts_with("/var/lib/dkms/"))
    return Obstacle{
        fmt::format("{} kernel module was not built for this kernel", driver.people),
        "DKMS builds the driver for each kernel, and has no module of it for the running one.",
        "Install the headers of the running kernel, build the module again, and reboot. If the "
        "build fails, make.log below the package's folder says why; mostly the driver is older "
        "than the kernel: install its newest release, or boot the kernel before.",
        headers_command(machine.system.kernel_release), blocking_line(*block)};
  auto option = blocking_option(machine, "nomodeset");
  for (const auto name : split(driver.names, " "))
    if (!option) option = blocking_option(machine, name);
  if (!block && !option) return std::nullopt;
  return Obstacle{fmt::format("{} kernel module is kept from loading", driver.people),
                  "The module is blocked by configuration, mostly left over from an installer's "
                  "safe graphics, from a pass-through to virtual machines or from a guide.",
                  block ? "Remove this line, rebuild the initramfs, and reboot."
                        : "Take this option, or the module's name in it, off the kernel's command "
                          "line (/etc/default/grub, then update-grub or grub2-mkconfig), and "
                          "reboot.",
                  block ? "{do:rebuild-initramfs}" : "", block ? blocking_line(*block) : *option};
}

void take(Obstacle found, Match& match) {
  match.explanation = std::move(found.explanation);
  match.cure = std::move(found.cure);
  match.command = std::move(found.command);
  match.evidence.push_back(std::move(found.proof));
}

std::vector<Match> nouveau(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = held_by(facts, is_nouveau);
  for (auto& match : matches) {
    const auto& device = *pci_device(machine, match.pci.front());
    if (machine.nvidia.libraries.empty()) {
      match.cure =
          "Install NVIDIA's driver, in a branch that supports this GPU, and reboot: its "
          "packages keep nouveau from loading.";
      match.command = std::string(driver_for(device));
    } else if (drives_display(machine, device) != DrivesDisplay::no) {
      match.cure =
          "Reinstall NVIDIA's driver, so that it is built for the running kernel and in the "
          "initramfs, and reboot: it then drives the display as well. Blacklisting nouveau by hand "
          "takes the picture from the display where NVIDIA's driver does not start.";
      match.command = "{do:rebuild-initramfs}";
    }
    if (auto found = obstacle(machine)) {
      take(std::move(*found), match);
    } else if (machine.nvidia.module_installed.value_or(false) &&
               !blocking_option(machine, "nouveau") &&
               blocking_option(machine, "nouveau", {"rd.driver.blacklist="})) {  // of dracut
      match.explanation =
          "The option rd.driver.blacklist keeps nouveau out of the initramfs only. Once the system "
          "itself starts, nouveau is loaded from there, and NVIDIA's module, which is installed "
          "for this kernel, comes too late.";
      match.cure =
          "Keep nouveau out of the system, too, and reboot: add modprobe.blacklist=nouveau to the "
          "kernel's command line (Fedora and its kin: grubby --update-kernel=ALL "
          "--args=modprobe.blacklist=nouveau), or write \"blacklist nouveau\" into a file of "
          "/etc/modprobe.d and rebuild the initramfs. NVIDIA's driver then takes the picture over. "
          "If nouveau comes again, build NVIDIA's module for this kernel once more.";
      match.command = "";
    } else if (machine.nvidia.modules_from == "dkms" && machine.nvidia.module_installed == false) {
      match.cure = std::string(kBuildAgain) + " Then reboot.";
      match.command = "{do:rebuild-modules}";
    }
    if (is_display_only(facts, device)) {
      report_display_only(device, match);
      match.explanation =
          "nouveau, the kernel's own driver, serves displays and offers no CUDA; "
          "nothing that uses CUDA was found here.";
      match.cure =
          "Nothing to do for displays. To compute with it, install NVIDIA's "
          "driver in a branch that supports this GPU, and reboot.";
    }
    const std::string command_line = machine.system.kernel_command_line.value_or("");
    auto options = split(command_line, " ");
    std::erase_if(options, [](std::string_view option) { return !contains(option, "nouveau"); });
    if (!options.empty())
      match.evidence.push_back(
          evidence("/proc/cmdline", fmt::format("{}", fmt::join(options, " "))));
  }
  return matches;
}

// Nothing binds such a driver by itself: somebody set the GPU aside.
std::vector<Match> passed_through(const Facts& facts) {
  auto matches = held_by(facts, [](Vendor, std::string_view name) { return passes_through(name); });
  for (auto& match : matches) match.standing = Standing::chosen;
  return matches;
}

// Before 6.10 "BAR 0: can't reserve [mem ...]", since "BAR 0 [mem ...]: can't reserve; ...".
std::vector<Match> memory_held(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& hit : log_hits(machine, {"vfio-pci: BAR *: can't reserve [mem ",
                                            "vfio-pci: BAR * [mem * can't reserve"})) {
    const auto* device = vfio_gpu(machine, hit.pci);
    if (device == nullptr) continue;
    Match match = about(machine, device->address);
    if (std::ranges::any_of(matches, [&](const Match& known) { return known.pci == match.pci; }))
      continue;
    match.evidence.push_back(evidence("kernel log", hit.text));
    match.evidence.push_back(driver_of(*device));
    const bool ignored = is_in(machine.system.kernel_release, "5.15..");
    const auto displays = std::ranges::count_if(
        machine.pci, [](const PciDevice& each) { return each.boot_vga.has_value(); });
    if (displays == 1) {
      match.cure = fmt::format(
          "Boot with {}, which takes the picture from the host's display. Without a restart: "
          "unbind the consoles (/sys/class/vtconsole/*/bind) and the frame buffer "
          "(/sys/bus/platform/drivers/simple-framebuffer/unbind) before the guest starts. "
          "bootfb must be gone from /proc/iomem then; give the guest the GPU's ROM as a file.",
          ignored ? "initcall_blacklist=sysfb_init" : "video=efifb:off");
      match.terms = kByReboot;
    }
    if (ignored && contains(machine.system.kernel_command_line.value_or(""), "video=efifb:off")) {
      match.evidence.push_back(evidence("/proc/cmdline", "video=efifb:off"));
      match.explanation =
          "VFIO cannot reserve a memory window of the device, because it contains the firmware's "
          "frame buffer. video=efifb:off has no effect since Linux 5.15.";
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

struct Holder {
  std::string_view driver, explanation, cure;
};
constexpr Holder kHolders[] = {
    {"nova-core",
     "nova-core is the kernel's driver in the making for NVIDIA's GPUs; it offers no "
     "CUDA.",
     "Install NVIDIA's driver, keep nova_core and nouveau from loading, and reboot."},
    {"NovaCore",
     "nova-core is the kernel's driver in the making for NVIDIA's GPUs; it offers no "
     "CUDA.",
     "Install NVIDIA's driver, keep nova_core and nouveau from loading, and reboot."},
    {"nvidiafb", "nvidiafb drives old NVIDIA GPUs as a plain frame buffer; it offers no CUDA.",
     "Install NVIDIA's driver, keep nvidiafb from loading, rebuild the initramfs, and reboot."},
    {"radeon",
     "radeon is the kernel's older driver for AMD GPUs; it offers neither ROCm nor "
     "Vulkan.",
     "Boot with radeon.si_support=0 radeon.cik_support=0 amdgpu.si_support=1 "
     "amdgpu.cik_support=1, for a GPU of the first two GCN generations; an older one cannot "
     "compute."},
};

std::vector<Match> wrong_driver(const Facts& facts) {
  auto matches = held_by(facts, [](Vendor vendor, std::string_view name) {
    return !is_nouveau(vendor, name) && !passes_through(name);
  });
  for (auto& match : matches) {
    const auto& device = *pci_device(facts.machine, match.pci.front());
    const auto& driver = *device.driver;
    match.title = fmt::format("The driver {} holds the GPU", quote(driver));
    if (drives_display(facts.machine, device) != DrivesDisplay::no) {
      match.cure = fmt::format(
          "Install the vendor's driver and reboot, so that it takes over the GPU and its display "
          "from {0}. Taking the GPU from {0} while it runs takes the picture from the display.",
          quote(driver));
      match.command = "";
    }
    for (const auto& holder : kHolders)
      if (holder.driver == driver) {
        match.explanation = std::string(holder.explanation);
        if (!match.cure || driver == "radeon") match.cure = std::string(holder.cure);
      }
    if (is_display_only(facts, device)) {
      report_display_only(device, match);
      match.cure = "Nothing to do for displays. To compute with it: " +
                   match.cure.value_or("install the vendor's driver.");
    }
    match.values.emplace_back("holder", driver);
  }
  return matches;
}

// Which module it was, only programs say (modprobe, systemd), whose lines prove nothing.
const Ids kRejections = {
    "kernel: Loading of module with unavailable key is rejected",
    "kernel: Loading of unsigned module is rejected",
    "kernel: Loading of module with unsupported crypto is rejected",
    "Lockdown: ...unsigned module loading is restricted",
};

// nouveau binds the GPU that NVIDIA's installed module was kept from.
bool took_the_place(const Machine& machine, const PciDevice& device, const LogHit& rejection) {
  const auto hits = log_hits(machine, {"nouveau: *"});
  const auto started =
      std::ranges::find_if(hits, [&](const LogHit& hit) { return hit.pci == device.address; });
  return device.driver == "nouveau" && machine.system.secure_boot.value_or(false) &&
         !machine.nvidia.libraries.empty() && started != hits.end() &&
         started->line > rejection.line;
}

// security/selinux/hooks.c of Linux. The line lacks a path if the program unpacks the module.
const Ids kSelinuxRefuses = {
    "kernel: audit: type=1400 audit(*): avc:  denied  { module_load } for"};
// The last refusal of the vendor's module, or of one without a name.
std::optional<Match> refused_by_selinux(const Machine& machine, Vendor vendor) {
  const auto names = split(kernel_driver(vendor)->names, " ");
  std::optional<Match> match;
  for (const auto& hit : log_hits(machine, kSelinuxRefuses)) {
    const auto name = std::ranges::find_if(names, [&](std::string_view each) {
      return contains(hit.text, fmt::format("/{}.ko", each));
    });
    const bool path = contains(hit.text, " path=");
    if ((path && name == names.end()) || contains(hit.text, "permissive=1")) continue;
    match = Match{.evidence = {evidence("kernel log", hit.text)}, .terms = kAsRoot};
    match->title = "SELinux keeps the driver's kernel module from loading";
    match->explanation =
        "SELinux lets only some programs load kernel modules, and only from files with the label "
        "of modules (modules_object_t), which a file from a container or copied from elsewhere "
        "does not have.";
    const bool relabel = path && !contains(hit.text, "dev=\"overlay\"");  // a container's file
    match->cure = std::string(relabel ? "Restore the labels of the modules' files, and load the "
                                        "module again. If it is refused again, allow "
                                      : "On the host, allow ") +
                  "what this line names in the policy (audit2allow -M NAME, then semodule -i "
                  "NAME.pp); the boolean secure_mode_insmod must be off. setenforce 0 only shows "
                  "that it is SELinux, and cures nothing for good.";
    match->command = "ausearch -m AVC -ts boot";
    if (relabel)
      match->command = fmt::format("restorecon -Rv /lib/modules/{{kernel}} && modprobe {}", *name);
  }
  return match;
}

std::vector<Match> module_rejected(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  const auto hits = log_hits(machine, kRejections);
  for (const Vendor vendor : kDrivenVendors) {
    if (module_loaded(machine, vendor)) continue;
    const auto by_selinux = refused_by_selinux(machine, vendor);
    if (hits.empty() && !by_selinux) continue;
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver && (by_selinux || !took_the_place(machine, *device, hits.front())))
        continue;
      Match match = by_selinux.value_or(Match{});
      const auto where = about(machine, device->address);
      match.gpus = where.gpus;
      match.pci = where.pci;
      if (!by_selinux) match.evidence.push_back(evidence("kernel log", hits.back().text));
      if (device->driver) match.evidence.push_back(driver_of(*device));
      if (machine.system.secure_boot && !by_selinux)
        match.evidence.push_back(
            evidence("/sys/firmware/efi/efivars/SecureBoot-*",
                     *machine.system.secure_boot ? "Secure Boot is on" : "Secure Boot is off"));
      if (vendor == Vendor::nvidia && machine.nvidia.modules_from == "akmods" && !by_selinux &&
          !in_container(machine))
        match.cure =
            "Sign the driver's modules, which akmods builds: make a key (kmodgenca -a), enrol it "
            "(mokutil --import), reboot, and choose \"Enroll MOK\" in the screen that asks for "
            "its password. Then build the modules again with that key (akmods --force --rebuild), "
            "and reboot. Or turn Secure Boot off in the firmware.";
      else if (vendor == Vendor::nvidia && machine.nvidia.module_installed.value_or(false) &&
               !by_selinux && !in_container(machine))
        match.cure =
            "Enrol the key that signed the driver's module (mokutil --import with its "
            "certificate, and a password of your choice; modinfo -F signer nvidia names the "
            "signer). Reboot, choose \"Enroll MOK\" in the screen that appears before the system "
            "starts, and give that password. Or install modules that the distribution signed, or "
            "turn Secure Boot off in the firmware.";
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

// "Missing ENDBR: function+0x0/0x10 [nvidia]" (Linux, arch/x86/kernel/cet.c; to 6.5 with
// "traps: " in front), or on Arm "Internal error: Oops - BTI" and then "pc : function+0x0
// [nvidia]".
std::vector<Match> branch_tracking(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& log = machine.kernel_log.lines;
  std::vector<Match> matches;
  for (std::size_t i = load_line(machine), oops = log.size(); i < log.size() && matches.empty();
       ++i) {
    const auto& line = log[i].text;
    if (says_any(line, {"kernel: Internal error: Oops - BTI"})) oops = i;
    const bool on_arm = oops < log.size() && says_any(line, {"kernel: pc : "});
    if (!on_arm && !says_any(line, {"kernel: Missing ENDBR: ", "kernel: traps: Missing ENDBR: "}))
      continue;
    const auto open = line.rfind('[');
    if (!line.ends_with(']') || open == line.npos) continue;
    const auto vendor = vendor_of_writer(line.substr(open + 1, line.size() - open - 2));
    if (!vendor) continue;
    Match match = about_all(machine, *vendor);
    const bool works = std::ranges::all_of(  // or the machine has no GPU for it
        match.pci, [&](const PciAddress& address) { return runs_now(machine, address); });
    if (works) continue;  // with ibt=warn the kernel goes on
    if (on_arm) {
      match.title = "The kernel stopped the driver, which was built without branch targets (BTI)";
      match.cure =
          "Install a newer driver whose modules are built with BTI; until then boot with "
          "arm64.nobti.";
      match.command = "";
      match.evidence.push_back(evidence("kernel log", log[oops].text));
    }
    match.evidence.push_back(evidence("kernel log", line));
    matches.push_back(std::move(match));
  }
  return matches;
}

// Modules that export what GPUs' drivers need, and some of their functions: whole names, since
// redaction keeps these. ipmi_devintf loads ipmi_msghandler, whose functions these are.
struct Exporter {
  std::string_view module, functions;
};
constexpr Exporter kExporters[] = {
    {"ipmi_devintf",
     "ipmi_create_user ipmi_destroy_user ipmi_validate_addr ipmi_free_recv_msg "
     "ipmi_set_my_address ipmi_request_settime ipmi_set_gets_events"},
    {"drm_kms_helper", "drm_kms_helper_poll_init drm_atomic_helper_check drm_helper_probe_detect"},
    {"ttm", "ttm_bo_init ttm_bo_validate ttm_bo_init_reserved ttm_device_init"},
    {"drm", "drm_ioctl drm_open drm_dev_register drm_gem_object_init drm_mode_config_init"},
    {"i2c-algo-bit", "i2c_bit_add_bus i2c_bit_algo"},
    {"i2c-core", "i2c_add_adapter i2c_del_adapter i2c_transfer"},
    {"video", "acpi_video_get_edid acpi_video_register acpi_video_get_backlight_type"},
};
// What exports the function that "nvidia: Unknown symbol NAME (err 0)" misses, and is not loaded.
// The error was 0 up to Linux 4.16, then -2; -22 is a function of another version.
std::string_view exporter_of(std::string_view line) {
  constexpr std::string_view kMark = ": Unknown symbol ";
  const auto at = line.find(kMark);
  if (at == line.npos || contains(line, "(err -22)")) return {};
  const auto rest = line.substr(at + kMark.size());
  for (const auto& [module, functions] : kExporters)
    for (const auto function : split(functions, " "))
      if (function == rest.substr(0, rest.find(' '))) return module;
  return {};
}

// A function for GPL modules only, which nvidia_uvm called up to driver 455.38. Since Linux 5.9 a
// module that builds on NVIDIA's proprietary one counts as proprietary, whatever its own licence
// (AOSC-Dev/aosc-os-abbs issue 2594).
constexpr std::string_view kForGplOnly = "Unknown symbol radix_tree_preloads ";

// A module that insmod was given, or that modules.dep does not link to what it needs.
void by_exporter(std::string_view exporter, std::string_view module, bool installed, Match& match) {
  match.explanation = fmt::format(
      "{} needs functions of another module, {}, which is not loaded, so the kernel refuses it. "
      "insmod loads no module that another one needs; modprobe does.",
      module, exporter);
  match.cure = fmt::format(
      "Load {0}, and then the driver's modules: by modprobe, or by insmod where their files are "
      "outside /lib/modules. Name {0} in a file of /etc/modules-load.d, so that each start loads "
      "it before the driver.",
      exporter);
  match.command = fmt::format("modprobe {}", exporter);
  if (installed) *match.command += fmt::format(" && modprobe {}", module);
}

// Modules that belong to NVIDIA's driver or build on it. The module itself is driver_absent's.
struct Companion {
  std::string_view name, loaded;  // a line of its start
};
constexpr Companion kCompanions[] = {
    {"nvidia_modeset", "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver"},
    {"nvidia_drm", "*: [nvidia-drm] [GPU ID * Loading driver"},
    {"nvidia_uvm", "nvidia-uvm: Loaded the UVM driver"},
    {"nvidia_peermem", ""},
    {"nv_peer_mem", ""},  // its forerunner, of Mellanox
    {"nvidia_fs", "nvidia_fs: registered correctly with major number"}};
struct Refusal {
  std::string_view pattern;  // behind the module's name
  std::string_view explanation, cure;
};
constexpr std::string_view kRebuild =
    "Rebuild the driver's modules for the running kernel and the loaded driver (with DKMS), "
    "rebuild the initramfs, and reboot.";
constexpr std::string_view kNewer =
    "Install a newer release of the driver, which does without that function, and load the module "
    "nvidia_uvm. Or start an older kernel (5.8 or before). The same release is refused again when "
    "it is built again.";
// kernel/module/main.c of Linux; nvidia-modeset-linux.c and nvidia-drm of NVIDIA's
// open kernel modules.
constexpr Refusal kRefusals[] = {
    {"Version mismatch: nvidia",
     "The module is of another version than the driver that is loaded, so it does not start.",
     kRebuild},
    {"module using GPL-only symbols uses symbols",
     "The kernel lets this module use no functions of NVIDIA's proprietary kernel module.",
     "Install the open flavour of the same driver branch, and reboot."},
    {"disagrees about version of symbol ",
     "The module was built against other modules than the loaded ones, so the kernel refuses it.",
     kRebuild},
    {kForGplOnly,
     "The module needs a function that this kernel gives to GPL modules only. Since Linux 5.9 that "
     "leaves out modules which build on NVIDIA's proprietary one, so this release of the driver is "
     "too old for the kernel. nvidia-smi and displays work on; CUDA does not.",
     kNewer},
    {"Unknown symbol ",
     "The module needs functions that no loaded module has, so the kernel refuses it.", kRebuild},
};

// Modules that offer adapters or accelerators to InfiniBand's programs (kernel/module/main.c:
// "NAME: Unknown symbol SYMBOL (err -2)"). Whole names, since redaction keeps these.
constexpr std::string_view kRdmaModules[] = {"habanalabs_ib", "mlx5_ib", "irdma", "bnxt_re"};

std::vector<Match> rdma_modules_refused(const Machine& machine) {
  std::map<std::string, std::vector<std::string>> unknown;
  std::set<std::string> others;  // modules that were loaded later, or that do not fit the kernel
  for (const auto& line : machine.kernel_log.lines) {
    const bool ours = std::ranges::any_of(
        kRdmaModules, [&](auto name) { return std::string_view(line.text).starts_with(name); });
    const auto message = ours ? parse_message(line.text) : std::nullopt;
    if (!message || std::ranges::find(kRdmaModules, message->writer) == std::end(kRdmaModules))
      continue;
    const std::string module(message->writer);
    if (says(*message, "*: Unknown symbol "))
      unknown[module].push_back(line.text);
    else if (unknown.contains(module) || says(*message, "*: disagrees about version of symbol "))
      others.insert(module);
  }
  std::vector<Match> matches;
  for (const auto& [module, lines] : unknown) {
    if (others.contains(module)) continue;
    Match match;
    for (const auto& line : lines)
      if (match.evidence.size() < 3) match.evidence.push_back(evidence("kernel log", line));
    const bool uverbs =
        std::ranges::any_of(lines, [](const auto& line) { return contains(line, "uverbs"); });
    const std::string_view needed = uverbs ? "ib_uverbs" : "ib_core";
    match.title = fmt::format("The kernel module {} could not be loaded", module);
    match.explanation = fmt::format(
        "It needs functions of {}, which was not loaded. Without it programs of InfiniBand and "
        "RoCE do not see the ports that it offers; what computes works.",
        needed);
    match.cure = fmt::format(
        "Load {0}, then {1}. If {0} is not found, install the package with the kernel's other "
        "modules (kernel-modules-extra, linux-modules-extra) and rdma-core. Name both in "
        "/etc/modules-load.d, so that every boot loads them.",
        needed, module);
    match.command = fmt::format("modprobe {} && modprobe {}", needed, module);
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> companions_refused(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  if (!nvidia.module_loaded) return {};
  const auto& log = machine.kernel_log.lines;
  std::vector<Match> matches;
  for (const auto& [name, loaded_line] : kCompanions) {
    const bool peer = name == "nvidia_peermem" || name == "nv_peer_mem";
    const bool loaded = (name == "nvidia_uvm" && nvidia.uvm_loaded) || (peer && nvidia.peer_memory);
    if (loaded) continue;
    Match match = about_all(machine, Vendor::nvidia);
    const Refusal* why = nullptr;
    for (std::size_t i = load_line(machine); i < log.size(); ++i) {
      const auto message = parse_message(log[i].text);
      if (!message) continue;
      if (!loaded_line.empty() && says(*message, loaded_line)) match.evidence.clear();
      auto writer = std::string(message->writer);
      std::ranges::replace(writer, '-', '_');
      if (writer != name) continue;
      const auto text = after_prefix(message->text, "[nvidia-drm] ").value_or(message->text);
      const auto* refusal = std::ranges::find_if(
          kRefusals, [&](const Refusal& known) { return text.starts_with(known.pattern); });
      if (refusal == std::end(kRefusals)) continue;
      if (match.evidence.empty()) why = refusal;
      if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", log[i].text));
    }
    if (match.evidence.empty()) continue;
    match.title = fmt::format("The kernel module {} could not be loaded", name);
    if (const auto exporter = exporter_of(match.evidence.back().quote); !exporter.empty()) {
      by_exporter(exporter, name, true, match);
      matches.push_back(std::move(match));
      continue;
    }
    match.explanation = std::string(why->explanation);
    if (name != "nvidia_uvm") *match.explanation += " The GPU works without it.";
    match.cure = std::string(why->cure);
    if (const auto rebuild = rebuild_cure(machine); rebuild && why->cure == kRebuild)
      match.cure = *rebuild + ", rebuild the initramfs, and reboot.";
    if (why->cure != kRebuild)
      match.command = why->cure == kNewer ? "" : "{do:install-open-driver}";
    if (peer && why->cure == kRebuild) {
      match.cure =
          name == "nv_peer_mem"
              ? "Remove nv_peer_mem, and load nvidia-peermem, which is part of the driver since "
                "470; or rebuild it against the installed OFED."
              : "Rebuild the driver's modules against the installed OFED (or remove it, and use "
                "DMA-BUF), and load the module again.";
      match.command = "";
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> modules_refused(const Facts& facts) {
  auto matches = companions_refused(facts);
  std::ranges::move(rdma_modules_refused(facts.machine), std::back_inserter(matches));
  return matches;
}

// With neither modules nor libraries there is nothing to rebuild.
void by_origin(const Machine& machine, Match& match) {
  if (is_talos(machine)) {
    match.explanation =
        "Talos loads only modules that were built with exactly its own version. The image has none "
        "of NVIDIA's that fits, or nothing loads it.";
    match.cure =
        "Compare talosctl version with the extensions (talosctl get extensions): their modules "
        "must be of the Talos that runs, and a node that could not start a new image runs the "
        "former one. Upgrade (talosctl upgrade) to an image of one version with "
        "nvidia-open-gpu-kernel-modules and nvidia-container-toolkit. Name nvidia, nvidia_uvm, "
        "nvidia_drm and nvidia_modeset in machine.kernel.modules, so that they are loaded.";
    match.command = "";
  } else if (machine.nvidia.modules_from == "none" && machine.nvidia.libraries.empty()) {
    match.cure = "Install NVIDIA's driver, and load it.";
    match.command = "{do:install-driver}";
    if (const auto options = options_left_over(machine); !options.empty())
      by_options(options, match);
  } else if (auto found = obstacle(machine)) {
    match.title = found->title;
    take(std::move(*found), match);
    match.terms = is_full(machine) ? kAsRoot : kByReboot;
  } else if (machine.nvidia.module_installed.value_or(false) && !match.explanation) {
    match.explanation = "The module is installed for the running kernel, and was not loaded.";
    match.cure = "Load it; if that fails, the kernel log says why.";
    match.command = "modprobe nvidia";
  } else if (const auto rebuild = rebuild_cure(machine)) {
    match.cure = *rebuild + ", and load the driver.";
  } else if (machine.nvidia.modules_from == "dkms") {
    match.cure = kBuildAgain;
  } else if (const auto other = other_kernel(machine); other && !match.explanation) {
    by_other_kernel(*other, match);
  }
}

void by_files(const Machine& machine, const KernelDriver& driver, Match& match) {
  const bool amd = driver.vendor == Vendor::amd;
  match.command = amd ? "modprobe amdgpu" : "modprobe xe || modprobe i915";
  match.cure = fmt::format(
      "Load the module, which is part of the kernel; if that fails, the kernel log says why. If it "
      "is not found or leaves the GPU out, install the package with the kernel's other modules "
      "(Ubuntu: linux-modules-extra) or {}.",
      amd ? "AMD's amdgpu-dkms" : "Intel's intel-i915-dkms, which GPUs of the series Max need");
  if (auto found = obstacle(machine, driver)) {
    match.title = found->title;
    take(std::move(*found), match);
    match.terms = kByReboot;
  }
}

// The GPU of a Tegra is on no bus. Images that somebody builds may lack its driver's module.
std::vector<Match> tegra_driver_absent(const Machine& machine) {
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    if (!machine.system.jetson_release || gpu.pci || gpu.driver || !gpu.integrated) continue;
    Match match = about(gpu);
    match.title = "The kernel module of Tegra's GPU (nvgpu) is not loaded";
    match.explanation =
        "The GPU is in the device tree, and no driver runs it. Images that are built for a board "
        "of one's own (Yocto) may lack the kernel's modules.";
    match.cure =
        "Load nvgpu. If it is not found, put the kernel's modules into the image (Yocto: "
        "kernel-modules or kernel-module-nvgpu in IMAGE_INSTALL), build it again, and flash it.";
    match.command = "depmod -a && modprobe nvgpu";
    match.evidence.push_back(evidence("/proc/device-tree", *machine.system.jetson_release));
    match.evidence.push_back(evidence("/sys/module/nvgpu", "not loaded"));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> driver_absent(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches = tegra_driver_absent(machine);
  for (const Vendor vendor : kDrivenVendors) {
    if (module_loaded(machine, vendor)) continue;
    const auto& driver = *kernel_driver(vendor);
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver) continue;
      Match match = at_device(machine, *device);
      for (const auto name : split(driver.names, " "))
        match.evidence.push_back(evidence(fmt::format("/sys/module/{}", name), "not loaded"));
      match.title = fmt::format("{} kernel module is not loaded", driver.people);
      const auto hits = log_hits(
          machine,
          {"*: version magic ", "*: disagrees about version of symbol ", "*: Unknown symbol ",
           "kernel: module nvidia*: .gnu.linkonce.this_module section size must match"});
      std::string_view exporter, refused;
      for (const auto name : split(driver.names, " "))
        for (const auto& hit : hits)
          if (contains(hit.text, name) && match.evidence.size() < 4) {
            match.evidence.push_back(evidence("kernel log", hit.text));
            exporter = exporter_of(hit.text);
            refused = name;
            match.explanation =
                "A module of the driver is installed and was built for another kernel, so this one "
                "refuses it.";
          }
      if (!exporter.empty())
        by_exporter(exporter, refused,
                    vendor != Vendor::nvidia || machine.nvidia.module_installed.value_or(false),
                    match);
      else if (vendor == Vendor::nvidia)
        by_origin(machine, match);
      else
        by_files(machine, driver, match);
      needs_newer_kernel(machine, match);
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

const std::vector<std::string_view> kNoDriver = {
    "driver-not-loaded", "driver-not-bound",     "nvml-start-failed",    "cuda-start-failed",
    "rocm-start-failed", "nvml-library-missing", "cuda-library-missing", "device-nodes-missing",
    "gpu-not-listed",    "expected-gpu-count",   "vulkan-software-only"};

}  // namespace

std::vector<Cause> bind_causes() {
  return {
      {.id = "nouveau-bound",
       .title = "nouveau holds the GPU",
       .explanation = "The kernel's own nouveau driver is bound to the GPU, so NVIDIA's cannot be; "
                      "nouveau offers no CUDA.",
       .cure = "Keep nouveau from loading, rebuild the initramfs, and reboot.",
       .command = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > "
                  "/etc/modprobe.d/blacklist-nouveau.conf && {do:rebuild-initramfs}",
       .action = Action::configure,
       .terms = kByReboot,
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = nouveau},
      {.id = "passthrough-bound",
       .severity = Severity::info,
       .title = "The GPU is set aside for a virtual machine",
       .explanation =
           "A pass-through driver holds the GPU, so no program on this system can use it.",
       .cure =
           "Nothing, if a virtual machine is to use it. For this system to use it: take it from "
           "the pass-through driver and probe again. For this system to have it after a restart, "
           "too, remove the GPU from vfio-pci.ids= (kernel's command line, /etc/modprobe.d), and "
           "rebuild the initramfs.",
       .command = "echo > /sys/bus/pci/devices/{pci}/driver_override; "
                  "echo {pci} > /sys/bus/pci/devices/{pci}/driver/unbind; "
                  "echo {pci} > /sys/bus/pci/drivers_probe",
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = passed_through},
      {.id = "boot-framebuffer",
       .severity = Severity::warning,
       .title = "The host's boot frame buffer holds the device's memory",
       .explanation = "VFIO cannot reserve a memory window of the device, because it contains the "
                      "firmware's frame buffer.",
       .cure = "Choose another primary display in the firmware's setup; or boot with "
               "initcall_blacklist=sysfb_init (before Linux 5.15: video=efifb:off), which takes "
               "the picture from the host's display.",
       .action = Action::configure,
       .terms = kInFirmware,
       .backing = Backing::looked,
       .match = memory_held},
      {.id = "wrong-driver-bound",
       .title = "Another driver holds the GPU",
       .explanation = "The driver that is bound to the GPU is not its vendor's, and offers no "
                      "compute.",
       .cure = "Keep that driver from loading, or take the GPU from it, and let the vendor's "
               "driver probe again.",
       .command = "echo {pci} > /sys/bus/pci/drivers/{holder}/unbind && "
                  "echo {pci} > /sys/bus/pci/drivers_probe",
       .action = Action::configure,
       .terms = kByReload,
       .explains = both(kNoDriver, {"gpu-init-failed"}),
       .match = wrong_driver},
      {.id = "module-rejected",
       .title = "The kernel rejected a kernel module, and the GPU's is not loaded",
       .explanation = "The module is not signed with a key that this kernel trusts; with Secure "
                      "Boot on, such modules are refused. The kernel does not say which module it "
                      "was.",
       .cure = "If the GPU's module is installed (modinfo finds it): enrol the key that signed it, "
               "reboot, and choose \"Enroll MOK\" in the screen that asks for its password. Or "
               "install modules that the distribution signed, or turn Secure Boot off in the "
               "firmware. If the module is not installed, install the driver.",
       .command = "{do:enrol-key}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = both(kNoDriver, {"nouveau-bound"}),
       .match = module_rejected},
      {.id = "driver-without-branch-tracking",
       .title = "The kernel stopped the driver, which was built without branch tracking (IBT)",
       .explanation = "The kernel lets indirect branches end only at marked functions, and the "
                      "driver's module has no marks.",
       .cure = "Install a newer driver whose modules are built with IBT; until then boot with "
               "ibt=off.",
       .command = "{do:upgrade-driver}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains =
           both(kNoDriver, {"driver-crashed", "gpu-init-failed", "driver-hung", "probe-timed-out"}),
       .match = branch_tracking},
      {.id = "driver-not-loaded",
       .title = "The GPU's kernel module is not loaded",
       .explanation = "The GPU is on the bus and no driver is bound to it. The driver is not "
                      "installed, or was not built for the running kernel.",
       .cure = "Install the driver, or build its modules for the running kernel, and load it. If "
               "the kernel was updated since the last start, start the machine again first.",
       .command = "{do:rebuild-modules} && modprobe nvidia",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "device-nodes-missing", "gpu-not-listed",
                    "expected-gpu-count", "vulkan-software-only", "rocm-start-failed"},
       .match = driver_absent},
      {.id = "driver-module-refused",
       .severity = Severity::warning,
       .title = "A module that belongs to the driver could not be loaded",
       .explanation = "The kernel or the driver refused the module. The GPU itself works; what the "
                      "module offers (unified memory, displays, GPUDirect) is missing.",
       .cure = kRebuild,
       .command = "{do:rebuild-modules}",
       .action = Action::configure,
       .terms = kAsRoot,
       .backing = Backing::looked,
       .explains = {"uvm-missing", "gpudirect-unavailable"},
       .match = modules_refused},
  };
}

}  // namespace gpuready::doctor
