// NVIDIA's kernel driver and the board: what its log says when a GPU is refused, fails to start, or
// is lost. The wording is that of NVIDIA's open-gpu-kernel-modules 595.45.04 (nv-pci.c, osapi.c,
// osinit.c, kernel_gsp.c) and, for the proprietary module, of logs that users have published.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

std::vector<Match> too_new(const Facts& facts) {
  auto matches = refused(facts, {kUnknownGpu, "NVRM: ...GPU that is not supported by this driver"});
  std::erase_if(matches, [&](const Match& match) {  // gpu-init-failed
    return match.pci.size() == 1 &&
           driver_knows(facts.machine, match.pci.front(), match.evidence.front().quote);
  });
  for (auto& match : refused(facts, {"NVRM: ...vGPU host system is not supported"})) {
    match.title = "The driver's build for vGPU hosts does not support this GPU";
    match.explanation =
        "This build of the driver hands out shares of GPUs to virtual machines, and this GPU "
        "cannot "
        "be shared so.";
    match.cure = "Install the ordinary build of the driver, or a vGPU release that lists this GPU.";
    match.command = "";
    matches.push_back(std::move(match));
  }
  return matches;
}

// What has no address of what every GPU of NVIDIA has: its registers (BAR 0), and the window into
// its memory. That is BAR 1 up to Ada; since Hopper BAR 0 is a 64-bit one, which takes the place of
// two, and the window is BAR 2.
std::optional<std::string_view> bar_without_address(const PciDevice& device) {
  const auto& sizes = device.bar_sizes_bytes;
  if (sizes.size() < 3) return std::nullopt;
  if (sizes[0] == 0) return "BAR 0 has no address";
  if (sizes[1] == 0 && sizes[2] == 0) return "neither BAR 1 nor BAR 2 has an address";
  return std::nullopt;
}

// "BAR 1: no space for [mem ...", since 6.10 "BAR 1 [mem ...]: can't assign; no space".
const Ids kNoRoom = {"*: BAR * no space for", "*: BAR * failed to assign", "*: BAR * [mem size ",
                     "NVRM: ...Fatal Error while attempting to resize PCIe BARs"};

// The driver has tried to enlarge the window, which it had: the lines are its own.
void explain_resize(Match& match) {
  match.title = "The driver could not enlarge the GPU's memory window";
  match.explanation =
      "The driver tried to enlarge the window into the GPU's memory (Resizable BAR), and the "
      "bridges above the GPU have no room for that, as in most Thunderbolt enclosures. The attempt "
      "left the GPU without a window.";
  match.cure =
      "Load the driver with NVreg_EnableResizableBar=0 (a file of /etc/modprobe.d), rebuild the "
      "initramfs, and reboot. If that does not help, install another release of the driver, or "
      "have the kernel give the bridges a larger window (pci=hpmmioprefsize=64G). Connect an "
      "enclosure before the machine starts.";
  match.command =
      "echo options nvidia NVreg_EnableResizableBar=0 > /etc/modprobe.d/nvidia-rebar.conf && "
      "{do:rebuild-initramfs}";
  match.action = Action::configure;
  match.terms = kByReboot;
}

// A Mac has no firmware setup; and where pci=realloc did not help, neither firmware nor kernel sees
// a reason to keep room below the bridges of an enclosure.
void ask_kernel_for_room(const Machine& machine, Match& match) {
  const auto product = machine.system.product_name.value_or("");
  bool told = false;
  const auto command_line = machine.system.kernel_command_line.value_or("");
  for (const auto option : split(command_line, " \n"))
    if (option.starts_with("pci=") && contains(option, "realloc") &&
        !contains(option, "realloc=off")) {
      match.evidence.push_back(evidence("/proc/cmdline", option));
      told = true;
    }
  const bool mac = product.starts_with("Mac") || product.starts_with("iMac");
  if (machine.system.hypervisor || (!told && !mac)) return;
  match.cure = fmt::format(
      "Have the kernel keep more room below the bridges above the GPU: boot with "
      "pcie_ports=native pci=hpbussize=0x10,hpmmiosize=128M,hpmmioprefsize=1G (more than the GPU's "
      "largest window), and connect an enclosure after the start. If that does not help, boot with "
      "pci=assign-busses,realloc{}.",
      mac ? "" : ", turn on Above 4G Decoding in the firmware, and update it");
  match.action = Action::configure;
  match.terms = kByReboot;
}

