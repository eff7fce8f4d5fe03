#include "vm/diagnose/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/pcie_log.h"
#include "machine/pci/pci_addresses.h"
#include "vm/diagnose/bar_lines.h"
#include "vm/plan.h"
#include "vm/readiness.h"

namespace gpuready::vm {
namespace {

using doctor::Match;
using Matches = std::vector<Match>;

std::vector<const Device*> devices(const HostView& view) {
  std::vector<const Device*> found;
  for (const auto& address : view.devices)
    if (const auto* device = view.state.inventory.find(address)) found.push_back(device);
  return found;
}

// One match with all devices of which `tell` gives a proof.
template <class Tell>
Matches of_devices(const HostView& view, Tell tell) {
  Match match;
  for (const auto* device : devices(view))
    if (std::optional<Evidence> proof = tell(*device)) {
      match.pci.push_back(device->function.address);
      match.evidence.push_back(std::move(*proof));
    }
  if (match.evidence.empty()) return {};
  return {match};
}

Evidence sysfs(const PciFunction& function, std::string_view name, std::string_view text) {
  return doctor::evidence(folder_of(function.address) + "/" + std::string(name), text);
}

std::string command_line(const HostView& view) {
  return view.machine.system.kernel_command_line.value_or("");
}

// The value of the last parameter of this name, "NAME=".
std::optional<std::string> parameter(const HostView& view, std::string_view name) {
  std::optional<std::string> found;
  const auto line = command_line(view);
  for (const auto word : split(line, " \t\n"))
    if (const auto value = after_prefix(word, name)) found = std::string(*value);
  return found;
}

// The first line of the kernel log about each device that fits one of these
// (machine/system/kernel_log.h).
Matches log_lines(const HostView& view, const doctor::Ids& patterns) {
  const auto hits = doctor::log_hits(view.machine, patterns);
  return of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    for (const auto& hit : hits)
      if (hit.pci == device.function.address) return doctor::evidence("kernel log", hit.text);
    return std::nullopt;
  });
}

constexpr std::string_view kOnlyTheLog = "Only a line of the kernel log says so.";

// What a line of the log says was so once. `holds` tells whether it is so now, and `proof` by what;
// where that cannot be read, the line is a hint.
template <class Holds>
Matches confirmed(const Matches& told, Holds holds, const Evidence& proof) {
  Match sure, hint{.explanation = std::string(kOnlyTheLog), .severity = Severity::warning};
  for (const auto& match : told)
    for (std::size_t i = 0; i < match.evidence.size(); ++i) {
      const auto address = match.pci.empty() ? std::nullopt : std::optional(match.pci[i]);
      const std::optional<bool> now = holds(address);
      if (now == false) continue;
      auto& to = now ? sure : hint;
      if (address) to.pci.push_back(*address);
      to.evidence.push_back(match.evidence[i]);
    }
  Matches all;
  if (!sure.evidence.empty()) {
    sure.evidence.push_back(proof);
    all.push_back(std::move(sure));
  }
  if (!hint.evidence.empty()) all.push_back(std::move(hint));
  return all;
}

constexpr std::string_view kNoAnswer = "\xff\xff\xff\xff";  // of the ids

Matches unless_it_answers(const HostView& view, const Matches& told) {
  return confirmed(
      told,
      [&](const std::optional<PciAddress>& address) -> std::optional<bool> {
        const auto header = view.settings.headers.find(address.value_or(PciAddress{}));
        if (header == view.settings.headers.end()) return std::nullopt;
        return header->second.starts_with(kNoAnswer);
      },
      doctor::evidence("/sys/bus/pci/devices/*/config", "only ones: the device does not answer"));
}

Matches look(const HostCause& row, const HostView& view) {
  if (row.look) return row.look(view);
  auto matches = log_lines(view, row.lines);
  std::erase_if(matches, [&](const Match& match) {  // what a device did that runs now is past
    return std::ranges::all_of(match.pci, [&](const PciAddress& address) {
      return doctor::runs_now(view.machine, address);
    });
  });
  return unless_it_answers(view, matches);
}

Matches iommu_off(const HostView& view) {
  const auto& host = view.state.inventory.host;
  if (host.iommu_groups) return {};
  Match match;
  match.evidence = {doctor::evidence("/sys/kernel/iommu_groups", "empty or missing"),
                    doctor::evidence("/proc/cmdline", command_line(view))};
  match.cure = iommu_cure(host);
  return {match};
}

