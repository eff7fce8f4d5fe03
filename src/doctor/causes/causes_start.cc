// Why a driver that is loaded does not drive a GPU.
// Lines: drivers/base/dd.c of Linux ("probe with driver X failed with error N", before Linux 6.9
// "X: probe of ... failed with error N"); amdgpu ("Fatal error during GPU init"); the firmware
// loader
// ("Direct firmware load for ... failed"); xe and i915 ("Your graphics device ... supported");
// NVIDIA's osinit.c ("RmInitAdapter failed") and nv.c ("The NVIDIA probe routine failed").
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/kernel_signs.h"
#include "doctor/known_faults.h"
#include "doctor/platforms.h"
#include "machine/system/kernel_log.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

// Lines about one function of the bus, newest last; none of another vendor's driver.
std::vector<LogHit> hits_at(const Machine& machine, const PciAddress& address, const Ids& any) {
  auto hits = log_hits(machine, any);
  const auto* device = pci_device(machine, address);
  std::erase_if(hits, [&](const LogHit& hit) {
    return hit.pci != address || (device && is_of_another_vendor(hit, *device));
  });
  return hits;
}

// Gen 12 and DG2, which both drivers list (include/drm/intel/pciids.h of Linux): Tiger Lake, DG1,
// Rocket Lake, Alder Lake, Raptor Lake, Arc A, Flex, Meteor Lake and Arrow Lake.
bool is_i915s(std::uint16_t device_id) {
  constexpr int kHighBytes[] = {0x9a, 0x49, 0x4c, 0x46, 0xa7, 0x4f, 0x56, 0x7d};
  return std::ranges::find(kHighBytes, device_id >> 8) != std::end(kHighBytes);
}

std::vector<Match> force_probe(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto* device : without_driver(machine, Vendor::intel)) {
    if (device->driver) continue;
    auto hits = hits_at(machine, device->address, {"*: Your graphics device "});
    if (hits.empty()) continue;
    Match match = at_device(machine, *device);
    match.evidence.push_back(evidence("kernel log", hits.back().text));
    match.values.emplace_back("device", fmt::format("{:04x}", device->device_id));
    if (hits.back().text.starts_with("xe ") && is_i915s(device->device_id)) {
      match.title = "xe does not support this GPU, and i915, which does, is not bound";
      match.explanation =
          "xe takes GPUs before Lunar Lake and Battlemage only when force_probe names them; i915 "
          "is their driver, and it is not loaded or was kept from this GPU.";
      match.cure = fmt::format(
          "Remove what blocks i915, in /etc/modprobe.d or on the kernel's command line "
          "(i915.force_probe=!{0:04x}, nomodeset and the like), and reboot. To use xe all the "
          "same, boot with xe.force_probe={0:04x} i915.force_probe=!{0:04x}.",
          device->device_id);
      const auto command_line = machine.system.kernel_command_line.value_or("");
      for (const auto option : split(command_line, " \n"))
        if (contains(option, "i915") || option == "nomodeset")
          match.evidence.push_back(evidence("/proc/cmdline", option));
      matches.push_back(std::move(match));
      continue;
    }
    match.cure = fmt::format(
        "Install a newer kernel; or boot with xe.force_probe={0:04x} (on older kernels "
        "i915.force_probe={0:04x}), at your own risk.",
        device->device_id);
    matches.push_back(std::move(match));
  }
  return matches;
}

// Intel's driver works on without the GuC of older GPUs, and without HuC and DMC of all.
Match works_without(const Machine& machine, const PciDevice& device,
                    const std::map<std::string_view, std::vector<LogHit>>& missing) {
  Match match = about(machine, device.address);
  match.severity = Severity::info;
  match.standing = Standing::past;
  match.title = "The driver did not find some of the GPU's firmware, and works on";
  match.explanation = "Drawing and computing work.";
  if (missing.contains("GuC") || missing.contains("HuC"))
    *match.explanation += " Encoding video in low-power mode fails, since the HuC does not run.";
  if (missing.contains("DMC"))
    *match.explanation += " The display engine saves no power when idle, since the DMC is missing.";
  match.cure =
      "If that is missed, rebuild the initramfs, from which the driver was started, and reboot. "
      "Where /lib/firmware lacks the file, install the distribution's newest GPU firmware before.";
  for (const auto& [part, hits] : missing)
    match.evidence.push_back(evidence("kernel log", hits.front().text));
  return match;
}