std::vector<Match> bad_bar(const Facts& facts) {
  auto matches =
      refused(facts, {"NVRM: ...This PCI I/O region assigned to your NVIDIA device is invalid"});
  for (const auto& device : facts.machine.pci) {
    const bool known = std::any_of(matches.begin(), matches.end(), [&](const Match& match) {
      return !match.pci.empty() && same_slot(match.pci.front(), device.address);
    });
    const auto bar = bar_without_address(device);
    if (!device.is_gpu || device.vendor_id != pci_vendor::kNvidia || known || !bar) continue;
    if (device.runtime_status == "suspended" || answers(facts.machine, device.address)) continue;
    Match match = about(facts.machine, device.address);
    match.evidence.push_back(evidence(
        fmt::format("/sys/bus/pci/devices/{}/resource", device.address.text()), std::string(*bar)));
    matches.push_back(std::move(match));
  }
  for (auto& match : matches) {
    if (facts.machine.system.hypervisor) {
      match.explanation =
          "The virtual machine's firmware found no address for a window (BAR) of the GPU, so the "
          "driver cannot reach it. The GPU itself is not at fault.";
      match.cure =
          "On the host, enlarge the virtual machine's 64-bit MMIO space (QEMU, libvirt, KubeVirt: "
          "UEFI firmware with -fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=524288, and the host's "
          "processor model (host-passthrough), which has enough address bits; VMware: "
          "pciPassthru.use64bitMMIO and pciPassthru.64bitMMIOSizeGB; Hyper-V: "
          "-HighMemoryMappedIoSpace). Then stop the virtual machine and start it again. With less "
          "memory it may find room meanwhile.";
      match.action = Action::ask_host;
    }
    ask_kernel_for_room(facts.machine, match);
    if (is_plain_arm(facts.machine))
      match.cure =
          "Enlarge the memory window of the PCI Express port in the board's device tree (ranges), "
          "which is too small for this GPU.";
    for (const auto& hit : log_hits(facts.machine, kNoRoom)) {
      const auto message = parse_message(hit.text);
      const bool by_driver = message && vendor_of_writer(message->writer) == Vendor::nvidia;
      const bool here = hit.pci && !match.pci.empty() && same_slot(*hit.pci, match.pci.front());
      if ((!here && (hit.pci || !by_driver)) || match.evidence.size() >= 4) continue;
      match.evidence.push_back(evidence("kernel log", hit.text));
      if (by_driver) explain_resize(match);
    }
  }
  return matches;
}

// Where the proprietary flavour takes such a GPU, its security engine stops at the start.
std::vector<Match> needs_open_module(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = refused(facts, {"NVRM: ...requires use of the NVIDIA open kernel modules"});
  if (machine.nvidia.module_flavour != "proprietary" || !matches.empty() ||
      xids(machine, {169}).empty())
    return matches;
  for (auto& match : refused(facts, {"NVRM: ...RmInitAdapter failed"})) {
    const auto* device = match.pci.empty() ? nullptr : pci_device(machine, match.pci.front());
    if (device && device->name.value_or("").starts_with("GB")) matches.push_back(std::move(match));
  }
  return matches;
}

