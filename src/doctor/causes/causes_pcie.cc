// PCI Express errors of GPUs and of the ports above them: the kernel's log (pcie_log.h), and its
// counters in sysfs (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats), which report what
// the log has lost or may not be read; and accesses of GPUs that the IOMMU refused.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/pcie_log.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

// A healthy link corrects next to nothing for months.
constexpr std::size_t kStormCount = 100;
constexpr double kStormPerHour = 10;
constexpr std::uint64_t kStormOfUnknownTime = 10'000;

struct Counted {
  Gravity gravity;
  const char* file;
  std::uint64_t count;
};

// What the counters of one function tell since boot, and is worth telling.
std::vector<Counted> notable_counters(const Machine& machine, const PcieErrors& errors) {
  std::vector<Counted> found;
  if (const auto fatal = errors.fatal.value_or(0); fatal > 0)
    found.push_back({Gravity::fatal, "aer_dev_fatal", fatal});
  const auto nonfatal = errors.nonfatal.value_or(0);
  if (const auto ours = nonfatal - std::min(nonfatal, errors.unsupported_requests.value_or(0));
      ours > 0)
    found.push_back({Gravity::nonfatal, "aer_dev_nonfatal", ours});
  const auto corrected = errors.correctable.value_or(0);
  const auto uptime = machine.system.uptime_seconds;
  const double hours = static_cast<double>(std::max<std::int64_t>(uptime.value_or(0), 60)) / 3600;
  const bool storm =
      uptime ? corrected >= kStormCount && static_cast<double>(corrected) / hours >= kStormPerHour
             : corrected >= kStormOfUnknownTime;
  if (storm) found.push_back({Gravity::corrected, "aer_dev_correctable", corrected});
  return found;
}

// The log's errors, and those that the counters alone report.
LinkErrorsByPlace errors_of(const Machine& machine) {
  auto all = logged_link_errors(machine);
  const auto add = [&](const PciAddress& at, const PcieErrors& errors) {
    for (const auto& counted : notable_counters(machine, errors)) {
      auto& known = all[{at, counted.gravity}];
      const auto count = static_cast<std::size_t>(counted.count);
      if (known.details >= count) continue;
      known.counted_alone = known.count() == 0;
      known.details = count;
      known.first = 0;
      known.last = static_cast<double>(machine.system.uptime_seconds.value_or(0));
      const auto source = fmt::format("/sys/bus/pci/devices/{}/{}", at.text(), counted.file);
      if (std::ranges::find(known.quotes, source, &Evidence::source) == known.quotes.end())
        known.quotes.push_back(evidence(source, fmt::format("{} since boot", counted.count)));
    }
  };
  for (const auto& device : machine.pci) {
    if (!device.is_gpu) continue;
    add(device.address, device.errors);
    for (const auto& port : device.ports) add(port.address, port.errors);
  }
  return all;
}

bool is_storm(const LinkErrors& errors) {
  if (errors.count() < kStormCount) return false;
  if (!errors.first || !errors.last) return true;
  const double hours = std::max(*errors.last - *errors.first, 60.0) / 3600;
  return static_cast<double>(errors.count()) / hours >= kStormPerHour;
}

// The GPUs whose path to the processor leads over this place.
std::optional<Match> below(const Machine& machine, const PciAddress& place) {
  Match match;
  for (const auto& device : machine.pci) {
    const bool over = device.address == place ||
                      std::find(device.path.begin(), device.path.end(), place) != device.path.end();
    if (!device.is_gpu || !over) continue;
    const Match one = about(machine, device.address);
    match.gpus.insert(match.gpus.end(), one.gpus.begin(), one.gpus.end());
    match.pci.insert(match.pci.end(), one.pci.begin(), one.pci.end());
  }
  if (match.pci.empty()) return std::nullopt;
  return match;
}