// A driver that is built into the kernel asks before the root file system is there.
void asked_too_early(Match& match) {
  match.explanation =
      "The driver asked for its firmware before the file was there, and waited for it in vain. A "
      "driver that is built into the kernel starts before the root file system with /lib/firmware.";
  match.cure =
      "Use a kernel that has the driver as a module, which is loaded when /lib/firmware is there "
      "(OpenWrt: an image with kmod-drm-i915 and i915-firmware). Or build the files into the "
      "kernel (CONFIG_EXTRA_FIRMWARE), or put them into the initramfs, if there is one. Copying "
      "them to /lib/firmware does not help a built-in driver.";
  match.command = "";
}

// AMD's own driver, which tells its version, brings its firmware in a package.
void of_driver_package(const Machine& machine, Match& match) {
  const bool rock = is_in(*machine.amd.module_version, "..<5.11.32");  // before ROCm 4.5
  match.evidence.push_back(evidence("/sys/module/amdgpu/version", *machine.amd.module_version));
  match.cure =
      "Install the firmware package of AMD's driver again, in the driver's version: "
      "amdgpu-dkms-firmware, or rock-dkms-firmware before ROCm 4.5. Then rebuild the initramfs of "
      "the running kernel, and reboot.";
  match.command = fmt::format("{{do:reinstall}} {0} {0}-firmware && {{do:rebuild-initramfs}}",
                              rock ? "rock-dkms" : "amdgpu-dkms");
}

// A driver goes on without some of its firmware (display, video), so this is the reason only where
// the start failed.
std::vector<Match> firmware_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto stories = gpu_stories(machine);
  std::vector<Match> matches;
  for (const Vendor vendor : {Vendor::amd, Vendor::intel})
    for (const auto* device : gpus_on_bus(machine, vendor)) {
      const bool given_up = std::ranges::any_of(stories, [&](const GpuStory& story) {
        return story.pci == device->address && story.last == Step::wedged;
      });
      auto missing = vendor == Vendor::intel ? missing_parts(machine, device->address)
                                             : std::map<std::string_view, std::vector<LogHit>>();
      if (device->driver && !unbound(*device) && !given_up && !missing.empty())
        matches.push_back(works_without(machine, *device, missing));
      auto guc = std::move(missing["GuC"]);
      if (device->driver ? !given_up || guc.empty() : machine.system.wsl2) continue;
      auto hits = hits_at(machine, device->address,
                          {"*: Direct firmware load for", "*: ...failed to load firmware",
                           "*: ...firmware: failed to load", "*: ...Failed to load firmware",
                           "amdgpu: ...Failed to get gpu_info firmware"});
      std::ranges::move(guc, std::back_inserter(hits));
      if (vendor == Vendor::amd && gpus_on_bus(machine, vendor).size() == 1)  // without an address
        std::ranges::move(log_hits(machine, {"amdgpu: ...amdgpu requires firmware installed"}),
                          std::back_inserter(hits));
      if (hits.empty()) continue;
      Match match = at_device(machine, *device);
      for (const auto& hit : hits)
        if (match.evidence.size() < 4) match.evidence.push_back(evidence("kernel log", hit.text));
      const bool late = std::ranges::any_of(hits, [](const LogHit& hit) {
        return says_any(hit.text, {"*: GuC firmware *: fetch failed with error -110",
                                   "*: GuC firmware *: fetch failed -ETIMEDOUT"});
      });
      if (late) asked_too_early(match);
      if (vendor == Vendor::amd && machine.amd.module_version) of_driver_package(machine, match);
      matches.push_back(std::move(match));
    }
  return matches;
}

struct ProbeError {
  int code;
  std::string_view meaning, cure;
};
constexpr ProbeError kProbeErrors[] = {
    {-2, "The driver did not find a file that it needs, mostly firmware.",
     "Install the firmware package of this GPU, rebuild the initramfs, and reboot."},
    {-5, "The GPU answered the driver with nonsense, or not at all.", ""},
    {-12, "The driver found no room for the GPU's memory: mostly its BAR has no address.",
     "Turn on Above 4G Decoding and Resizable BAR in the firmware, or boot with pci=realloc; in a "
     "virtual machine, enlarge its 64-bit MMIO space."},
    {-16, "Another driver, mostly the boot frame buffer, holds the GPU's memory.",
     "Update the kernel and the driver, which take the GPU over from the boot frame buffer. Or "
     "boot "
     "with initcall_blacklist=sysfb_init (before Linux 5.15: video=efifb:off), which takes the "
     "picture from the display until the driver runs."},
    {-19, "The driver found that this GPU cannot be driven here.", ""},
    {-22, "The driver rejected what the GPU or its video BIOS says of itself.",
     "Update the kernel and the GPU's firmware files (linux-firmware), then the firmware of board "
     "and GPU."},
    {-110, "The GPU did not answer the driver in time.", ""},
};