void died_at_work(const Machine& machine, Match& match, bool works_now = false) {
  match.title = "The GPU's system processor (GSP) stopped answering";
  match.explanation =
      "The firmware on the GPU's system processor hung or failed while at work, so the driver lost "
      "control of the GPU.";
  match.cure =
      "Reset the GPU (reboot if that fails), then update the driver to the newest release of its "
      "branch. If it recurs with that, cut the power once; then have the GPU checked.";
  const auto& nvidia = machine.nvidia;
  const auto on = nvidia.params.find("EnableGpuFirmware");
  if (nvidia.module_flavour == "proprietary" && !match.pci.empty() &&
      may_do_without_gsp(machine, match.pci.front()) &&
      (on == nvidia.params.end() || on->second != "0"))
    match.cure =
        "Reset the GPU (reboot if that fails), then update the driver to the newest release of its "
        "branch. If it recurs with that, turn the GSP off, which this flavour can do without up to "
        "Ada: NVreg_EnableGpuFirmware=0 for nvidia in /etc/modprobe.d, then reboot. If the GPU "
        "still hangs, cut the power once; then have it checked.";
  match.command = "nvidia-smi --gpu-reset -i {pci}";
  add_gsp_advice(machine, match, works_now ? "" : "Reboot to get the GPU back.");
}

// What the log gives as the reason why the GSP did not start. The kernel's numbers: -2 is ENOENT,
// -4 is EINTR (drivers/base/firmware_loader).
constexpr StartReason kGspReasons[] = {
    {"NVRM: ...firmware image version mismatch: got version",
     "The kernel module takes only firmware of its own version, and the file is of another: an "
     "update of the driver was done in part.",
     "Install kernel module, firmware and libraries of one version (rebuild the modules, or "
     "reinstall the driver's packages), rebuild the initramfs, and reboot.",
     Action::configure, false, "ls /lib/firmware/nvidia/{driver}/"},
    {"nvidia: Direct firmware load for nvidia/*/gsp* failed with error -2",
     "The kernel module found no firmware of its version for the GPU's system processor.",
     "Install the firmware of exactly this driver version, which is in the driver's packages; "
     "after "
     "an update that was done in part, module, firmware and libraries of one version. Then reload "
     "the driver, or reboot.",
     Action::configure, false, "ls /lib/firmware/nvidia/{driver}/"},
    {"nvidia: Direct firmware load for nvidia/*/gsp* failed with error -4",
     "The program that made the driver start the GPU was stopped while the firmware was read.",
     "Start the GPU again: run nvidia-smi, or reload the driver. Persistence (nvidia-persistenced) "
     "keeps GPUs started, so that no other program has to start them.",
     Action::reload_driver, false, "nvidia-smi"},
    kNoHostMemory,
    kNoCrypto,
};

void add_gsp_reason(const Machine& machine, Match& match) {
  Ids lines;
  for (const auto& reason : kGspReasons) lines.push_back(reason.line);
  auto found = first_reason(machine, lines, match, load_line(machine));
  if (!found) {
    if (!explain_arm_board(machine, Vendor::nvidia, match))
      add_gsp_advice(machine, match, "Cut the power and start again.");
    return;
  }
  const auto& reason = kGspReasons[found->first];
  std::erase_if(match.evidence,
                [&](const Evidence& item) { return item.quote == found->second.quote; });
  match.evidence.insert(match.evidence.begin(), std::move(found->second));
  match.explanation = std::string(reason.meaning);
  match.cure = std::string(reason.cure);
  match.command = std::string(reason.command);
  match.action = reason.action;
  match.own_cure = true;
  if (reason.action == Action::configure) match.terms = kByReboot;
}

