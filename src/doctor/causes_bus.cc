// On the bus, or not. Lines of slots: drivers/pci/hotplug/pciehp_ctrl.c of Linux.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

bool bus_seen(const Machine& machine) {
  return std::none_of(machine.unseen.begin(), machine.unseen.end(), [](const Unseen& unseen) {
    return unseen.what.starts_with("/sys/bus/pci/devices");
  });
}

std::vector<Match> no_gpu(const Facts& facts) {
  const auto& machine = facts.machine;
  const bool elsewhere = machine.system.wsl2 || machine.system.jetson_release ||
                         machine.apple.chip || !machine.fakes.empty();
  if (!machine.gpus.empty() || elsewhere || !bus_seen(machine)) return {};
  for (const auto& device : machine.pci)
    if (device.is_gpu) return {};
  Match match;
  match.standing = Standing::chosen;  // libraries without a GPU are no fault
  match.evidence.push_back(evidence(
      "/sys/bus/pci/devices",
      machine.pci.empty()
          ? "no display controller or accelerator is listed"
          : fmt::format("{} display controller(s) or accelerator(s) listed, none of them a GPU",
                        machine.pci.size())));
  if (machine.nvidia.module_loaded) {
    // The module refuses to load without a GPU, so there was one when it was loaded.
    match.standing = Standing::present;
    match.severity = Severity::error;
    match.title = "The GPU has gone from the PCI bus";
    match.explanation =
        "NVIDIA's kernel module is loaded, which needs a GPU at that moment, and none is on the "
        "bus now.";
    match.cure = "Cut the power and start again; if it stays away, check power, riser and slot.";
    match.evidence.push_back(evidence("/proc/driver/nvidia/version",
                                      machine.nvidia.module_version.value_or("module loaded")));
  }
  return {match};
}

// An address that a GPU's driver wrote about, and where no function is now.
std::vector<LogHit> of_absent_gpus(const Machine& machine) {
  auto hits =
      log_hits(machine, {"drm: Initialized nvidia-drm ", "NVRM: *", "nvidia: *", "amdgpu: *",
                         "drm: Initialized amdgpu ", "xe: *", "drm: Initialized xe "});
  std::erase_if(hits, [&](const LogHit& hit) { return !hit.pci || pci_device(machine, *hit.pci); });
  return hits;
}

// A slot whose link went down at work takes its GPU off the bus, mostly without a word of the GPU's
// driver. The log gives the port alone; the GPU is on the next bus below it.
std::vector<Match> gone_from_slot(const Machine& machine) {
  constexpr int kBusesBelow = 8;  // a switch of the board or of the machine between them
  std::vector<Match> matches;
  const auto absent = of_absent_gpus(machine);
  for (const auto& down :
       log_hits(machine, {"pcieport: pciehp: Slot(*): Link Down",
                          "pcieport: pciehp: Slot(*): Card not present",
                          "pciehp: Slot(*): Link Down", "pciehp: Slot(*): Card not present"})) {
    if (!down.pci) continue;
    const LogHit* gone = nullptr;
    for (const auto& hit : absent) {
      const int below = hit.pci->bus - down.pci->bus;
      if (hit.pci->domain != down.pci->domain || below < 1 || below > kBusesBelow) continue;
      if (hit.line < down.line && (!gone || hit.pci->bus <= gone->pci->bus)) gone = &hit;
    }
    if (!gone) continue;
    const bool told = std::ranges::any_of(machine.kernel_log.xids, [&](const XidEvent& event) {
      return event.code == 79 && event.pci && same_slot(*event.pci, *gone->pci);
    });
    const bool known = std::ranges::any_of(
        matches, [&](const Match& match) { return match.pci.front() == *gone->pci; });
    if (told || known) continue;
    Match match;
    match.id = "off-the-bus";
    match.pci.push_back(*gone->pci);
    match.severity = Severity::error;
    match.title = "A GPU has gone from its slot";
    match.explanation =
        "The slot's link went down, and the GPU that was in it is on the bus no more.";
    match.cure = "Cut the power and start again; if it stays away, check power, riser and slot.";
    match.evidence = {evidence("kernel log", down.text), evidence("kernel log", gone->text)};
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> missing(const Facts& facts) {
  auto matches = gone_from_slot(facts.machine);
  if (matches.empty()) matches = no_gpu(facts);
  return matches;
}

}  // namespace

std::vector<Cause> bus_causes() {
  return {
      {.id = "no-gpu",
       .severity = Severity::info,
       .title = "No GPU is on the PCI bus",
       .explanation = "Neither a GPU nor another accelerator answers on this machine's PCI bus.",
       .cure = "Where there should be one: reseat it and check its power, or pass it through to "
               "this virtual machine.",
       .command = {},
       .backing = Backing::absent,
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "expected-gpu-count"},
       .match = missing},
  };
}

}  // namespace gpuready::doctor