// Which of the firmware's windows has no room, by what the kernel says of the GPU's BAR.
void explain_no_room(const Machine& machine, const PciAddress& address, Match& match) {
  // "BAR 5 [mem size 0x00080000]: can't assign; no space", before 6.10 "BAR 5: no space for [...".
  const auto hits =
      hits_at(machine, address, {"*: BAR * [mem size ", "*: BAR * no space for [mem size "});
  if (hits.empty()) return;
  match.evidence.push_back(evidence("kernel log", hits.front().text));
  const bool high = contains(hits.front().text, " 64bit");
  match.explanation = fmt::format(
      "The firmware's memory window {} 4 GiB has no room for one of the GPU's BARs, which "
      "therefore has no address.",
      high ? "above" : "below");
  match.cure = fmt::format(
      "In the firmware, turn on Above 4G Decoding, enlarge its window {0} 4 GiB (MMIO {1}) where "
      "it has such a setting, turn SR-IOV off where it is not needed, and update it. Or boot with "
      "pci=realloc. In a virtual machine, have its MMIO space {0} 4 GiB enlarged on the host.",
      high ? "above" : "below", high ? "high" : "low");
}

std::optional<int> error_number(std::string_view line) {
  constexpr std::string_view kMark = "failed with error ";
  const auto at = line.find(kMark);
  if (at == line.npos) return std::nullopt;
  const auto text = line.substr(at + kMark.size());
  const auto number = parse_int(text.substr(0, text.find_first_not_of("-0123456789")));
  if (!number || *number < -4095 || *number > 0) return std::nullopt;
  return static_cast<int>(*number);
}

constexpr std::string_view kForVirtualFunctions =
    "In this virtual machine, install a driver that supports the host's virtual functions "
    "(i915-sriov-dkms of the host's version, or a newer kernel). If the whole GPU was handed in, "
    "ask the host's operator to look at it.";
// Home Assistant OS, Talos and their like take no driver beside their own.
constexpr std::string_view kForFixedSystems =
    "On the host, create the virtual functions as this system's driver knows them (by i915 and not "
    "xe, with the release of i915-sriov-dkms from before the change), or pass the whole GPU "
    "through. Or run what needs the GPU in a container (LXC) of the host, or in a virtual machine "
    "whose kernel drives such functions. Else wait for a release of this system that drives them.";
constexpr std::string_view kNoPost =
    "The card's own start (POST), which its video BIOS does, did not end in time.";