std::vector<Match> gsp_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches =
      refused(facts, {"NVRM: ...Cannot initialize GSP firmware RM",
                      "NVRM: ...cannot bootstrap riscv/gsp", "NVRM: ...unexpected WPR2 already up",
                      "NVRM: ...failed to wait for GFW boot complete",
                      "NVRM: ...RmFetchGspRmImages: No firmware image found",
                      "NVRM: ...GSP-RM proxy boot command failed"});
  for (auto& match : matches) add_gsp_reason(machine, match);
  const auto is_told = [&](const Match& match) {
    return std::ranges::any_of(matches, [&](const Match& told) { return told.gpus == match.gpus; });
  };
  const Ids no_beat = {"NVRM: ...GSP RM heartbeat timed out"};
  const auto missed = log_hits(machine, no_beat);
  if (!missed.empty())
    for (auto& match : refused(facts, no_beat)) {
      if (is_told(match)) continue;
      died_at_work(machine, match);
      matches.push_back(std::move(match));
    }
  // The line names no GPU, so it is about the only one.
  const bool by_only_one = !missed.empty() && missed.back().line >= load_line(machine) &&
                           std::ranges::count(machine.gpus, Vendor::nvidia, &Gpu::vendor) == 1;
  for (const auto& gpu : machine.gpus) {  // GSP died at work
    Match match = about(gpu);
    if (gpu.vendor != Vendor::nvidia || is_told(match)) continue;
    if (!add_xids(machine, gpu, {119, 120}, match) && by_only_one && answers(machine, gpu))
      match.evidence.push_back(evidence("kernel log", missed.back().text));
    if (match.evidence.empty()) continue;
    died_at_work(machine, match, computes(machine, gpu));
    if (computes(machine, gpu)) {
      match.severity = Severity::warning;
      match.standing = Standing::past;
    } else if (const auto& cuda = machine.nvidia.cuda_start; cuda && !cuda->ok()) {
      match.evidence.push_back(evidence(*cuda));
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

// A laptop's own GPU is named as one: any other is in an enclosure.
bool is_in_enclosure(const Machine& machine, const Match& match) {
  const auto* device = match.pci.empty() ? nullptr : pci_device(machine, match.pci.front());
  if (!device || machine.system.hypervisor || !is_laptop(machine.system)) return false;
  const std::string name = device->name.value_or("");
  const auto open = name.find(" [");
  return open != name.npos && open > 0 && name[open - 1] != 'M' &&
         std::ranges::none_of(std::initializer_list<const char*>{"Laptop", "Mobile", "Max-Q", "MX"},
                              [&](const char* word) { return contains(name, word); });
}

std::vector<Match> off_the_bus(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = log_matches(machine, {"NVRM: ...fallen off the bus"});
  // Where the driver never says so, its own calls fail with this code; a GPU without power stays in
  // D3cold; both wordings are the kernel's (drivers/pci/pci.c).
  for (auto& match : refused(
           facts, {"*: Unable to change power state from D3cold to D0, device inaccessible",
                   "*: can't change power state from D3cold to D0 (config space inaccessible)",
                   // "from D3hot", "from unknown"; before 5.5 "currently in D3", which the kernel
                   // says of GPUs that bbswitch has switched off, too.
                   "nvidia: Unable to change power state from * to D0, device inaccessible",
                   "nvidia: can't change power state from * to D0 (config space inaccessible)",
                   "nvidia: Refused to change power state, currently in D3",
                   "*: not ready *ms after *; giving up", "*: not ready *ms after * *; giving up",
                   "NVRM: ...lost from the bus [NV_ERR_GPU_IS_LOST]"})) {
    // Of disks and network adapters the kernel says so, too.
    const bool ours = std::ranges::all_of(match.pci, [&](const PciAddress& address) {
      const auto* device = pci_device(machine, address);
      if (device) return device->is_gpu && device->vendor_id == pci_vendor::kNvidia;
      return match.evidence.front().quote.starts_with("nvidia ");
    });
    if (!ours) continue;
    const bool known = std::any_of(matches.begin(), matches.end(),
                                   [&](const Match& other) { return other.pci == match.pci; });
    if (!known) matches.push_back(std::move(match));
  }
  std::erase_if(matches, [&](const Match& match) {
    return !match.pci.empty() && not_given(machine, match.pci.front());
  });
  const auto match_for = [&](const Gpu& gpu) -> Match& {
    for (auto& match : matches)
      if (match.gpus == std::vector<int>{gpu.index}) return match;
    return matches.emplace_back(about(gpu));
  };
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia) continue;
    Match found = about(gpu);
    add_xids(machine, gpu, {79}, found);
    if (const auto* lost = failed_call(gpu, "nvml", nvml_code::kGpuIsLost))
      found.evidence.push_back(evidence(*lost));
    const auto* device = gpu.pci ? pci_device(machine, *gpu.pci) : nullptr;
    if (device && device->reads_ones && device->driver == "nvidia" && !answers(machine, gpu) &&
        !not_given(machine, gpu)) {
      const bool others = std::ranges::any_of(
          machine.gpus, [&](const Gpu& other) { return answers(machine, other); });
      if (auto& match = match_for(gpu); others && match.evidence.empty())
        match.cure =
            "Take the machine out of service, cut its power and start it again; if the GPU is lost "
            "again, check its seat, power and cooling, then replace it. Until then programs can be "
            "kept to the other GPUs (CUDA_VISIBLE_DEVICES).";
      found.evidence.push_back(
          evidence(fmt::format("/sys/bus/pci/devices/{}/current_link_width", gpu.pci->text()),
                   "63, which no link has: the GPU's configuration reads as ones"));
    }
    if (found.evidence.empty()) continue;
    auto& match = match_for(gpu);
    for (auto& item : found.evidence) {
      const bool known = std::any_of(match.evidence.begin(), match.evidence.end(),
                                     [&](const Evidence& e) { return e.quote == item.quote; });
      if (!known && match.evidence.size() < 4) match.evidence.push_back(std::move(item));
    }
  }
  for (const auto* event : xids(machine, {79}))  // of a GPU that the bus no longer lists
    if (event->pci && !not_given(machine, *event->pci) &&
        std::none_of(matches.begin(), matches.end(), [&](const Match& match) {
          return !match.pci.empty() && same_slot(match.pci.front(), *event->pci);
        })) {
      Match match = about(machine, *event->pci);
      match.evidence.push_back(evidence(event->source, event->line));
      matches.push_back(std::move(match));
    }
  for (auto& match : matches)
    if (is_in_enclosure(machine, match))
      match.cure =
          "Switch the GPU's enclosure off and on, plug its cable in again, and start the laptop "
          "again. If it comes again, try another certified Thunderbolt cable and port, update the "
          "firmware of laptop and enclosure, and check the enclosure's power supply; another "
          "laptop shows whether it is the enclosure. Until then, keep programs to the laptop's own "
          "GPU (CUDA_VISIBLE_DEVICES).";
    else if (std::ranges::any_of(match.evidence, [](const Evidence& item) {
               return contains(item.quote, "power state");
             }))
      match.cure =
          "Cut the power and start again. If it recurs, keep the GPU out of the deepest sleep "
          "(pcie_port_pm=off, or NVreg_DynamicPowerManagement=0x00); then check power, riser and "
          "slot.";
  for (auto& match : matches)
    if (const Gpu* gpu = match.pci.empty() ? nullptr : machine.find_gpu(match.pci.front());
        gpu && works(machine, *gpu)) {
      match.severity = Severity::warning;
      match.standing = Standing::past;
      match.title = "The GPU fell off the bus earlier, and answers now";
      match.explanation = "The GPU lost power or its link for a time. It answers again.";
      add_gsp_advice(machine, match, "");
    } else {
      add_gsp_advice(machine, match, "Cut the power and start again.");
    }
  return matches;
}