bool on_path_of(const Machine& machine, const PciAddress& place, const Match& match) {
  return std::ranges::any_of(match.pci, [&](const PciAddress& gpu) {
    const auto* device = pci_device(machine, gpu);
    return gpu == place || (device && std::ranges::find(device->path, place) != device->path.end());
  });
}

// The kernel resets the link after a fatal error, and says how that ended.
bool recovered(const Machine& machine, const Match& match) {
  bool answers_all = true;
  for (const auto& address : match.pci) answers_all &= answers(machine, address);
  auto hits = log_hits(machine, {"*: ...evice recovery successful", "*: ...evice recovery failed"});
  std::erase_if(
      hits, [&](const LogHit& hit) { return hit.pci && !on_path_of(machine, *hit.pci, match); });
  const bool logged = !hits.empty() && contains(hits.back().text, "successful");
  return answers_all || (logged && std::ranges::all_of(match.pci, [&](const PciAddress& address) {
                           return may_have_recovered(machine, address);
                         }));
}

// An error that is not fatal to the link can be to the GPU: NVIDIA's driver takes no part in the
// kernel's recovery.
bool not_recovered(const Machine& machine, const PciAddress& place) {
  const auto match = below(machine, place);
  const auto& cuda = machine.nvidia.cuda_start;
  const bool down = cuda && !cuda->ok();
  return match && down &&
         std::ranges::any_of(
             log_hits(machine, {"*: ...evice recovery failed"}),
             [&](const LogHit& hit) { return hit.pci && on_path_of(machine, *hit.pci, *match); });
}

std::string place_text(const Machine& machine, const PciAddress& place) {
  const auto* device = pci_device(machine, place);
  return device && device->is_gpu ? std::string() : " (port " + place.text() + " above it)";
}

std::vector<Match> fatal(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& [key, errors] : errors_of(facts.machine)) {
    const bool lasts = key.second == Gravity::nonfatal && not_recovered(facts.machine, key.first);
    auto match =
        key.second == Gravity::fatal || lasts ? below(facts.machine, key.first) : std::nullopt;
    if (!match) continue;
    match->evidence = errors.quotes;
    if (lasts) {
      match->title = "The GPU did not recover from a PCI Express error";
      matches.push_back(std::move(*match));
      continue;
    }
    match->title =
        "A fatal PCI Express error hit the GPU's link" + place_text(facts.machine, key.first);
    if (errors.counted_alone) {
      // A count does not say when: it explains no failure of now.
      match->severity = Severity::warning;
      match->standing = Standing::past;
      *match->title += " since boot";
    } else if (recovered(facts.machine, *match)) {
      match->severity = Severity::warning;
      *match->title += ", which works again";
    }
    if (errors.again) {
      match->title->replace(0, std::string_view("A fatal PCI Express error").size(),
                            "Fatal PCI Express errors");
      match->explanation = "The link, or a device on it, failed more than once.";
      match->action = Action::replace;
      match->cure =
          "Reseat the GPU and its riser; check cables, retimers and power. If it comes again, "
          "replace the GPU.";
    } else if (match->severity == Severity::warning) {
      match->action = Action::check_again;
      match->cure =
          "If it comes again: reseat the GPU and its riser, check retimers and power, then "
          "replace the GPU.";
    }
    matches.push_back(std::move(*match));
  }
  return matches;
}

std::vector<Match> lesser(const Facts& facts) {
  std::vector<Match> matches;
  for (const auto& [key, errors] : errors_of(facts.machine)) {
    const bool nonfatal = key.second == Gravity::nonfatal;
    if (!nonfatal && (key.second != Gravity::corrected || !is_storm(errors))) continue;
    auto match = below(facts.machine, key.first);
    if (!match || (nonfatal && not_recovered(facts.machine, key.first))) continue;
    match->evidence = errors.quotes;
    const auto place = place_text(facts.machine, key.first);
    if (nonfatal) {
      match->title = fmt::format("PCI Express errors on the GPU's link{}", place);
      match->explanation = "Transfers over the link failed, and the link went on.";
    } else {
      match->title =
          fmt::format("{} corrected PCI Express errors on the GPU's link{}", errors.count(), place);
    }
    if (errors.count() > match->evidence.size())
      match->evidence.back().source += fmt::format(" ({} such errors)", errors.count());
    matches.push_back(std::move(*match));
  }
  return matches;
}