constexpr StartReason kStartReasons[] = {
    {"NVRM: ...vGPU type is not supported",
     "The host hands in a type of virtual GPU that this system or its driver cannot use.",
     "Give the virtual machine a type of vGPU that its system supports, on the host.",
     Action::ask_host},
    {"NVRM: Xid (*): 78,",
     "The virtual GPU's driver in this machine does not fit the vGPU manager of the host.",
     "Install the vGPU (GRID) driver of a release that the host supports; clouds list it for each "
     "kind of machine."},
    {"i915: ...Device is non-operational; MMIO access returns 0xFFFFFFFF",
     "The GPU's registers read as ones. So do those of a virtual function for a driver that takes "
     "it for a whole GPU.",
     kForVirtualFunctions, Action::configure, true},
    {"xe: ...Hardware reported no preallocated GSM",
     "The driver found no memory set aside for the GPU: it takes a virtual function for a whole "
     "GPU.",
     kForVirtualFunctions, Action::configure, true},
    {"NVRM: ...Can't find an IRQ for your NVIDIA card", "The firmware gave the GPU no interrupt.",
     "Update the firmware; in a virtual machine, give the GPU a message-signalled interrupt "
     "(MSI)."},
    {"NVRM: ...No interrupts of any type are available",
     "The kernel gave the GPU neither a message-signalled interrupt nor one of a line.",
     "Take pci=nomsi and the like off the kernel's command line, and update the firmware; in a "
     "virtual machine, give the GPU a message-signalled interrupt (MSI)."},
    {"NVRM: ...ailed to copy vbios to system memory",
     "The driver could not read the GPU's video BIOS, which a laptop keeps in its firmware.",
     "Hand the GPU's ROM to the virtual machine as a file, on the host (romfile= of QEMU).",
     Action::ask_host, true},
    {"amdgpu: Unable to locate a BIOS ROM",
     "The driver found no video BIOS, which graphics in the processor have in the host's firmware.",
     "Hand the GPU's ROM to the virtual machine as a file, on the host (romfile= of QEMU).",
     Action::ask_host, true},
    {"NVRM: ...ailed to copy vbios to system memory",
     "The driver could not read the GPU's video BIOS.",
     "Cut the power and start again; on a laptop, switch the GPU on before its driver loads.",
     Action::power_cycle},
    {"NVRM: ...request_mem_region failed", "Another driver holds the GPU's memory.",
     "Update the driver, which takes the GPU over from the boot frame buffer. Or keep frame buffer "
     "drivers (nvidiafb, rivafb, nouveau, efifb) from the GPU, which takes the picture from the "
     "display until the driver runs."},
    {"NVRM: ...CPU does not support confidential compute",
     "The GPU is in confidential computing mode, and this machine is not a confidential virtual "
     "machine.",
     "Switch the mode off on the host (gpu_admin_tools: --set-cc-mode=off), or hand the GPU to a "
     "confidential virtual machine."},
    kNoCrypto,
    {"NVRM: ...osInitNvMapping: *** Cannot attach gpu",
     "The GPU is at its address and does not answer there as a GPU does.",
     "Cut the power and start again; if it stays, look at its slot, riser or cable. In "
     "confidential "
     "computing mode, turn persistence on before the first program: the GPU starts once a reset.",
     Action::power_cycle},
    {"NVRM: ...Fatal Error while attempting to resize PCIe BARs",
     "The driver could not enlarge the GPU's memory window, nor restore it.",
     "Load the driver with NVreg_EnableResizableBar=0, or turn on Resizable BAR in the firmware, "
     "so that the window is large from the start."},
    // The stage and the status of the failure: osinit.c, nvstatuscodes.h.
    kNoHostMemory,
    {"NVRM: RmInitAdapter failed! (0x*:0x61:", "The driver rejects the GPU's video BIOS.",
     "Restore the board maker's video BIOS for this GPU, or have the GPU replaced.",
     Action::replace},
    {"NVRM: RmInitAdapter failed! (0x*:0x72:", "The GPU's memory does not work.",
     "Cut the power, reseat the GPU, and start again; if it stays, have the GPU replaced.",
     Action::power_cycle},
    {"NVRM: RmInitAdapter failed! (0x*:0x47:", "The GPU's memory could not be trained.",
     "Cut the power, reseat the GPU, and start again; if it stays, have the GPU replaced.",
     Action::power_cycle},
    {"amdgpu: ...gpu post error!", kNoPost,
     "Shut this virtual machine down and start it again, with the GPU's ROM handed in as a file; "
     "if "
     "it stays, have the host restarted with its power cut, and the card checked there.",
     Action::ask_host, true},
    {"amdgpu: ...gpu post error!", kNoPost,
     "Switch the machine off and take its mains away for a minute; check each power lead of the "
     "card, and reseat the card. If it stays, update the firmware of board and card, with Above 4G "
     "Decoding on and CSM off. Then try another slot or machine: if the card fails there, too, "
     "have it replaced.",
     Action::power_cycle},
    {"amdgpu: ...GPU will not be initialized. Replace this GPU",
     "More memory pages of the GPU have gone bad than its driver accepts.",
     "Have the GPU replaced.", Action::replace},
    {"amdgpu: ...invalid ip discovery binary",
     "The GPU does not give its driver the table of its own parts: its memory or its firmware is "
     "not up.",
     ""},
    {"amdgpu: ...READY_TO_ACCESS_GPU",
     "The host's driver did not hand this virtual function to the guest.",
     "Look at the host's driver of the GPU; start the virtual machine again."},
    {"*: ...not initialized by firmware",
     "The GPU's own firmware did not set up its memory, as happens without power or after a failed "
     "firmware update.",
     "Cut the power, check the GPU's power cables, and start again; if it stays, update the GPU's "
     "firmware.",
     Action::power_cycle},
    {"*: ...PCODE initialization timedout", "The GPU's power controller (pcode) did not get ready.",
     ""},
};