// The branch that the line names, or the last one for the chip.
std::vector<Match> legacy(const Facts& facts) {
  auto matches =
      refused(facts, {"NVRM: ...ignoring the legacy GPU", "NVRM: ...Legacy drivers. Please"});
  const auto family = family_of(facts.machine);
  for (auto& match : matches) {
    const auto* device = match.pci.empty() ? nullptr : pci_device(facts.machine, match.pci.front());
    const std::string chip = device ? device->name.value_or("") : "";
    const auto& line = match.evidence.front().quote;
    if (contains(line, " 580.xx")) match.command = "{do:install-proprietary-driver}";
    if (family != Family::ubuntu || (!contains(line, " 470.xx") && !chip.starts_with("GK")))
      continue;
    match.command = "apt-get install nvidia-driver-470-server nvidia-dkms-470-server";
    match.cure =
        "In place of this driver, install branch 470 by the packages whose names end in -server, "
        "keep it at that branch, and reboot. Remove nvidia-driver-470, which has become a "
        "transitional package of Ubuntu and brings a newer branch. Without CUDA, nouveau drives "
        "this GPU's display.";
  }
  return matches;
}

std::vector<Match> power_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = refused(facts, {"NVRM: ...does not have the necessary power cables connected"});
  for (const auto& gpu : machine.gpus) {
    Match match = about(gpu);
    if (gpu.vendor != Vendor::nvidia) continue;
    add_xids(machine, gpu, {54}, match);
    if (const auto* call = failed_call(gpu, "nvml", nvml_code::kInsufficientPower))
      match.evidence.push_back(evidence(*call));
    const bool known = std::any_of(matches.begin(), matches.end(),
                                   [&](const Match& m) { return m.gpus == match.gpus; });
    if (!match.evidence.empty() && !known) matches.push_back(std::move(match));
  }
  return matches;
}

