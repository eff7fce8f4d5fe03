// Intel's compute runtime (NEO: Level Zero and OpenCL) against the GPU and the kernel's driver.
// The driver's name ends with its build: libze_intel_gpu.so.1.3.27642 is of release 23.43.27642.
// Platforms: LEGACY_PLATFORMS.md of intel/compute-runtime, and its issues 710 (i915 of Linux 6.8),
// 903 (Lunar Lake), 779 (Meteor Lake), 872 and 997 (small windows under xe), 853, 868 and 905 (DG2
// under xe). Device ids:
// include/drm/intel/pciids.h of Linux.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/known_faults.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready::doctor {
namespace {

const LibraryFile* installed(const Machine& machine, std::string_view name) {
  const auto found = std::ranges::find_if(
      machine.libraries, [&](const auto& library) { return library.name.starts_with(name); });
  return found == machine.libraries.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> build_of(const LibraryFile& runtime) {
  if (!runtime.version) return std::nullopt;
  const auto parts = split(*runtime.version, ".");
  return parts.size() < 3 ? std::nullopt : parse_uint(parts[2]);
}

// By the high byte of their device ids.
struct Generation {
  std::uint16_t high;
  std::uint64_t first_build;  // whose source lists one of them; earlier ones know none
};
constexpr Generation kGenerations[] = {
    {0x46, 18277},  // Alder Lake: 20.43
    {0x0b, 21939},  // Ponte Vecchio (Max): 21.50
    {0x56, 22131},  // Alchemist (Arc A and Flex): 22.01
    {0xa7, 22682},  // Raptor Lake: 22.11
    {0x7d, 22890},  // Meteor Lake, Arrow Lake: 22.14
    {0x64, 29138},  // Lunar Lake: 24.13
    {0xe2, 29138},  // Battlemage
    {0xb0, 31907},  // Panther Lake: 24.48
};
// Broadwell to Elkhart Lake (Gen8, 9 and 11), which releases after 24.35.30872 left to the packages
// "legacy1".
constexpr std::uint16_t kLegacy[] = {0x16, 0x19, 0x1a, 0x31, 0x3e, 0x45,
                                     0x4e, 0x59, 0x5a, 0x87, 0x8a, 0x9b};
constexpr std::uint64_t kLastForLegacy = 30872;
constexpr std::uint64_t kForLinux68 = 29138;     // 24.13
constexpr std::uint64_t kAsksForWindow = 33578;  // 25.18
constexpr std::uint16_t kDg2 = 0x56;
constexpr std::uint64_t kLastWithoutDg2UnderXe = 37020;  // 26.05
constexpr std::string_view kLinux68 = "6.8.1..6.8.4";    // their i915 tells a smaller address space

struct Reason {
  std::string title, explanation, cure;
  Severity severity = Severity::error;
  std::string command = {};
  std::optional<CureTerms> terms = {};
};
constexpr std::string_view kNewerRuntime =
    "Install a newer compute runtime (intel-opencl-icd and libze-intel-gpu1, from the "
    "distribution's newer release, Intel's repository or its releases), also in containers.";

// Only a part of the memory can be reached from the processor: 256 MiB without Resizable BAR.
bool has_small_window(const Machine& machine, const Gpu& gpu, const PciDevice& device) {
  constexpr std::size_t kMemoryBar = 2;
  const auto& bars = device.bar_sizes_bytes;
  if (bars.size() > kMemoryBar && bars[kMemoryBar] > 0 && gpu.memory.total_bytes)
    return bars[kMemoryBar] < *gpu.memory.total_bytes / 2;
  return std::ranges::any_of(log_hits(machine, {"xe: Small BAR device"}),
                             [&](const LogHit& hit) { return hit.pci == gpu.pci; });
}

// The branch needs libigc.so.1, and newer releases bring libigc.so.2.
std::string legacy_cure(const Machine& machine) {
  const auto family = family_of(machine);
  const bool beside = family == Family::debian || family == Family::ubuntu;
  return fmt::format(
      "Install the compute runtime's branch for older graphics, release 24.35.30872, with its "
      "compiler IGC 1.0 (libigc.so.1): {}. Keep updates from replacing them, and check with "
      "clinfo -l.",
      beside ? "the packages intel-opencl-icd-legacy1 and intel-level-zero-gpu-legacy1 of its "
               "release, beside the others"
      : family == Family::fedora
          ? "intel-opencl, intel-level-zero and intel-igc of that release, in place of the "
            "installed ones (dnf versionlock holds them)"
          : "in place of the installed ones");
}

std::optional<Reason> why_unfit(const Machine& machine, const Gpu& gpu, const PciDevice& device) {
  const auto* runtime = installed(machine, "libze_intel_gpu.so.");
  const bool legacy = installed(machine, "libze_intel_gpu_legacy1.so.") != nullptr;
  if (!runtime && !legacy && installed(machine, "libze_loader.so."))
    return Reason{.title = "Level Zero has no driver for Intel's GPUs",
                  .explanation =
                      "Level Zero's loader is installed, and Intel's compute runtime, "
                      "which it loads, is not.",
                  .cure =
                      "Install Intel's compute runtime (libze-intel-gpu1 and intel-opencl-icd; "
                      "Intel's packages: intel-level-zero-gpu).",
                  .severity = Severity::warning};
  const auto build = runtime ? build_of(*runtime) : std::nullopt;
  if (!build) return std::nullopt;
  const std::uint16_t high = device.device_id >> 8;
  const auto family = std::ranges::find(kGenerations, high, &Generation::high);
  if (family != std::end(kGenerations) && *build < family->first_build)
    return Reason{.title = "Intel's compute runtime is too old for this GPU",
                  .explanation =
                      "It came out before this GPU and does not know it: Level Zero and "
                      "OpenCL find no device.",
                  .cure = std::string(kNewerRuntime)};
  if (device.driver == "i915" && *build < kForLinux68 &&
      is_in(machine.system.kernel_release, kLinux68))
    return Reason{.title = "Intel's compute runtime is too old for this kernel",
                  .explanation =
                      "i915 of this kernel tells it a size of the address space that it "
                      "does not expect: Level Zero and OpenCL find no device.",
                  .cure = std::string(kNewerRuntime) +
                          " Or use another kernel; until then NEOReadDebugKeys=1 and "
                          "OverrideGpuAddressSpace=48 in the environment help."};
  if (std::ranges::find(kLegacy, high) != std::end(kLegacy) && *build > kLastForLegacy && !legacy)
    return Reason{.title = "Intel's compute runtime has dropped this GPU",
                  .explanation =
                      "Releases after 24.35 support graphics from Tiger Lake on: Level "
                      "Zero and OpenCL find no device.",
                  .cure = legacy_cure(machine)};
  if (device.driver == "xe" && *build >= kAsksForWindow && has_small_window(machine, gpu, device))
    return Reason{.title = "Intel's compute runtime refuses the GPU: Resizable BAR is off",
                  .explanation =
                      "The processor reaches only a part of the GPU's memory, and under "
                      "xe Level Zero and OpenCL then leave the GPU out.",
                  .cure =
                      "Turn on Resizable BAR and Above 4G Decoding in the firmware, and CSM "
                      "off; if the window stays small, boot with pci=realloc, update the firmware, "
                      "or try another slot.",
                  .terms = kInFirmware};
  if (device.driver == "xe" && high == kDg2 && *build <= kLastWithoutDg2UnderXe)
    return Reason{.title = "Intel's compute runtime does not take this GPU under xe",
                  .explanation =
                      "This release takes Arc A and Flex GPUs (DG2) from i915, which is their "
                      "driver; under xe Level Zero and OpenCL find no device.",
                  .cure =
                      "Give the GPU back to i915: take xe.force_probe and i915.force_probe off the "
                      "kernel's command line and out of /etc/modprobe.d, rebuild the initramfs, "
                      "and reboot. Or install a later release of the runtime, which may take the "
                      "GPU under xe.",
                  .command =
                      "grep -rns force_probe /etc/kernel/cmdline /etc/default/grub "
                      "/etc/modprobe.d",
                  .terms = kByReboot};
  return std::nullopt;
}

std::vector<Match> runtime_unfit(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto& gpu : machine.gpus) {
    const auto* device = gpu.pci ? pci_device(machine, *gpu.pci) : nullptr;
    if (gpu.vendor != Vendor::intel || gpu.faked || !device || unbound(*device)) continue;
    if (not_given(machine, gpu)) continue;
    auto why = why_unfit(machine, gpu, *device);
    if (!why) continue;
    Match match = about(gpu);
    // Beside another GPU the processor's own graphics are not missed, and loaders come as a part of
    // other software.
    const bool needed = machine.gpus.size() == 1 && why->severity == Severity::error;
    const bool spare = gpu.integrated || (why->severity == Severity::warning &&
                                          drives_display(machine, *device) == DrivesDisplay::yes);
    match.severity = spare && !needed ? Severity::info : why->severity;
    for (const auto name : {"libze_loader.so.", "libze_intel_gpu.so."})
      if (const auto* library = installed(machine, name))
        match.evidence.push_back(evidence(library->path, library->version.value_or("")));
    match.evidence.push_back(driver_of(*device));
    const auto command_line = machine.system.kernel_command_line.value_or("");
    for (const auto option : split(command_line, " \n"))
      if (!why->command.empty() && contains(option, "force_probe="))
        match.evidence.push_back(evidence("/proc/cmdline", option));
    if (why->terms)  // the window is small
      for (const auto& hit : log_hits(machine, {"xe: Failed to resize BAR2 to "}))
        if (hit.pci == gpu.pci && match.evidence.size() < 4)
          match.evidence.push_back(evidence("kernel log", hit.text));
    match.title = std::move(why->title);
    match.explanation = std::move(why->explanation);
    match.cure = std::move(why->cure);
    match.command = std::move(why->command);
    match.terms = why->terms;
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<Cause> intel_causes() {
  return {{.id = "intel-runtime-unfit",
           .title = "Intel's compute runtime cannot use this GPU",
           .explanation = "Level Zero and OpenCL find no device.",
           .cure = "Install a compute runtime that fits GPU and kernel.",
           .action = Action::configure,
           .terms = kAsRoot,
           .match = runtime_unfit}};
}

}  // namespace gpuready::doctor