// The first reason that is about this GPU, or names none. Lines before `first` are history. Whether
// there is one.
bool add_reason(const Machine& machine, std::size_t first, Match& match) {
  constexpr std::size_t kQuotes = 3;
  std::vector<const StartReason*> reasons;
  Ids lines;
  for (const auto& reason : kStartReasons)
    if (!reason.guest || machine.system.hypervisor) {
      reasons.push_back(&reason);
      lines.push_back(reason.line);
    }
  auto found = first_reason(machine, lines, match, first);
  if (!found) return false;
  const auto& reason = *reasons[found->first];
  if (match.evidence.size() < kQuotes &&
      !std::ranges::count(match.evidence, found->second.quote, &Evidence::quote))
    match.evidence.push_back(std::move(found->second));
  match.explanation = std::string(reason.meaning);
  if (reason.cure.empty()) return true;
  match.cure = std::string(reason.cure);
  match.command = std::string(reason.command);
  match.action = reason.action;
  if (reason.cure == kForVirtualFunctions && is_fixed_system(machine)) {
    match.cure = kForFixedSystems;
    match.action = Action::ask_host;
  }
  return true;
}

// What keeps a GPU from starting only in a virtual machine: how it was handed in, and what the
// guest before left in it. NVIDIA's driver takes GeForce GPUs in guests since 465.
void cure_in_guest(const Machine& machine, Match& match) {
  constexpr std::uint16_t kA10 = 0x2236;  // Azure hands out shares of them only (NVads A10 v5)
  const auto* device = match.pci.empty() ? nullptr : pci_device(machine, match.pci.front());
  if (device && device->device_id == kA10 && contains(machine.system.kernel_release, "azure") &&
      !log_hits(machine, {"NVRM: RmInitAdapter failed! (0x*:0x56:"}).empty()) {  // not supported
    match.explanation = "Azure hands A10s out as virtual GPUs, which only the GRID driver starts.";
    match.cure = "Remove the ordinary driver and install Azure's GRID driver.";
    match.action = Action::configure;
    return;
  }
  match.cure =
      outside(machine) == CurePlace::provider
          ? "Stop this machine and start it again, which moves it to another host; if it stays, "
            "ask the provider to look at the GPU."
          : "Shut this virtual machine down and start it again, so that the host resets the GPU. "
            "If "
            "it stays, on the host: hand in the whole GPU with its ROM, and with a driver before "
            "465 hide the hypervisor from a GeForce (KVM: hidden; VMware: hypervisor.cpuid.v0 = "
            "FALSE).";
  match.action = Action::ask_host;
}

// VFIO takes a GPU only where an IOMMU isolates it.
void explain_vfio(const Machine& machine, Match& match) {
  match.title = "vfio-pci could not take the GPU";
  match.explanation =
      "The GPU is to be set aside for a virtual machine, which needs an IOMMU group for it.";
  match.cure =
      machine.system.iommu_active.value_or(false)
          ? "Attach the GPU to a slot that the IOMMU serves."
          : "Turn the IOMMU on: VT-d or AMD-Vi in the firmware's setup, and intel_iommu=on on the "
            "kernel's command line of Intel's processors; then reboot.";
  match.action = Action::configure;
  match.terms = kInFirmware;
}

// A GPU that the driver would know does not say what it is: it is damaged, locked or a share.
void add_refusal(const Machine& machine, Match& match) {
  if (match.pci.size() != 1) return;
  const auto& address = match.pci.front();
  for (const auto& hit : log_hits(machine, {kUnknownGpu})) {
    if (!hit.pci || *hit.pci != address || !driver_knows(machine, address, hit.text)) continue;
    match.evidence.insert(match.evidence.begin(), evidence("kernel log", hit.text));
    match.title = "The driver does not recognise a GPU of a kind that it supports";
    match.explanation =
        "The driver supports GPUs of this kind, and this one does not answer as they do: it is "
        "damaged or locked, or, in a virtual machine, a share of a GPU (vGPU).";
    if (!machine.system.hypervisor) return;
    if (runs_like(machine, address)) {
      match.cure = "Have the host's operator reset or replace this GPU, or take another machine.";
      match.action = Action::ask_host;
      return;
    }
    constexpr std::uint64_t kHopper = 9;  // the first with a confidential computing mode
    match.cure = fmt::format(
        "If the host hands out shares of the GPU, install the vGPU (GRID) driver of the host's "
        "release. If it handed in the whole GPU: have the host cut its power{}.",
        capability_major(machine, address).value_or(0) < kHopper
            ? ""
            : ", and look at its confidential computing mode");
    match.action = Action::configure;
    return;
  }
}

bool tells_why(std::string_view line) {
  const auto message = parse_message(line);
  const auto head = line.substr(0, line.size() - (message ? message->text.size() : 0));
  return contains(head, "*ERROR*") ||
         says_any(line, {"*: hw_init of IP block", "*: sw_init of IP block",
                         "*: Unable to locate a BIOS ROM"});
}