struct Recovery {
  std::string_view action, title, cure, command;
  Action act = Action::reset_gpu;
};
constexpr Recovery kRecoveries[] = {
    {"gpu_reset", "The GPU waits for a reset", "Stop what uses the GPU, then reset it.",
     "nvidia-smi --gpu-reset -i {pci}"},
    {"node_reboot", "The GPU waits for a reboot", "Drain the machine, then reboot it.", "reboot",
     Action::reboot},
    {"drain_p2p", "The GPU's peer-to-peer work must be drained",
     "Stop every program that uses peer-to-peer with this GPU, then start them again.", "",
     Action::check_again},
    {"drain_and_reset", "The GPU must be drained and reset",
     "Let running work end, start no more on this GPU, then reset it.",
     "nvidia-smi --gpu-reset -i {pci}"},
    {"recover_imex_domain", "The GPU's IMEX domain must be recovered",
     "Stop the jobs of this NVLink domain and restart the IMEX service on its nodes.",
     "systemctl restart nvidia-imex", Action::configure},
    {"bus_reset", "The GPU waits for a reset of its bus", "Stop what uses the GPU, then reset it.",
     "nvidia-smi --gpu-reset -i {pci}"},
    {"system_reboot", "The GPU waits for a reboot", "Drain the machine, then reboot it.", "reboot",
     Action::reboot},
};