Matches no_group(const HostView& view) {
  if (!view.state.inventory.host.iommu_groups) return {};
  return of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    if (device.function.iommu_group) return std::nullopt;
    return sysfs(device.function, "iommu_group", "not there");
  });
}

// By its command line, or because that is the kernel's default: the groups of the devices tell.
bool passes_through(const HostView& view) {
  if (view.settings.translates == false) return true;
  const auto iommu = parameter(view, "iommu=");
  const auto words = iommu ? split(*iommu, ",") : std::vector<std::string_view>();
  if (std::ranges::find(words, "pt") != words.end()) return true;
  const auto passthrough = parameter(view, "iommu.passthrough=").value_or("");
  // As kstrtobool() of the kernel reads it.
  return passthrough.starts_with('1') || passthrough.starts_with('y') ||
         passthrough.starts_with('Y') || passthrough == "on" || passthrough == "On" ||
         passthrough == "ON";
}

Matches not_pass_through(const HostView& view) {
  if (!view.state.inventory.host.iommu_groups || passes_through(view)) return {};
  return {Match{.evidence = {doctor::evidence("/proc/cmdline", command_line(view))}}};
}

Matches acs_override(const HostView& view) {
  if (!parameter(view, "pcie_acs_override=")) return {};
  return {Match{.evidence = {doctor::evidence("/proc/cmdline", command_line(view))}}};
}

// What keeps a group from ever being given away as it is. A GPU that somebody computes on is merely
// in use; a disk or a network card of the host's stays so.
std::optional<std::string> blocker_of(const HostView& view, const Device& device) {
  if (device.around.attached_to) return std::nullopt;
  if (device.around.readiness == Readiness::never) return device.around.reason;
  for (const auto& member : device.around.group) {
    const auto* other = view.state.inventory.find(member);
    if (other == nullptr || same_slot(member, device.function.address) ||
        is_passable(other->function.vendor_id, other->function.class_code))
      continue;
    for (const auto& use : other->around.uses)
      if (!use.ends_with_plan) return fmt::format("{}: {}", member.text(), use.what);
  }
  return std::nullopt;
}

// Functions of other slots in a GPU's group: they must go with it.
Matches shared_groups(const HostView& view) {
  Matches all;
  std::map<int, const Device*> groups;
  for (const auto* device : devices(view))
    if (device->function.iommu_group) groups.try_emplace(*device->function.iommu_group, device);
  for (const auto& [number, device] : groups) {
    const auto& own = device->function.address;
    Match match{.pci = {own}};
    for (const auto& member : device->around.group) {
      const auto* other = view.state.inventory.find(member);
      if (same_slot(member, own) || other == nullptr) continue;
      match.evidence.push_back(doctor::evidence(
          fmt::format("/sys/kernel/iommu_groups/{}/devices/{}", number, member.text()),
          fmt::format("class {:06x}, driver {}", other->function.class_code,
                      other->function.driver.value_or("none"))));
    }
    if (match.evidence.empty()) continue;
    if (const auto blocker = blocker_of(view, *device)) {
      match.severity = Severity::error;
      match.explanation =
          "All of a group go to one virtual machine, and one of this group cannot: " + *blocker +
          ".";
    }
    all.push_back(std::move(match));
  }
  return all;
}

Matches no_vfio_pci(const HostView& view) {
  const auto& host = view.state.inventory.host;
  if (host.vfio_pci_present) return {};
  return {
      Match{.evidence = {doctor::evidence("/lib/modules/" + host.kernel_release, "no vfio-pci")}}};
}

Matches no_type1(const HostView& view) {
  const auto& host = view.state.inventory.host;
  // Arm's and the rest of the world's machines have it, too; POWER alone does not.
  if (host.vfio_type1_present || view.settings.iommufd || !host.vfio_pci_present) return {};
  return {Match{.evidence = {doctor::evidence("/lib/modules/" + host.kernel_release,
                                              "no vfio_iommu_type1")}}};
}

Matches unsafe_interrupts(const HostView& view) {
  if (!view.settings.unsafe_interrupts.value_or(false)) return {};
  return {Match{.evidence = {doctor::evidence(
                    "/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y")}}};
}