// A GPU that NVIDIA's driver has bound is started when it is first used. causes_adapter.cc has the
// rows for what its log gives as the reason.
std::vector<Match> init_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = refused(facts, {"NVRM: ...RmInitAdapter failed", "NVRM: ...rm_init_adapter failed",
                                 "NVRM: ...The NVIDIA probe routine failed for"});
  for (auto& match : matches)
    if (!add_reason(machine, load_line(machine), match) &&
        !explain_arm_board(machine, Vendor::nvidia, match) && machine.system.hypervisor)
      cure_in_guest(machine, match);
  const auto is_told = [&](const PciAddress& address) {
    return std::any_of(matches.begin(), matches.end(), [&](const Match& match) {
      return std::find(match.pci.begin(), match.pci.end(), address) != match.pci.end();
    });
  };
  for (const Vendor vendor : kDrivenVendors)
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver || is_told(device->address)) continue;
      auto hits =
          hits_at(machine, device->address,
                  {"*: probe of ", "*: probe with driver ", "*: ...Fatal error during GPU init"});
      std::erase_if(hits, [&](const LogHit& hit) {
        auto names = split(kernel_driver(vendor)->names, " ");
        names.push_back("vfio-pci");
        return hit.line < (vendor == Vendor::nvidia ? load_line(machine) : 0) ||
               std::none_of(
                   names.begin(), names.end(),
                   [&](auto name) {
                     return hit.text.starts_with(fmt::format("{} ", name)) ||
                            hit.text.starts_with(fmt::format("{}:", name));
                   });
      });
      if (hits.empty()) continue;
      Match match = at_device(machine, *device);
      const auto& last = hits.back().text;
      for (const auto& hit : log_hits(machine, {"*: *"}))
        if (hit.pci == device->address && match.evidence.size() < 3 && tells_why(hit.text))
          match.evidence.push_back(evidence("kernel log", hit.text));
      match.evidence.push_back(evidence("kernel log", last));
      for (const auto& error : kProbeErrors)
        if (error_number(last) == error.code) {
          match.explanation = std::string(error.meaning);
          if (error.cure.empty()) continue;
          match.cure = std::string(error.cure);
          match.action = Action::configure;
        }
      if (error_number(last) == -12) explain_no_room(machine, device->address, match);
      if (error_number(last) == -110) explain_arm_board(machine, vendor, match);
      const bool refused = error_number(last) == -22;
      if (refused && machine.system.hypervisor)
        *match.cure += " Or hand the GPU's ROM to this virtual machine, on the host.";
      if (!add_reason(machine, 0, match) && refused) needs_newer_kernel(machine, match);
      if (last.starts_with("vfio-pci")) explain_vfio(machine, match);
      matches.push_back(std::move(match));
    }
  for (auto& match : matches) {
    if (!match.cure && is_laptop(machine.system))
      match.cure =
          "Cut the power and start again. If it stays and began with an update of the laptop's "
          "firmware, go back to the firmware before it, or take a newer one. Else update the "
          "kernel, the driver and the laptop's firmware, or try another branch of the driver.";
    if (!match.cure && !match.pci.empty() && runs_like(machine, match.pci.front()))
      match.cure =
          "Take the machine out of service, cut its power and start it again. If the GPU fails "
          "again, reseat it and its power cables, try another slot, then have it replaced: equal "
          "GPUs work here, so another driver does not help.";
    add_refusal(machine, match);
  }
  return matches;
}