std::vector<Match> reset_required(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus) {
    Match match = about(gpu);
    if (const auto* call = failed_call(gpu, "nvml", nvml_code::kResetRequired))
      match.evidence.push_back(evidence(*call));
    if (gpu.recovery_action && *gpu.recovery_action != "none") {
      match.evidence.push_back(
          evidence("nvmlDeviceGetFieldValues, field 230 (recovery action)", *gpu.recovery_action));
      for (const auto& recovery : kRecoveries)
        if (recovery.action == *gpu.recovery_action) {
          match.title = std::string(recovery.title);
          match.cure = std::string(recovery.cure);
          match.command = std::string(recovery.command);
          match.action = recovery.act;
        }
    }
    if (match.evidence.empty()) continue;
    add_xids(facts.machine, gpu, {154}, match);
    matches.push_back(std::move(match));
  }
  // The driver's own calls fail with this code, and the line names no GPU.
  const auto refusals = log_hits(facts.machine, {"NVRM: ...[NV_ERR_RESET_REQUIRED]"});
  if (matches.empty() && !refusals.empty() && refusals.back().line >= load_line(facts.machine)) {
    Match match;
    match.severity = Severity::warning;
    match.title = "The driver refused calls until a GPU is reset";
    const auto& gpus = facts.machine.gpus;
    const bool only_one = std::ranges::count(gpus, Vendor::nvidia, &Gpu::vendor) == 1 &&
                          !in_container(facts.machine);  // there the log is of all the host's
    match.explanation = std::string(
                            "The driver answered calls with \"reset required\", and NVML "
                            "knows of no GPU that waits.") +
                        (only_one ? "" : " The line does not name the GPU.");
    if (only_one) {
      const auto all = about_all(facts.machine, Vendor::nvidia);
      match.gpus = all.gpus;
      match.pci = all.pci;
    } else {
      match.cure = "Test each GPU (gpuready test); reset the one that fails.";
      match.command = "gpuready test";
      match.action = Action::check_again;
    }
    match.evidence.push_back(evidence("kernel log", refusals.back().text));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> excluded(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (!gpu.excluded.value_or(false)) return;
    match.evidence.push_back(
        evidence(gpu.pci ? fmt::format("/proc/driver/nvidia/gpus/{}/information", gpu.pci->text())
                         : std::string("/proc/driver/nvidia"),
                 "GPU Excluded: Yes"));
    const auto& params = facts.machine.nvidia.params;
    if (const auto it = params.find("ExcludedGpus"); it != params.end())
      match.evidence.push_back(
          evidence("/proc/driver/nvidia/params", "ExcludedGpus: " + it->second));
  });
}

const std::vector<std::string_view> kDeadGpu = {
    "gpu-init-failed",    "driver-not-loaded",   "driver-not-bound", "nvml-start-failed",
    "cuda-start-failed",  "gpu-not-listed",      "gpu-call-failed",  "device-nodes-missing",
    "expected-gpu-count", "vulkan-software-only"};

}  // namespace