// Where the GPU's driver began: until then the GPU still does what the firmware set up, such as the
// picture on the screen, and the kernel takes its addresses away.
std::size_t driver_began(const Machine& machine, const PciDevice& device) {
  const auto& lines = machine.kernel_log.lines;
  const auto first = std::ranges::find_if(lines, [&](const LogLine& line) {
    const auto message = parse_message(line.text);
    const auto pci = pci_address_in(line.text);
    return message && vendor_of_writer(message->writer) == vendor_of(device) &&
           (!pci || *pci == device.address) && !refused_by_iommu(line.text);
  });
  return first == lines.end() ? 0 : static_cast<std::size_t>(first - lines.begin());
}

std::vector<Match> iommu_faults(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& lines = machine.kernel_log.lines;
  std::map<PciAddress, std::pair<Match, std::size_t>> by_gpu;
  for (std::size_t i = past_until(machine); i < lines.size(); ++i) {
    const auto place = refused_by_iommu(lines[i].text);
    const auto* device = place ? pci_device(machine, *place) : nullptr;
    if (device == nullptr || !device->is_gpu) continue;
    if (!machine.system.iommu_active.value_or(true)) continue;  // there is none that could refuse
    constexpr double kStartSeconds = 60;
    if (lines[i].seconds.value_or(kStartSeconds) < kStartSeconds &&
        i < driver_began(machine, *device))
      continue;
    auto& [match, count] = by_gpu.try_emplace(*place, about(machine, *place), 0).first->second;
    count += 1 + lines[i].left_out;
    if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", lines[i].text));
    // What a guest's driver does wrong ends there.
    if (device->driver && device->driver->starts_with("vfio")) match.severity = Severity::info;
  }
  std::vector<Match> matches;
  for (auto& [place, found] : by_gpu) {
    auto& [match, count] = found;
    if (count > 1) match.title = fmt::format("The IOMMU refused {} accesses of the GPU", count);
    matches.push_back(std::move(match));
  }
  return matches;
}

// "swiotlb buffer is full (sz: 524288 bytes)": more than one piece can be (IO_TLB_SEGSIZE slots of
// 2 KiB), however large the buffer is. NVIDIA's driver asks for less in confidential computing
// mode.
void explain_large_piece(const Machine& machine, Match& match) {
  constexpr std::uint64_t kLargestPiece = 256 * 1024;
  constexpr std::string_view kSize = "(sz: ";
  const auto& quote = match.evidence.front().quote;
  const auto at = quote.find(kSize);
  const auto rest = at == quote.npos ? "" : quote.substr(at + kSize.size());
  if (parse_uint(rest.substr(0, rest.find(' '))).value_or(0) <= kLargestPiece) return;
  match.explanation =
      "The GPU cannot reach the memory by itself, so the kernel copies each transfer through a "
      "buffer, whose largest piece is 256 KiB. The driver asked for a larger one, and failed; a "
      "larger swiotlb= does not help.";
  match.cure =
      "Let an IOMMU map the GPU's memory: turn it on in the firmware's setup, and take iommu=off "
      "off the kernel's command line.";
  if (!machine.system.hypervisor) return;
  match.cure =
      "In a confidential virtual machine (TDX, SEV) the GPU must be in confidential computing "
      "mode: on the host, with this machine stopped, nvidia_gpu_tools.py --set-cc-mode=on "
      "--reset-after-cc-mode-switch. Then load ecdsa_generic and ecdh before the open kernel "
      "module in this machine, turn persistence on, and set the GPU ready (nvidia-smi "
      "conf-compute -srs 1). Use a GPU without that mode in an ordinary virtual machine.";
  match.command = "";
  match.action = Action::ask_host;
}