std::vector<Match> not_bound(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const Vendor vendor : kDrivenVendors) {
    if (!module_loaded(machine, vendor)) continue;
    for (const auto* device : without_driver(machine, vendor)) {
      if (device->driver) continue;
      Match match = at_device(machine, *device);
      match.title = fmt::format("{} kernel module is loaded and does not drive this GPU",
                                kernel_driver(vendor)->people);
      // A driver that knows a GPU logs its start.
      const auto loaded = log_hits(machine, {"amdgpu: amdgpu kernel modesetting enabled"});
      if (vendor == Vendor::amd && !loaded.empty() &&
          hits_at(machine, device->address,
                  {"*: enabling device (", "*: initializing kernel modesetting (",
                   "*: Fetched VBIOS from ", "*: finishing device"})
              .empty()) {
        match.evidence.push_back(evidence("kernel log", loaded.back().text));
        match.explanation =
            "The driver was loaded and says nothing of this GPU, so it does not know it: GPU and "
            "kernel do not fit.";
        match.cure = "Install a newer kernel, or AMD's driver package (amdgpu-dkms), and reboot.";
        match.command = "";
        match.action = Action::configure;
      }
      if (!needs_newer_kernel(machine, match) && !machine.kernel_log.readable) {
        match.evidence.push_back(
            evidence("kernel log", machine.kernel_log.error.value_or("could not be read")));
        match.cure = "Run gpuready doctor as root: the kernel log says why, and could not be read.";
        match.action = Action::check_again;
        match.own_cure = true;
        match.command = "sudo gpuready doctor";
      }
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

// Gaudi: drivers/accel/habanalabs of Linux. gpuready does not examine it; its driver's own
// judgement is passed on, the newest one of each device.
constexpr std::string_view kGaudiAdded = "habanalabs: ...Successfully added device ";
constexpr std::string_view kGaudiRuns[] = {kGaudiAdded,
                                           "habanalabs: ...Successfully finished resetting"};

std::vector<Match> accelerators_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  std::map<std::string, PciAddress, std::less<>> by_name;  // "hl3", which most lines begin with
  std::map<PciAddress, Match> by_device;
  for (const auto& hit :
       log_hits(machine, {"habanalabs: ...Device is NOT usable",
                          "habanalabs: ...PCI link is broken", kGaudiRuns[0], kGaudiRuns[1]})) {
    const auto words = split(hit.text, " :");
    const std::string name(words.size() > 1 ? words[1] : "");
    const auto named = by_name.find(name);
    const auto pci = hit.pci                  ? hit.pci
                     : named != by_name.end() ? std::optional(named->second)
                                              : std::nullopt;
    if (!pci || !pci_device(machine, *pci)) continue;
    if (says_any(hit.text, {kGaudiAdded})) by_name[name] = *pci;
    if (says_any(hit.text, kGaudiRuns)) {
      by_device.erase(*pci);
      continue;
    }
    auto& match = by_device.try_emplace(*pci, about(machine, *pci)).first->second;
    if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", hit.text));
  }
  std::vector<Match> matches;
  for (auto& [address, match] : by_device) matches.push_back(std::move(match));
  return matches;
}

// Tegra's GPU takes contiguous memory, which the kernel sets aside (CMA). Cameras and displays take
// it, too, so that the kernel refuses some is a fault of the GPU only if its driver or CUDA says
// so.
std::vector<Match> no_contiguous_memory(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!machine.system.jetson_release) return {};
  const auto refused = log_hits(machine, {"nvgpu: ...DMA alloc FAILED"});
  const auto exhausted = log_hits(machine, {"cma: ...alloc failed, req-size"});
  const auto& cuda = machine.nvidia.cuda_start;
  const bool down = cuda && !cuda->ok();
  if (refused.empty() && (exhausted.empty() || !down)) return {};
  Match match = about_all(machine, Vendor::nvidia);
  for (const auto* hits : {&refused, &exhausted})
    if (!hits->empty()) match.evidence.push_back(evidence("kernel log", hits->front().text));
  const bool dead = down || !log_hits(machine, {"nvgpu: ...Failed initialization for"}).empty();
  if (!dead) match.severity = Severity::warning;
  return {match};
}

// What a Jetson's GPU driver logs where it gives the GPU up. Healthy ones log other errors.
std::vector<Match> tegra_start_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& cuda = machine.nvidia.cuda_start;
  if (!machine.system.jetson_release || !cuda || cuda->ok()) return {};
  const auto no_file =
      log_hits(machine, {"gk20a: Direct firmware load for", "nvgpu: Direct firmware load for"});
  const auto failed =
      log_hits(machine, {"nvgpu: ...RISCV ucode loading failed", "nvgpu: ...ACR bootstrap failed",
                         "nvgpu: ...Failed initialization for", "nvgpu: ...LSF Load failed",
                         "nvgpu: ...Unable to recover GR falcon"});
  if (no_file.empty() && failed.empty()) return {};
  Match match = about_all(machine, Vendor::nvidia);
  for (const auto* hits : {&no_file, &failed})
    for (const auto& hit : *hits)
      if (match.evidence.size() < 4) match.evidence.push_back(evidence("kernel log", hit.text));
  if (no_file.empty()) return {match};
  match.cure = "Put NVIDIA's firmware for this module into /lib/firmware, and reboot.";
  const auto command_line = machine.system.kernel_command_line.value_or("");
  for (const auto option : split(command_line, " \n")) {
    if (!option.starts_with("firmware_class.path=")) continue;
    match.title = "The kernel looks for the Jetson's GPU firmware in another folder";
    match.explanation =
        "The kernel was started with firmware_class.path, and the files that nvgpu needs are not "
        "there, so CUDA finds no device.";
    match.cure =
        "Remove firmware_class.path from the APPEND line of /boot/extlinux/extlinux.conf, or put "
        "NVIDIA's firmware for this module into that folder; then reboot.";
    match.evidence.push_back(evidence("/proc/cmdline", option));
  }
  return {match};
}