// The log's line stays where they were allowed since.
Matches no_interrupt_remapping(const HostView& view) {
  if (view.settings.unsafe_interrupts.value_or(false)) return {};
  const auto hits = doctor::log_hits(
      view.machine, {"vfio_iommu_type1_attach_group: No interrupt remapping support"});
  if (hits.empty()) return {};
  const auto& remaps = view.settings.remaps_interrupts;
  return confirmed(
      {Match{.evidence = {doctor::evidence("kernel log", hits.front().text)}}},
      [&](const auto&) { return remaps ? std::optional(!*remaps) : std::nullopt; },
      doctor::evidence("/sys/kernel/irq/*/chip_name", "none begins with IR-"));
}

// Whether a device has a memory window of this index to which no address is assigned. Of such a
// window sysfs shows nothing, as of one that does not exist; the type that its register keeps tells
// them apart, unless that is 0 (32 bits, not prefetchable).
std::optional<bool> lacks_address(const HostView& view, const PciFunction& function, int index) {
  for (const auto& bar : function.bars)
    if (bar.index == index) return !bar.assigned;
  constexpr std::size_t kBars = 0x10, kBytes = 4;  // PCI Local Bus Specification, 6.2.5.1
  constexpr unsigned kPorts = 1, kWide = 4;
  const auto header = view.settings.headers.find(function.address);
  if (header == view.settings.headers.end() || header->second.starts_with(kNoAnswer) ||
      header->second.size() < kBars + kBytes * static_cast<std::size_t>(index + 1))
    return std::nullopt;
  const auto bits = [&](int bar) {
    return static_cast<unsigned char>(
               header->second[kBars + kBytes * static_cast<std::size_t>(bar)]) &
           0xfu;
  };
  for (int bar = 0; bar < index; ++bar)
    if (!(bits(bar) & kPorts) && (bits(bar) & kWide) && ++bar == index)
      return false;  // its upper half
  if (bits(index) & kPorts) return false;
  return bits(index) ? std::optional(true) : std::nullopt;
}

Matches bar_unassigned(const HostView& view) {
  auto matches = of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    for (const auto& bar : device.function.bars)
      if (!bar.assigned && bar.bytes > 0)
        return sysfs(device.function, "resource",
                     fmt::format("BAR {}: {} MiB without an address", bar.index, bar.bytes >> 20));
    return std::nullopt;
  });
  std::map<PciAddress, std::optional<bool>> lack;
  const auto logged = of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    const auto& function = device.function;
    std::optional<Evidence> found;
    for (const auto& line : view.machine.kernel_log.lines) {
      const auto bar =
          doctor::says_any(line.text, {"*: BAR "}) ? parse_bar_line(line.text) : std::nullopt;
      if (!bar || bar->assigned || bar->device != function.address) continue;
      const auto lacks = lacks_address(view, function, bar->bar);
      if (lacks == false) continue;
      found = doctor::evidence("kernel log", line.text);
      lack[function.address] = lacks;
      if (lacks) break;
    }
    return found;
  });
  for (auto& match : confirmed(
           logged, [&](const std::optional<PciAddress>& address) { return lack[*address]; },
           doctor::evidence("/sys/bus/pci/devices/*/config",
                            "a memory window of this type; resource shows no address of it")))
    matches.push_back(std::move(match));
  return matches;
}

// Bound to VFIO and asleep without power: set up by hand, since attach forbids it.
Matches d3cold_allowed(const HostView& view) {
  return of_devices(view, [](const Device& device) -> std::optional<Evidence> {
    const auto& function = device.function;
    if (!is_vfio(function.driver) || !function.d3cold_allowed.value_or(false) ||
        function.power_control != "auto")
      return std::nullopt;
    return sysfs(function, "d3cold_allowed", "1, and power/control auto");
  });
}

Matches boot_framebuffer(const HostView& view) {
  return confirmed(
      log_lines(view, {"*: BAR *: can't reserve [mem "}),
      [&](const std::optional<PciAddress>& address) -> std::optional<bool> {
        const auto& held = view.settings.framebuffers;
        if (!held) return std::nullopt;
        return std::ranges::find(*held, address) != held->end();
      },
      doctor::evidence("/proc/iomem", "a boot frame buffer lies in the device's window"));
}

// Nothing but the log counts them.
Matches iommu_faults(const HostView& view) {
  if (!view.state.inventory.host.iommu_groups) return {};  // none is on that could refuse
  const auto logged = of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    for (const auto& line : view.machine.kernel_log.lines)
      if (doctor::refused_by_iommu(line.text) == device.function.address)
        return doctor::evidence("kernel log", line.text);
    return std::nullopt;
  });
  return confirmed(logged, [](const auto&) -> std::optional<bool> { return std::nullopt; }, {});
}

