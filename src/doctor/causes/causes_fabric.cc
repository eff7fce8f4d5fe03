// NVSwitches and the fabric that they make: what the switches' driver logs, and how healthy NVML
// says that each GPU's place in the fabric is (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*, and
// NV2080_CTRL_GPU_FABRIC_HEALTH_MASK_* of the open kernel modules).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/sxid.h"

namespace gpuready::doctor {
namespace {

struct SwitchErrors {
  std::size_t count = 0;
  std::set<int> links;
  std::vector<Evidence> quotes;
  std::string name;
  bool data = false;
};

std::string links_text(const std::set<int>& links) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  for (const int link : links)
    if (names.size() < kNamed) names.push_back(std::to_string(link));
  std::string text = (links.size() == 1 ? " on link " : " on links ") + join(names, ", ");
  if (links.size() > kNamed) text += fmt::format(" and {} more", links.size() - kNamed);
  return links.empty() ? "" : text;
}

std::vector<Match> switch_errors(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& log = machine.kernel_log.lines;
  std::map<std::tuple<std::optional<PciAddress>, SxidKind, int>, SwitchErrors> all;
  for (std::size_t i = past_until(machine); i < log.size(); ++i) {
    const auto event = parse_sxid(log[i].text);
    if (!event || event->kind == SxidKind::harmless) continue;
    if (event->data && std::ranges::any_of(all, [&](const auto& known) {
          return std::get<0>(known.first) == event->pci && std::get<2>(known.first) == event->code;
        }))
      continue;
    auto& errors = all[{event->pci, event->kind, event->code}];
    errors.count += 1 + log[i].left_out;
    if (event->link) errors.links.insert(*event->link);
    if (errors.quotes.size() < 2) errors.quotes.push_back(evidence("kernel log", log[i].text));
    errors.data = event->data;
    if (errors.name.empty())
      errors.name = event->data ? "only its data were logged"
                                : quote(event->name.substr(0, event->name.find(" (First)")));
  }
  std::vector<Match> matches;
  for (auto& [key, errors] : all) {
    const auto& [pci, kind, code] = key;
    Match match = kind == SxidKind::fabric ? about_all(machine, Vendor::nvidia) : Match{};
    if (pci) match.pci.push_back(*pci);
    const std::string where = pci ? "NVSwitch " + pci->text() : std::string("An NVSwitch");
    match.title =
        fmt::format("{}: SXid {}, {}{}", where, code, errors.name, links_text(errors.links));
    if (errors.count > errors.quotes.size())
      errors.quotes.back().source = fmt::format("kernel log ({} such lines)", errors.count);
    match.evidence = std::move(errors.quotes);
    switch (kind) {
      case SxidKind::fabric:
        match.explanation =
            "This error is fatal to the whole fabric: every GPU and NVSwitch of "
            "the machine must be reset.";
        match.cure = "Drain the machine and reboot it; if it comes again, have the board replaced.";
        match.command = "reboot";
        match.action = Action::reboot;
        break;
      case SxidKind::fatal:
        break;  // as the row says
      case SxidKind::nonfatal:
        match.severity = Severity::warning;
        if (errors.data) {
          match.explanation =
              "The log has the error's registers, and no longer the line that says how grave it "
              "is.";
          match.cure =
              "If work over NVLink hangs or fails: stop all work, reset all GPUs and NVSwitches "
              "together (nvidia-smi --gpu-reset without -i, or a reboot), and start Fabric "
              "Manager.";
          break;
        }
        match.explanation = "Traffic over this port was disturbed, and the port works on.";
        match.cure = "Watch whether it comes again; then reseat or replace the GPU or the board.";
        match.action = Action::check_again;
        match.command = "";
        break;
      default:
        match.severity = Severity::info;
        match.explanation = "The NVSwitch corrected an error in its own memory: nothing is lost.";
        match.cure = "";
        match.command = "";
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

struct HealthBit {
  int shift;
  std::uint32_t mask, value;
  Severity severity;
  std::string_view meaning;
};
constexpr HealthBit kHealth[] = {
    {0, 3, 1, Severity::warning, "degraded bandwidth: links of this GPU are down"},
    {2, 3, 1, Severity::warning, "a route is being recovered"},
    {4, 3, 1, Severity::error, "a route is unhealthy"},
    {6, 3, 1, Severity::error, "recovery from an access timeout is needed"},
    {8, 15, 2, Severity::error, "incorrect configuration: wrong system GUID"},
    {8, 15, 3, Severity::error, "incorrect configuration: wrong chassis serial number"},
    {8, 15, 4, Severity::error, "incorrect configuration: no partition"},
    {8, 15, 5, Severity::error, "incorrect configuration: too few NVLinks"},
    {8, 15, 6, Severity::error, "incorrect configuration: the GPU's firmware does not fit"},
    {8, 15, 7, Severity::error, "incorrect configuration: the GPU is in the wrong place"},
    {8, 15, 8, Severity::error, "incorrect configuration: invalid state of the GPU"},
    {12, 3, 2, Severity::error, "no partition of the fabric is assigned"},
};

std::vector<Match> unhealthy(const Facts& facts) {
  return each_gpu(facts, [](const Gpu& gpu, Match& match) {
    if (!gpu.fabric.health_mask || gpu.fabric.state == "not_supported") return;
    const auto mask = *gpu.fabric.health_mask;
    match.severity = Severity::warning;
    for (const auto& bit : kHealth) {
      if ((mask >> bit.shift & bit.mask) != bit.value) continue;
      match.severity = std::max(*match.severity, bit.severity);
      match.evidence.push_back(evidence("nvmlDeviceGetGpuFabricInfoV (health mask)",
                                        fmt::format("0x{:x}: {}", mask, bit.meaning)));
    }
    if (*match.severity == Severity::warning)
      match.title = "The GPU's place in the NVSwitch fabric has limited capacity";
  });
}

// kernel_nvlinkcorelibtrain.c of the open kernel modules: GPUs look for their peers' links when
// work or nvidia-smi first uses NVLink.
std::vector<Match> links_not_found(const Facts& facts) {
  const auto& machine = facts.machine;
  Match match = about_all(machine, Vendor::nvidia);
  for (const auto& hit : log_hits(
           machine, {"NVRM: ...postRxDetLinkMask failed", "NVRM: ...Failed to update Rx Detect"}))
    if (hit.line >= load_line(machine) && match.evidence.size() < 2)
      match.evidence.push_back(evidence("kernel log", hit.text));
  if (match.evidence.empty() || match.pci.empty()) return {};
  return {match};
}

}  // namespace

std::vector<Cause> fabric_causes() {
  return {
      {.id = "nvswitch-error",
       .title = "An NVSwitch reports an error",
       .explanation = "This error is fatal to the port: what runs over it stops until GPUs and "
                      "NVSwitches are reset.",
       .cure =
           "Stop all work, reset all GPUs and NVSwitches together (nvidia-smi --gpu-reset "
           "without -i, or a reboot), and start Fabric Manager; if it comes again, have GPU and "
           "board checked.",
       .action = Action::reset_gpu,
       .own_cure = true,
       .explains = {"xid-74"},
       .match = switch_errors},
      {.id = "nvlink-detection-failed",
       .severity = Severity::warning,
       .title = "The driver cannot detect the links of a GPU's NVLink",
       .explanation = "A GPU did not say which of its links found a peer. What uses NVLink, and "
                      "nvidia-smi, fails or hangs until a reset.",
       .cure = "Stop all work and reset all GPUs together (nvidia-smi --gpu-reset without -i), or "
               "reboot; if it comes again after weeks of uptime, update the driver.",
       .action = Action::reset_gpu,
       .own_cure = true,
       .match = links_not_found},
      {.id = "fabric-unhealthy",
       .title = "The GPU's place in the NVSwitch fabric is unhealthy",
       .explanation = "Fabric Manager has registered the GPU, and NVML reports that its NVLink "
                      "connections are not as they should be.",
       .cure = "Look at Fabric Manager's log; reset all GPUs of the fabric together; if it stays, "
               "have links, cables and board checked.",
       .command = "nvidia-smi -q -i {pci} | grep -A 20 Fabric",
       .action = Action::reset_gpu,
       .own_cure = true,
       .match = unhealthy},
  };
}

}  // namespace gpuready::doctor