// kernel/dma/swiotlb.c of Linux; before 4.20 "swiotlb buffer is full (sz: N bytes)" only.
std::vector<Match> bounce_buffer_full(const Facts& facts) {
  auto matches = each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const auto* device = gpu.pci ? pci_device(facts.machine, *gpu.pci) : nullptr;
    for (const auto& hit : log_hits(facts.machine, {"*: swiotlb buffer is full"}))
      if (hit.pci && hit.pci == gpu.pci && hit.line >= past_until(facts.machine) &&
          match.evidence.size() < 2 && !(device && is_of_another_vendor(hit, *device)))
        match.evidence.push_back(evidence("kernel log", hit.text));
    if (!match.evidence.empty()) explain_large_piece(facts.machine, match);
  });
  return matches;
}

}  // namespace

std::vector<Cause> pcie_causes() {
  return {
      {.id = "pcie-fatal-error",
       .title = "A fatal PCI Express error hit the GPU's link",
       .explanation = "The link, or a device on it, failed beyond what the kernel could repair.",
       .cure = "Reboot with a full power cycle; if it comes again, reseat the GPU and its riser, "
               "check retimers and power, then replace the GPU.",
       .command = "lspci -vvv -s {pci} | grep -E 'LnkSta|UESta|CESta'",
       .action = Action::power_cycle,
       .own_cure = true,
       .backing = Backing::on_bus,
       .explains = {"pcie-errors", "cuda-start-failed", "nvml-start-failed", "gpu-not-listed"},
       .match = fatal},
      {.id = "pcie-errors",
       .severity = Severity::warning,
       .title = "PCI Express errors on the GPU's link",
       .explanation = "The link repeats packets all the time: its signal is bad, and it loses "
                      "speed.",
       .cure =
           "Reseat the GPU and its riser, and check cables, retimers and the slot. What cannot "
           "be reseated (a laptop) may be quiet with a lower link generation in the firmware, or "
           "without the link's power saving (pcie_aspm=off on the kernel's command line).",
       .command = "lspci -vvv -s {pci} | grep -E 'LnkSta|UESta|CESta'",
       .action = Action::replace,
       .own_cure = true,
       .backing = Backing::on_bus,
       .match = lesser},
      {.id = "iommu-fault",
       .severity = Severity::warning,
       .title = "The IOMMU refused an access of the GPU",
       .explanation = "The GPU read or wrote an address of the host, or of another GPU, that the "
                      "IOMMU does not grant it. What was to be copied there is lost or wrong.",
       .cure = "Update the GPU's driver. If GPUs copy to each other directly, let the IOMMU pass "
               "addresses through (iommu=pt) or switch it off, and ACS of the switches too.",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::on_bus,
       .match = iommu_faults},
      {.id = "bounce-buffer-full",
       .severity = Severity::warning,
       .title = "The GPU's transfers do not fit into the bounce buffer (swiotlb)",
       .explanation =
           "The GPU cannot reach the memory by itself (no IOMMU maps it, as under Xen or in a "
           "confidential virtual machine), so the kernel copies each transfer through a buffer, "
           "which was too small or full. The transfer failed.",
       .cure =
           "Enlarge the buffer on the kernel's command line (swiotlb=262144 is 512 MiB), or let "
           "an IOMMU map the GPU's memory.",
       .command = "cat /proc/cmdline",
       .action = Action::configure,
       .terms = kByReboot,
       .backing = Backing::on_bus,
       .explains = {"gpu-init-failed", "gpu-not-listed", "cuda-start-failed", "expected-gpu-count"},
       .match = bounce_buffer_full},
  };
}

}  // namespace gpuready::doctor
