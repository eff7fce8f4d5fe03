// On the bus, or not.
#include <fmt/format.h>

#include <algorithm>

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
       .explains = {"nvml-start-failed", "cuda-start-failed", "nvml-library-missing",
                    "cuda-library-missing", "expected-gpu-count"},
       .match = no_gpu},
  };
}

}  // namespace gpuready::doctor