std::vector<Cause> adapter_causes() {
  return {
      {.id = "open-module-unsupported-gpu",
       .title = "The open kernel module does not support this GPU",
       .explanation = "NVIDIA's open kernel modules need the GPU System Processor, which GPUs "
                      "before Turing lack.",
       .cure = "Remove the open flavour, install the proprietary one of branch 580, which is the "
               "last for Maxwell to Volta, keep it at that branch, and reboot. (RPM Fusion: "
               "akmod-nvidia-580xx; RHEL: the module stream 580-dkms; Arch: nvidia-580xx-dkms of "
               "the AUR.)",
       .command = "{do:install-proprietary-driver}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = kDeadGpu,
       .lines = {"NVRM: ...does not include the required GPU"}},
      {.id = "open-module-required",
       .title = "This GPU needs the open kernel module",
       .explanation = "Blackwell and newer GPUs start only with NVIDIA's open kernel modules; the "
                      "proprietary flavour is installed.",
       .cure = "Install the open flavour of the driver, in branch 570 or newer, and reboot.",
       .command = "{do:install-open-driver}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = both(kDeadGpu, {"gsp-failed", "xid-169"}),
       .match = needs_open_module},
      {.id = "legacy-gpu",
       .title = "The installed driver has dropped this GPU",
       .explanation = "The GPU is older than what this driver branch supports, so the driver "
                      "ignores it.",
       .cure = "In place of this driver, install the legacy branch that the kernel log names (580 "
               "for Maxwell to Volta, 470 for Kepler), keep it at that branch, and reboot. (RPM "
               "Fusion: akmod-nvidia-580xx or -470xx; Arch: nvidia-580xx-dkms or -470xx-dkms of "
               "the AUR.) Branches 390 and older do not build for new kernels: use nouveau.",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = kDeadGpu,
       .match = legacy},
      {.id = "driver-too-old",
       .title = "The driver is too old for this GPU",
       .explanation = "The installed driver release does not know this GPU.",
       .cure =
           "Install a newer driver branch (Blackwell needs 570, Hopper and Ada 525), and reboot.",
       .command = "{do:upgrade-driver}",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::silent,
       .explains = kDeadGpu,
       .match = too_new},
      {.id = "invalid-bar",
       .title = "The firmware gave the GPU no memory window",
       .explanation = "A base address register (BAR) of the GPU holds no valid address, so the "
                      "driver cannot reach its memory.",
       .cure = "Turn Above 4G Decoding on and CSM off in the firmware's setup, and update the "
               "firmware. If that does not help, boot with pci=realloc.",
       .action = Action::configure,
       .terms = kInFirmware,
       .backing = Backing::silent,
       .explains = both(kDeadGpu, {"gsp-failed"}),
       .match = bad_bar},
      {.id = "power-cable-missing",
       .title = "The GPU's auxiliary power is not connected",
       .explanation = "The board reports that a power connector which it needs is without power.",
       .cure = "Switch the machine off and connect every power connector of the GPU, each by a "
               "cable of its own, to a power supply that is strong enough.",
       .action = Action::replace,
       .own_cure = true,
       .backing = Backing::silent,
       .explains = both(kDeadGpu, {"xid-54", "gsp-failed", "off-the-bus"}),
       .match = power_missing},
      {.id = "off-the-bus",
       .title = "The GPU fell off the bus",
       .explanation = "The GPU no longer answers on PCI Express: it lost power or its link.",
       .cure = "Reboot with a full power cycle; if it returns, check power, cooling, riser and "
               "slot, then replace the GPU.",
       .command = "{do:power-cycle}",
       .action = Action::power_cycle,
       .backing = Backing::silent,
       .explains = both(kDeadGpu, {"xid-*", "reset-required", "gsp-failed", "pcie-link-degraded",
                                   "pcie-fatal-error", "pcie-errors", "nvlink-down", "invalid-bar",
                                   "no-gpu", "uvm-stale", "gpu-init-failed", "driver-hung",
                                   "probe-timed-out", "gpu-missing-from-board", "gpu-hung"}),
       .match = off_the_bus},
      {.id = "gsp-failed",
       .title = "The GPU's system processor (GSP) did not start",
       .explanation = "The driver could not start the firmware on the GPU's system processor: it "
                      "is missing, of another version, or the GPU is in a bad state.",
       .cure = "Make sure that the firmware of exactly this driver version is installed, then "
               "reset the GPU or cut its power.",
       .command = "ls /lib/firmware/nvidia/{driver}/",
       .action = Action::reset_gpu,
       .backing = Backing::silent,
       .explains = both(kDeadGpu, {"xid-*", "reset-required", "driver-hung", "probe-timed-out"}),
       .match = gsp_failed},
      {.id = "gpu-excluded",
       .title = "The GPU is excluded by a driver option",
       .explanation = "The driver is configured to exclude this GPU (NVreg_ExcludedGpus).",
       .cure = "Remove the GPU's UUID from NVreg_ExcludedGpus under /etc/modprobe.d, rebuild the "
               "initramfs, then reload the driver.",
       .command = "grep -rn NVreg_ /etc/modprobe.d /lib/modprobe.d /proc/cmdline",
       .action = Action::configure,
       .terms = kByReload,
       .explains = kDeadGpu,
       .match = excluded},
      // Beneath the faults that make a reset necessary: those name the reason.
      {.id = "reset-required",
       .title = "The GPU waits for a reset",
       .explanation = "The driver has withdrawn the GPU, or says that its next step is a recovery "
                      "action.",
       .cure = "Stop what uses the GPU (programs, nvidia-persistenced, monitors), then reset it; "
               "if that is refused, reboot.",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .explains = {"xid-154", "gpu-call-failed", "cuda-start-failed", "gpu-not-listed",
                    "expected-gpu-count"},
       .match = reset_required},
  };
}

}  // namespace gpuready::doctor