Matches no_reset(const HostView& view) {
  return of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    const auto& function = device.function;
    if (!has_memory(function) ||
        !best_resets(function, view.state.inventory, device.around.moves_together).empty())
      return std::nullopt;
    return sysfs(
        function, "reset_method",
        function.reset_methods.empty() ? "empty or missing" : "only bus, which others share");
  });
}

// Journal and machine differ.
Matches attached_and_not_bound(const HostView& view) {
  Matches all;
  for (const auto& claim : view.state.claims) {
    if (state_of(claim) != ClaimState::attached || claim.attached().managed) continue;
    for (const auto& address : claim.attached().devices) {
      const auto* device = view.state.inventory.find(address);
      if (device == nullptr)
        all.push_back({.pci = {address},
                       .evidence = {doctor::evidence(folder_of(address), "not there")},
                       .explanation = "The device is gone from the bus."});
      else if (!is_vfio(device->function.driver))
        all.push_back({.pci = {address},
                       .evidence = {sysfs(device->function, "driver",
                                          device->function.driver.value_or("none"))}});
    }
  }
  return all;
}

Matches not_ended(const HostView& view) {
  Matches all;
  for (const auto& claim : view.state.claims) {
    const auto now = state_of(claim);
    if (now != ClaimState::attaching && now != ClaimState::detaching &&
        now != ClaimState::unreadable)
      continue;
    Match match;
    if (!claim.operations.empty()) match.pci = claim.attached().devices;
    match.evidence = {doctor::evidence(std::string(kJournalFolder), claim.problem.empty()
                                                                        ? std::string(name_of(now))
                                                                        : claim.problem)};
    all.push_back(std::move(match));
  }
  return all;
}

Matches quarantined(const HostView& view) {
  return of_devices(view, [](const Device& device) -> std::optional<Evidence> {
    if (!device.around.quarantine) return std::nullopt;
    return doctor::evidence(std::string(kJournalFolder), *device.around.quarantine);
  });
}

// A pass-through driver that is not VFIO's.
Matches other_pass_through(const HostView& view) {
  constexpr std::string_view kOthers[] = {"pci-stub", "pciback", "xen-pciback", "uio_pci_generic",
                                          "igb_uio"};
  return of_devices(view, [&](const Device& device) -> std::optional<Evidence> {
    const auto& driver = device.function.driver;
    if (!driver || std::ranges::find(kOthers, *driver) == std::end(kOthers)) return std::nullopt;
    return sysfs(device.function, "driver", *driver);
  });
}

// Set aside by hand or by libvirt.
Matches bound_by_others(const HostView& view) {
  return of_devices(view, [](const Device& device) -> std::optional<Evidence> {
    if (!is_vfio(device.function.driver) || device.around.attached_to || device.around.quarantine)
      return std::nullopt;
    return sysfs(device.function, "driver", *device.function.driver);
  });
}

Matches override_waits(const HostView& view) {
  return of_devices(view, [](const Device& device) -> std::optional<Evidence> {
    const auto& function = device.function;
    if (!function.driver_override || function.driver == function.driver_override ||
        device.around.attached_to)
      return std::nullopt;
    return sysfs(function, "driver_override",
                 fmt::format("{}, and the driver is {}", *function.driver_override,
                             function.driver.value_or("none")));
  });
}

Matches no_huge_pages(const HostView& view) {
  const auto& pools = view.state.inventory.host.huge_pages;
  if (pools.empty() ||
      std::ranges::any_of(pools, [](const HugePagePool& pool) { return pool.total > 0; }))
    return {};
  return {Match{
      .evidence = {doctor::evidence("/sys/devices/system/node/*/hugepages/*/nr_hugepages", "0")}}};
}

// A row of `doctor`, which knows less of the host: its text, found by the code here.
doctor::Cause of_core(std::string_view id, Severity severity) {
  auto row = doctor::find_cause(id);
  row.severity = severity;
  row.match = nullptr;
  return row;
}