const std::vector<std::string_view> kNotStarted = {
    // A module whose every probe fails does not stay loaded.
    "driver-not-loaded",  "driver-not-bound",    "nvml-start-failed", "cuda-start-failed",
    "rocm-start-failed",  "gpu-not-listed",      "gpu-call-failed",   "device-nodes-missing",
    "expected-gpu-count", "vulkan-software-only"};

}  // namespace

std::vector<Cause> start_causes() {
  return {
      {.id = "force-probe-required",
       .title = "This kernel's driver does not bind the GPU",
       .explanation = "The kernel knows the GPU and does not support it yet, so its driver takes "
                      "it only when force_probe names it.",
       .cure = "Install a newer kernel.",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = kNotStarted,
       .match = force_probe},
      {.id = "driver-firmware-missing",
       .title = "The driver did not find the GPU's firmware",
       .explanation = "The GPU does not start without a file that is not installed, or not in the "
                      "initramfs, from which the driver was started.",
       .cure = "Install the distribution's GPU firmware in a version that knows this GPU (Debian: "
               "of its section non-free-firmware), or the file itself from linux-firmware; rebuild "
               "the initramfs, and reboot. If /lib/firmware has the file, only the initramfs lacks "
               "it.",
       .command = "{do:install-firmware} && {do:rebuild-initramfs}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = both(kNotStarted, {"gpu-init-failed", "gpu-wedged"}),
       .match = firmware_missing},
      {.id = "gpu-init-failed",
       .title = "The driver could not start the GPU",
       .explanation = "The kernel driver found the GPU and failed to initialise it.",
       .cure = "Cut the power and start again; if it stays, update the kernel or the driver and "
               "try another slot.",
       .action = Action::power_cycle,
       .backing = Backing::silent,
       .explains =
           both(kNotStarted, {"xid-78", "power-controller-hung", "driver-hung", "probe-timed-out"}),
       .match = init_failed},
      {.id = "accelerator-failed",
       .title = "The driver could not start an accelerator",
       .explanation = "The accelerator's driver reports that the device is not usable.",
       .cure = "Cut the power and start again; if it stays, update the accelerator's driver and "
               "firmware together, then have it replaced.",
       .command = "dmesg | grep -F {pci}",
       .action = Action::power_cycle,
       .backing = Backing::on_bus,
       .explains = {"no-gpu"},
       .match = accelerators_failed},
      {.id = "contiguous-memory-exhausted",
       .title = "The Jetson has too little contiguous memory for its GPU",
       .explanation =
           "The GPU's driver asked for memory in one piece, and the kernel's reserve for "
           "that (CMA) is too small or used up.",
       .cure = "Add cma=512M (or more) to the APPEND line of /boot/extlinux/extlinux.conf, and "
               "reboot; a reboot by itself helps for a time if the reserve is fragmented.",
       .command = "grep -i cma /proc/meminfo",
       .action = Action::reboot,
       .own_cure = true,
       .backing = Backing::looked,
       .explains = kNotStarted,
       .match = no_contiguous_memory},
      {.id = "tegra-gpu-not-started",
       .title = "The Jetson's GPU driver could not start the GPU",
       .explanation = "nvgpu failed while it loaded the GPU's firmware, so CUDA finds no device.",
       .cure = "Install kernel, device tree and firmware of one release of Jetson Linux, those of "
               "this module, and reboot.",
       .command = "dmesg | grep -i nvgpu",
       .action = Action::configure,
       .terms = kByReboot,
       .own_cure = true,
       .backing = Backing::looked,
       .explains = kNotStarted,
       .match = tegra_start_failed},
      {.id = "driver-not-bound",
       .title = "No driver is bound to the GPU",
       .explanation = "The driver's module is loaded, and left this GPU out: it does not support "
                      "it, failed to start it, or was kept from it (driver_override, unbind).",
       .cure = "Look at the kernel log for this address, and let the driver probe it again.",
       .command = "echo {pci} > /sys/bus/pci/drivers_probe; dmesg | grep -F {pci}",
       .action = Action::reload_driver,
       .explains = {"nvml-start-failed", "cuda-start-failed", "rocm-start-failed", "gpu-not-listed",
                    "expected-gpu-count", "vulkan-software-only"},
       .match = not_bound},
  };
}

}  // namespace gpuready::doctor