// Errors before warnings, and among these what lies closer to the root first.
std::vector<HostCause> make_table() {
  using enum Action;
  using enum Severity;
  std::vector<HostCause> rows = {
      {{.id = "iommu-off",
        .title = "The IOMMU is off",
        .explanation = "Without it a device reaches all of the machine's memory, so none can be "
                       "given to a virtual machine.",
        .action = configure,
        .terms = doctor::kInFirmware},
       iommu_off},
      {{.id = "iommu-not-for-device",
        .title = "The device is behind no IOMMU",
        .explanation = "The IOMMU is on, and this device has no group.",
        .cure = "Update the firmware; some boards leave slots of the chipset out.",
        .action = configure,
        .terms = doctor::kInFirmware},
       no_group},
      {{.id = "vfio-pci-missing",
        .title = "The kernel has no vfio-pci",
        .explanation = "It is the driver through which a virtual machine gets a device.",
        .cure = "Install the kernel's full set of modules (on Ubuntu: linux-modules-extra), or a "
                "kernel with CONFIG_VFIO_PCI.",
        .action = configure,
        .terms = doctor::kAsRoot},
       no_vfio_pci},
      {{.id = "vfio-type1-missing",
        .title = "The kernel has no vfio_iommu_type1",
        .explanation = "Without it VFIO cannot program the IOMMU.",
        .cure = "Install the kernel's full set of modules.",
        .action = configure,
        .terms = doctor::kAsRoot},
       no_type1},
      {{.id = "no-interrupt-remapping",
        .title = "The host does not remap interrupts",
        .explanation =
            "Without it a guest could send interrupts to any processor, so VFIO refuses.",
        .cure = "Switch interrupt remapping (VT-d or AMD-Vi, x2APIC) on in the firmware's setup.",
        .action = configure,
        .terms = doctor::kInFirmware},
       no_interrupt_remapping},
      {{.id = "bar-unassigned",
        .title = "There is no room for the device's memory window",
        .explanation = "The firmware's 64-bit window is smaller than the device's BAR, so no "
                       "driver can reach it.",
        .cure = "Switch on Above 4G Decoding and Resizable BAR in the firmware's setup, or boot "
                "with pci=realloc; in a virtual machine enlarge the 64-bit window (OVMF: "
                "opt/ovmf/X-PciMmio64Mb; `gpuready vm args` writes it).",
        .action = configure,
        .terms = doctor::kInFirmware},
       bar_unassigned},
      {{.id = "d3cold-stuck",
        .title = "The device does not wake from D3",
        .explanation = "It was put to sleep, in D3cold without power, and does not come back.",
        .cure = "Restart the host, with the power off where that is not enough, and forbid D3cold: "
                "`gpuready vm attach` does.",
        .action = reboot,
        .lines = {"*: Unable to change power state from D3* to D0",
                  "*: Unable to change power state from unknown to D0",
                  "*: can't change power state from D3* to D0 (config space inaccessible)",
                  "*: Refused to change power state from D3* to D0",
                  "*: refused to change power state from D3* to D0",
                  "*: Refused to change power state, currently in D3",
                  "*: refused to change power state, currently in D3"}}},
      {{.id = "reset-failed",
        .title = "The device does not come back from its reset",
        .explanation = "It stopped answering after it was reset.",
        .cure = "Restart the host with the power off for a moment.",
        .action = power_cycle,
        .lines = {"*: not ready *ms after *; giving up", "*: not ready *ms after * *; giving up",
                  "*: vfio_bar_restore: reset recovery - restoring BARs"}}},
      {of_core("boot-framebuffer", error), boot_framebuffer},
      {{.id = "attached-not-bound",
        .title = "A device that is attached has lost its VFIO driver",
        .explanation = "Somebody bound it elsewhere since; its virtual machine has it no more.",
        .cure = "End the virtual machine and give the device back.",
        .command = "gpuready vm recover",
        .action = configure,
        .terms = doctor::kByReload},
       attached_and_not_bound},
      {{.id = "operation-not-ended",
        .title = "An operation on devices did not end",
        .explanation = "The journal names it; until it has ended its devices cannot be attached.",
        .cure = "Bring it to its end.",
        .command = "gpuready vm recover",
        .action = configure,
        .terms = doctor::kAsRoot},
       not_ended},
      {{.id = "other-pass-through",
        .title = "A pass-through driver that is not VFIO's holds the device",
        .explanation = "Linux hypervisors take devices only from VFIO.",
        .cure =
            "Take it out of the kernel's command line or modprobe.d (pci-stub.ids=), and restart.",
        .action = configure,
        .terms = doctor::kByReboot},
       other_pass_through},
      {{.id = "iommu-group-shared",
        .severity = warning,
        .title = "The device shares its IOMMU group with devices of other slots",
        .explanation = "All devices of a group go to one virtual machine: the hardware does not "
                       "isolate them (PCIe ACS).",
        .cure = "Move the card to a slot that the processor serves itself, or give all of the "
                "group away; `vm attach` moves them together.",
        .action = configure,
        .terms = CureTerms{CureRisk::reboots, CurePlace::hardware, CureNeeds::power_off}},
       shared_groups},
      {{.id = "acs-override",
        .severity = warning,
        .title = "Groups were split by the ACS override",
        .explanation = "The groups are smaller than what the hardware isolates: a guest may reach "
                       "its neighbours' memory.",
        .cure = "Remove pcie_acs_override from the kernel's command line.",
        .action = configure,
        .terms = doctor::kByReboot},
       acs_override},
      {{.id = "unsafe-interrupts",
        .severity = warning,
        .title = "VFIO is configured to allow unsafe interrupts",
        .explanation = "A guest can send interrupts to any processor of the host.",
        .cure = "Remove allow_unsafe_interrupts from modprobe.d and switch interrupt remapping on.",
        .action = configure,
        .terms = doctor::kByReboot},
       unsafe_interrupts},
      {{.id = "in-quarantine",
        .severity = warning,
        .title = "The device is in quarantine",
        .explanation = "It was not shown to be clean since its last guest.",
        .cure = "Test it again.",
        .command = "gpuready vm recover",
        .action = check_again},
       quarantined},
      {{.id = "no-reset",
        .severity = warning,
        .title = "The device cannot be reset",
        .explanation = "What a guest leaves in it stays until the power is off.",
        .cure = "Restart the machine with the power off between two users.",
        .action = power_cycle},
       no_reset},
      {{.id = "d3cold-allowed",
        .severity = warning,
        .title = "The device may lose its power while VFIO has it",
        .explanation = "Some GPUs do not come back from D3cold.",
        .cure = "Let gpuready attach it, or forbid it by hand.",
        .action = configure,
        .terms = doctor::kAsRoot},
       d3cold_allowed},
      {{.id = "iommu-faults",
        .severity = warning,
        .title = "The IOMMU refused accesses of the device",
        .explanation = "It reached for memory that it was not given: its driver, its firmware or "
                       "the device is at fault.",
        .cure = "Look at what its driver says at the same time.",
        .action = check_again},
       iommu_faults},
      {{.id = "override-waits",
        .severity = warning,
        .title = "Another driver gets the device at the next probe",
        .explanation = "driver_override names a driver that has it not.",
        .cure = "Clear it, unless it was set on purpose.",
        .action = configure,
        .terms = doctor::kAsRoot},
       override_waits},
      {{.id = "bound-by-others",
        .severity = info,
        .title = "VFIO has the device, and gpuready did not attach it",
        .explanation =
            "It was bound by hand, at boot or by libvirt; the driver that it had is not known.",
        .cure = "Let one program do both, attach and give back."},
       bound_by_others},
      {{.id = "iommu-translates-all",
        .severity = info,
        .title = "The IOMMU translates for the host's own devices, too",
        .explanation = "The host's devices are faster without (iommu=pt); those of virtual "
                       "machines are translated in any case.",
        .cure = "Add iommu=pt to the kernel's command line."},
       not_pass_through},
      {{.id = "no-huge-pages",
        .severity = info,
        .title = "No huge pages are reserved",
        .explanation =
            "A guest's memory in huge pages makes the IOMMU's and the processor's tables small.",
        .cure = "Reserve them when a device is attached: --hugepages GIB.",
        .command = "echo 1024 > /proc/sys/vm/nr_hugepages"},
       no_huge_pages},
  };
  for (auto& row : rows) row.backing = doctor::Backing::looked, row.apart = true;
  return rows;
}

}  // namespace

std::vector<Finding> diagnose_host(const HostView& view) {
  std::vector<doctor::ReportedCause> told;
  for (const auto& row : host_causes())
    for (auto& match : look(row, view)) {
      if (match.explanation == kOnlyTheLog)
        match.explanation = fmt::format("{} {}", row.explanation, kOnlyTheLog);
      told.push_back(doctor::tell(row, std::move(match), view.machine));
    }
  return doctor::fold(std::move(told), view.machine);
}

std::span<const HostCause> host_causes() {
  static const auto table = make_table();
  return table;
}

const HostCause& host_cause(std::string_view id) {
  return *std::ranges::find(host_causes(), id, &HostCause::id);
}

}  // namespace gpuready::vm
