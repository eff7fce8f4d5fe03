// Memory, links and power of GPUs that run: what NVML's counters, sysfs and Xids tell.
// Clock event bits: nvml.h (0x8 hardware slowdown, 0x40 hardware thermal, 0x80 power brake).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "doctor/facts.h"
#include "doctor/kernel_signs.h"
#include "doctor/xid_table.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

constexpr std::uint64_t kHwSlowdown = 0x8, kHwThermal = 0x40, kHwPowerBrake = 0x80;

// Past the threshold the driver refuses the GPU at its next start (Linux, amdgpu_ras_eeprom.c).
void bad_pages_full(const Machine& machine, const Gpu& gpu, Match& match) {
  if (!gpu.pci || !runs_now(machine, *gpu.pci)) return;  // gpu-init-failed tells why it does not
  for (const auto& hit : log_hits(machine, {"amdgpu: Saved bad pages* reaches threshold",
                                            "amdgpu: Saved bad pages * reaches threshold",
                                            "amdgpu: RAS records:* exceed threshold:"}))
    if (hit.pci && hit.pci == gpu.pci && match.evidence.size() < 2)
      match.evidence.push_back(evidence("kernel log", hit.text));
  if (match.evidence.empty()) return;
  match.title = "The GPU has as many bad memory pages as its driver accepts";
  match.explanation =
      "It runs until the driver is loaded again, which then refuses it (bad_page_threshold).";
}

std::vector<Match> remap_failed(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (gpu.vendor == Vendor::amd) return bad_pages_full(facts.machine, gpu, match);
    const auto& rows = gpu.remapping;
    if (rows.failed.value_or(false))
      match.evidence.push_back(
          evidence("nvmlDeviceGetRemappedRows",
                   fmt::format("a remapping has failed ({} rows remapped for uncorrectable errors)",
                               rows.uncorrected.value_or(0))));
    if (!match.evidence.empty()) add_xids(facts.machine, gpu, {64}, match);
    if (!match.evidence.empty() && rows.banks_none.value_or(0) > 0)
      match.evidence.push_back(
          evidence("nvmlDeviceGetRowRemapperHistogram",
                   fmt::format("{} memory banks have no spare row left", *rows.banks_none)));
  });
}

std::string rows_of(const RowRemapping& rows) {
  return fmt::format("{} rows remapped for uncorrectable errors{}", rows.uncorrected.value_or(0),
                     rows.pending.value_or(false) ? ", and more wait for a reset" : "");
}

std::vector<Match> remap_pending(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (gpu.remapping.pending.value_or(false))
      match.evidence.push_back(evidence("nvmlDeviceGetRemappedRows",
                                        gpu.remapping.uncorrected.value_or(0) > 0
                                            ? rows_of(gpu.remapping)
                                            : "rows wait to be remapped at the next reset"));
    if (gpu.retired.pending.value_or(false)) {
      match.evidence.push_back(evidence("nvmlDeviceGetRetiredPagesPendingStatus",
                                        "pages wait to be retired at the next reset"));
    }
    if (!match.evidence.empty()) add_xids(facts.machine, gpu, {63}, match);
  });
}

struct EccXid {
  int code;
  std::string_view cure;
};
// The gentlest cure that suffices; a later row is the stronger one.
constexpr EccXid kEccXids[] = {
    {94,
     "Restart the application that met the error; the others may go on. Reset the GPU when it "
     "is idle."},
    {48, "Stop what runs on the GPU and reset it."},
    {171, "Stop what runs on the GPU and reset it."},
    {172, "Stop what runs on the GPU and reset it."},
    {140, "Stop what runs on the GPU and reset it."},
    {95, "Stop everything that runs on the GPU at once, and reset it: any of it may be damaged."},
};

// "amdgpu 0000:c3:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block"; newer
// drivers write "N new uncorrectable hardware errors ..." (Linux, amdgpu_ras.c).
bool tells_of_uncorrectable(std::string_view line) {
  constexpr std::string_view kReportedLine = "amdgpu: ...uncorrectable hardware errors detected";
  if (!says_any(line, {kReportedLine})) return false;
  const auto at = line.find(kReportedLine.substr(kReportedLine.find("...") + 3));
  const auto words = split(line.substr(0, at), " ");
  for (std::size_t back = 1; back <= 2 && back <= words.size(); ++back)
    if (const auto count = parse_uint(words[words.size() - back])) return *count > 0;
  return false;  // "no uncorrectable ..."
}

// An error that hit no memory, and that no reset has followed, is in no counter.
bool awaits_reset(const Machine& machine, const Gpu& gpu) {
  return std::ranges::any_of(gpu_stories(machine), [&](const GpuStory& story) {
    return story.pci == gpu.pci && (story.last == Step::hung || story.last == Step::failed);
  });
}

void add_ras_lines(const Machine& machine, const Gpu& gpu, bool fatal_only, Match& match) {
  constexpr std::size_t kQuotes = 3;
  const auto cards = gpus_on_bus(machine, Vendor::amd).size();
  for (const auto& line : machine.kernel_log.lines) {
    const bool fatal = says_any(line.text, {"amdgpu: ...ERREVENT_ATHUB_INTERRUPT"});
    if (!fatal && (fatal_only || !tells_of_uncorrectable(line.text))) continue;
    const auto pci = pci_address_in(line.text);
    if (pci ? pci == gpu.pci : cards == 1)
      if (match.evidence.size() < kQuotes)
        match.evidence.push_back(evidence("kernel log", line.text));
  }
}

// "Contained: SM (0x1). RST: No, D-RST: No": the unit that used the bad data; none for the GPU's
// memory ("Contained: FB").
std::optional<std::string> contained_in(const Match& match) {
  constexpr std::string_view kContained = "Contained: ";
  for (const auto& item : match.evidence) {
    const auto at = item.quote.find(kContained);
    if (at == item.quote.npos) continue;
    const auto rest = item.quote.substr(at + kContained.size());
    const auto unit = rest.substr(0, rest.find(" ("));
    if (unit != "FB" && unit.size() < rest.size()) return unit;
  }
  return std::nullopt;
}

std::vector<Match> uncorrectable(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (gpu.vendor == Vendor::nvidia && gpu.ecc.since_boot.uncorrected.value_or(0) > 0)
      match.evidence.push_back(
          evidence("nvmlDeviceGetTotalEccErrors (uncorrected, volatile)",
                   fmt::format("{} since the driver was loaded", *gpu.ecc.since_boot.uncorrected)));
    std::uint64_t ras = 0;
    for (const auto& [block, errors] : gpu.ras_errors)
      if (block.ends_with("_ue") && errors > 0) {
        ras += errors;
        match.evidence.push_back(evidence(
            fmt::format("/sys/bus/pci/devices/{}/ras/{}_err_count", gpu.pci ? gpu.pci->text() : "*",
                        block.substr(0, block.size() - 3)),
            fmt::format("ue: {}", errors)));
      }
    // The counters are of now; the log's lines are told where those cannot be read.
    const bool uncounted = gpu.ras_errors.empty();
    if (gpu.vendor == Vendor::amd && (uncounted || awaits_reset(facts.machine, gpu))) {
      add_ras_lines(facts.machine, gpu, !uncounted, match);
      ras += match.evidence.size();
    }
    if (const auto* status = failed_call(gpu, "cu", cuda_code::kEccUncorrectable))
      match.evidence.push_back(evidence(*status));
    bool contained = match.evidence.empty();
    for (const auto& xid : kEccXids)
      if (add_xids(facts.machine, gpu, {xid.code}, match)) {
        match.cure = std::string(xid.cure);
        contained &= xid.code == 94;
      }
    if (contained) {  // no other error is known
      match.severity = Severity::warning;
      match.title = "A memory error ended an application on the GPU";
      match.explanation =
          "The error was contained: only the application that met it was ended, and the GPU goes "
          "on.";
      if (const auto unit = contained_in(match)) {
        match.title =
            fmt::format("An error in a unit of the GPU ({}) ended an application", quote(*unit));
        match.explanation =
            "The unit met data that ECC could not correct, in its own memory or from elsewhere. " +
            *match.explanation;
      }
      match.action = Action::check_again;
      match.own_cure = true;
      match.command = "";
    }
    if (ras > 0) {
      match.cure =
          "Stop what runs on the GPU and reboot: the driver then leaves the bad pages out. If the "
          "errors come again (amd-smi metric --ecc), have the GPU replaced.";
      match.command = "reboot";
    }
    const auto& rows = gpu.remapping;
    if (!match.evidence.empty() && !contained && rows.uncorrected.value_or(0) > 0) {
      match.evidence.push_back(evidence("nvmlDeviceGetRemappedRows", rows_of(rows)));
      match.cure =
          match.cure.value_or("Stop what runs on the GPU and reset it.") +
          " nvidia-persistenced and DCGM hold it, too. Then look at its "
          "rows (nvidia-smi -q -d ROW_REMAPPER): none may wait or have failed. If rows keep "
          "failing after resets, have the GPU replaced.";
    }
    const bool hub = std::ranges::all_of(match.evidence, [](const Evidence& proof) {
      return contains(proof.quote, "ERREVENT_ATHUB_INTERRUPT");
    });
    if (hub && !match.evidence.empty()) {
      match.title = "The GPU reported a hardware error that it could not correct";
      match.explanation =
          "The error is in the hub through which the GPU reaches memory, and no counter tells it. "
          "What ran at the time cannot be trusted.";
      match.cure =
          "Cut the power and start again, since a reboot may hang in the driver. If the error "
          "comes again, reseat the card and its power leads, and swap it with another: if the "
          "error follows the card, have it replaced. Until then work can be kept to the others "
          "(ROCR_VISIBLE_DEVICES).";
      match.command = "{do:power-cycle}";
      match.action = Action::power_cycle;
      match.terms = usual_terms(Action::power_cycle);
    }
  });
}

std::vector<Match> sram_worn(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (gpu.ecc.sram_threshold_exceeded.value_or(false))
      match.evidence.push_back(
          evidence("nvmlDeviceGetSramEccErrorStatus", "the error threshold is exceeded"));
  });
}

std::vector<Match> ecc_pending(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const auto& ecc = gpu.ecc;
    if (!ecc.enabled_now || !ecc.enabled_pending || *ecc.enabled_now == *ecc.enabled_pending)
      return;
    match.evidence.push_back(
        evidence("nvmlDeviceGetEccMode",
                 fmt::format("current: {}, pending: {}", *ecc.enabled_now ? "on" : "off",
                             *ecc.enabled_pending ? "on" : "off")));
  });
}

std::vector<Match> mig_pending(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (!gpu.mig_enabled || !gpu.mig_pending || *gpu.mig_enabled == *gpu.mig_pending) return;
    match.evidence.push_back(
        evidence("nvmlDeviceGetMigMode",
                 fmt::format("current: {}, pending: {}", *gpu.mig_enabled ? "on" : "off",
                             *gpu.mig_pending ? "on" : "off")));
  });
}

// Generation drops at idle by design and is not a sign; width does not. A slot with fewer lanes
// than the GPU is not a fault either, so the lesser maximum of both ends counts.
std::vector<Match> link_degraded(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const auto* device = gpu.pci ? pci_device(facts.machine, *gpu.pci) : nullptr;
    std::optional<int> now = gpu.link_now.width, max = gpu.link_max.width;
    bool port_seen = false;
    if (device) {
      if (!now) now = device->link_now.width;
      if (device->link_max.width) max = std::max(max.value_or(0), *device->link_max.width);
      port_seen = device->port_link_max.width.has_value();
      const auto port_now = device->port_link_now.width, port_max = device->port_link_max.width;
      const bool real_port = port_now && port_max && *port_max >= 1 && (!now || *port_max >= *now);
      if (real_port && max) max = std::min(*max, *port_max);
    }
    if (!now || !max || *now < 1 || *now >= *max || gpu.integrated) return;
    match.title = fmt::format("The PCI Express link runs {} lanes of {}", *now, *max);
    if (is_laptop(facts.machine.system)) {
      match.severity = Severity::info;
      match.explanation = "Laptops wire fewer lanes to a GPU by design than both ends could have.";
      match.cure = "Nothing, unless the link had more lanes before.";
    }
    if (link_is_virtual(facts.machine, gpu) || (!port_seen && in_container(facts.machine))) {
      match.severity = Severity::info;
      match.explanation =
          "The link has fewer lanes than the GPU. Whether its slot has more cannot be seen from "
          "inside a virtual machine.";
      match.cure = "Look at the link on the host.";
      match.command = "";
    }
    match.evidence.push_back(evidence(
        gpu.pci ? fmt::format("/sys/bus/pci/devices/{}/current_link_width", gpu.pci->text())
                : std::string("link width"),
        fmt::format("{} (at most: {})", *now, *max)));
  });
}

struct Uplink {
  PciAddress port;  // the end nearer to the processor
  int now = 0, most = 0;
};
// Links above the GPU's own, between a port and the switch below it, that run fewer lanes than both
// ends have. NVIDIA's boards have no switch of their own, so the port above the GPU is the lower
// end of a switch of the machine, and ports pair up from there.
std::vector<Uplink> narrow_uplinks(const PciDevice& gpu) {
  std::vector<Uplink> narrow;
  for (std::size_t i = gpu.ports.size(); i >= 3; i -= 2) {
    const PciPort &lower = gpu.ports[i - 2], &upper = gpu.ports[i - 3];
    const auto now = lower.link_now.width, a = lower.link_max.width, b = upper.link_max.width;
    if (now && a && b && *now < std::min(*a, *b))
      narrow.push_back({upper.address, *now, std::min(*a, *b)});
  }
  return narrow;
}

std::vector<Match> uplinks_degraded(const Facts& facts) {
  const auto& machine = facts.machine;
  std::vector<Match> matches;
  for (const auto* gpu : gpus_on_bus(machine, Vendor::nvidia)) {
    const auto* known = machine.find_gpu(gpu->address);
    if (known && link_is_virtual(machine, *known)) continue;
    for (const auto& link : narrow_uplinks(*gpu)) {
      Match match = about(machine, gpu->address);
      match.title =
          fmt::format("The PCI Express link of the switch above the GPU runs {} lanes of {}",
                      link.now, link.most);
      match.evidence.push_back(
          evidence(fmt::format("/sys/bus/pci/devices/{}/current_link_width", link.port.text()),
                   fmt::format("{} (at most: {})", link.now, link.most)));
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

std::vector<Match> links_degraded(const Facts& facts) {
  auto matches = link_degraded(facts);
  for (auto& match : uplinks_degraded(facts)) matches.push_back(std::move(match));
  return matches;
}

constexpr std::string_view kHeatCure =
    "Look whether the fans turn and the air gets through (dust; a card without fans needs a "
    "server's airflow). Until then lower the power limit.";

// amdgpu's lines; it stops the machine where heat goes on. That it throttles it tells once a minute
// at most.
std::vector<Match> overheated(const Machine& machine) {
  constexpr std::string_view kThrottled =
      "amdgpu: WARN: GPU thermal throttling temperature reached";
  constexpr std::size_t kOften = 5;
  std::vector<Match> matches;
  std::map<PciAddress, std::size_t> throttled;
  const auto throttles = log_hits(machine, {kThrottled});
  for (const auto& hit : throttles)
    if (hit.pci) throttled[*hit.pci] += hit.count;
  const auto tell = [&](const LogHit& hit) {
    if (!hit.pci || pci_device(machine, *hit.pci) == nullptr) return;
    Match match = about(machine, *hit.pci);
    if (std::ranges::any_of(matches, [&](const Match& told) { return told.pci == match.pci; }))
      return;
    match.title = "The GPU reached its critical temperature";
    match.cure = kHeatCure;
    match.command = "grep . /sys/bus/pci/devices/{pci}/hwmon/hwmon*/temp*_input";
    match.evidence.push_back(evidence("kernel log", hit.text));
    if (says_any(hit.text, {kThrottled})) {
      match.title = "Heat slowed the GPU down";
      match.explanation = "The GPU lowers its clocks where it gets too hot.";
      if (throttled[*hit.pci] < kOften) {
        match.severity = Severity::info;
        match.title = "Heat slowed the GPU down for a moment";
        match.cure =
            "Nothing for a moment under full load. If it goes on, look at fans and airflow.";
      }
    }
    matches.push_back(std::move(match));
  };
  for (const auto& hit : log_hits(machine, {"amdgpu: ...GPU over temperature range",
                                            "amdgpu: ...Critical Temperature Fault"}))
    tell(hit);
  for (const auto& hit : throttles) tell(hit);
  // Its last word before it powers the machine off.
  for (const auto& hit : log_hits(machine, {"amdgpu: ...System is going to shutdown due to GPU"}))
    for (auto& match : matches)
      if (match.pci.front() == hit.pci && match.severity != Severity::error) {
        match.severity = Severity::error;
        match.title = "The GPU overheated, and its driver shuts the machine down";
        match.explanation =
            "The GPU passed the temperature at which the driver powers the machine off.";
        match.cure =
            "Before the next start: check the GPU's fans and heat sink, airflow and dust; "
            "if it comes again, replace the GPU.";
        match.action = Action::replace;
        match.own_cure = true;
        match.evidence.push_back(evidence("kernel log", hit.text));
      }
  return matches;
}

// The driver believes a sensor that is stuck: a board draws little more than its limit, and only
// for a moment. NVIDIA/open-gpu-kernel-modules issues 1237 and 1287.
std::vector<Match> misread_power(const Facts& facts) {
  constexpr std::uint64_t kSwPowerCap = 0x4;
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const auto bits = gpu.clock_event_reasons.value_or(0);
    const std::uint64_t draw_mw = gpu.power.draw_mw.value_or(0);
    // A laptop tells only the limit of the moment, which it may pass by far.
    const bool told = gpu.power.max_limit_mw.has_value();
    const std::uint64_t most = (told ? gpu.power.max_limit_mw : gpu.power.limit_mw).value_or(0);
    if ((bits & kSwPowerCap) == 0 || most == 0 || draw_mw * 2 <= most * (told ? 3 : 10)) return;
    match.title = "The GPU reports more power than it can draw, and is slowed down for it";
    match.explanation =
        "The driver lowers the clocks because of a power reading that is far above every limit of "
        "the board: the reading is wrong.";
    match.cure =
        "Cut the power and start again. If it stays, change the driver: an older branch, or a "
        "release that fixes it.";
    match.action = Action::configure;
    match.terms = kByReboot;
    match.evidence = {
        evidence("nvmlDeviceGetPowerUsage", fmt::format("{} mW", draw_mw)),
        evidence(told ? "nvmlDeviceGetPowerManagementLimitConstraints"
                      : "nvmlDeviceGetEnforcedPowerLimit",
                 fmt::format("{} mW", most)),
        evidence("nvmlDeviceGetCurrentClocksEventReasons", fmt::format("0x{:x}", bits))};
  });
}

std::vector<Match> slowed(const Facts& facts) {
  auto matches = each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const auto bits = gpu.clock_event_reasons.value_or(0);
    if ((bits & (kHwSlowdown | kHwThermal | kHwPowerBrake)) == 0) return;
    match.evidence.push_back(
        evidence("nvmlDeviceGetCurrentClocksEventReasons", fmt::format("0x{:x}", bits)));
    if (gpu.thermal.gpu_celsius)
      match.evidence.push_back(
          evidence("nvmlDeviceGetTemperature", fmt::format("{} C", *gpu.thermal.gpu_celsius)));
    if (bits & kHwPowerBrake) {
      match.title = "The power supply slows the GPU down (power brake)";
      match.explanation = "The machine signals the GPU to draw less, and the board obeys.";
      match.cure =
          "Look for a failed supply or a power cap (the management controller's log), and at the "
          "GPU's power cables; on a laptop, use the charger that it came with.";
      match.action = Action::replace;
      match.own_cure = true;
    } else if (bits & kHwThermal) {
      match.title = "Heat slows the GPU down";
      match.cure = kHeatCure;
    }
  });
  std::ranges::move(overheated(facts.machine), std::back_inserter(matches));
  std::ranges::move(misread_power(facts), std::back_inserter(matches));
  return matches;
}

bool comes_from_switch(const Gpu& gpu) {
  return std::any_of(gpu.nvlinks.begin(), gpu.nvlinks.end(),
                     [](const NvLink& link) { return link.remote_kind == "switch"; });
}

// The driver took work off this GPU because of an NVLink: Xid 74, those of NVLink 5, and Xid 45
// that names one of them as its cause.
bool nvlink_failed(const Machine& machine, const Gpu& gpu) {
  constexpr int kNvlink[] = {74, 144, 145, 146, 149, 150};
  return std::any_of(
      machine.kernel_log.xids.begin(), machine.kernel_log.xids.end(), [&](const XidEvent& event) {
        if (!event.pci || !gpu.pci || !same_slot(*event.pci, *gpu.pci)) return false;
        return std::any_of(std::begin(kNvlink), std::end(kNvlink), [&](int code) {
          const bool itself = event.code == code && !is_nonfatal(event.line);
          return itself || (event.code == 45 &&
                            event.line.ends_with(fmt::format("caused by previous Xid {}", code)));
        });
      });
}

bool are_peers(const Gpu& gpu, const Gpu& other) {
  bool known = false;
  for (const auto& link : gpu.nvlinks) {
    if (!link.remote) continue;
    known = true;
    if (other.pci && same_slot(*link.remote, *other.pci)) return true;
  }
  return !known;
}

// Sizes of clouds in which bridges of NVLink join all GPUs of this model, and the links of a GPU.
struct BridgedSize {
  std::string_view cloud, model;
  int links;
};
constexpr BridgedSize kBridgedSizes[] = {{"Azure", "NVIDIA H100 NVL", 12}};  // NC80adis_H100_v5

int links_of_size(const Machine& machine, const Gpu& gpu) {
  const auto pairs = std::ranges::count(machine.gpus, gpu.name, &Gpu::name) > 1;
  for (const auto& size : kBridgedSizes)
    if (pairs && gpu.name == size.model && !gpu.nvlinks.empty() &&
        !gpu.mig_enabled.value_or(false) && cloud_of(machine) == size.cloud)
      return size.links;
  return 0;
}

// How many links should be up. Behind NVSwitches it is all of them. Boards bridged by hand use some
// of their links only, or none, so what counts there is what a peer at the other end has.
int links_expected(const Machine& machine, const Gpu& gpu) {
  const int up = links_up(gpu);
  if (comes_from_switch(gpu)) return static_cast<int>(gpu.nvlinks.size());
  int expected = std::max(up, links_of_size(machine, gpu));
  for (const auto& sibling : machine.gpus)
    if (up > 0 && sibling.name == gpu.name && are_peers(gpu, sibling))
      expected = std::max(expected, links_up(sibling));
  return expected;
}

// A link without a switch has its two ends at GPUs: they are one finding.
void join_ends(const Machine& machine, std::vector<Match>& matches) {
  int up = 0, expected = 0;
  std::vector<Match*> joined;
  for (auto& match : matches) {
    const Gpu* gpu = match.pci.empty() ? nullptr : machine.find_gpu(match.pci.front());
    if (!gpu || comes_from_switch(*gpu) || match.severity || links_up(*gpu) == 0) continue;
    joined.push_back(&match);
    up += links_up(*gpu);
    expected += links_expected(machine, *gpu);
  }
  const auto differs = [&](const Match* match) { return match->title != joined.front()->title; };
  if (std::ranges::none_of(joined, differs)) return;
  for (auto* match : joined) match->title = fmt::format("{} of {} NVLinks are up", up, expected);
}

// Seen where the driver started before the other GPU was on the bus (Azure/azhpc-images, issue
// 443).
constexpr std::string_view kLoadAgain =
    "The links are trained when the driver starts. With nothing on the GPUs, load it again (sudo "
    "modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe -a nvidia "
    "nvidia_uvm), or restart this virtual machine. If the links stay down: ";
constexpr std::string_view kLinksOfHost =
    "Stop this virtual machine and start it again once, so that the links are trained again or it "
    "gets another host. If they stay down, the host's hardware is at fault: take the virtual "
    "machine out of service, and report its host to the operator.";

std::vector<Match> nvlink(const Facts& facts) {
  auto matches = each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    const int up = links_up(gpu), count = static_cast<int>(gpu.nvlinks.size());
    const bool cut_off = up == 0 && nvlink_failed(facts.machine, gpu);
    const int expected = cut_off ? count : links_expected(facts.machine, gpu);
    std::string down;
    for (const auto& link : gpu.nvlinks)
      if (link.up.has_value() && !*link.up) down += fmt::format(" {}", link.link);
    if (up < expected) {
      match.title = fmt::format("{} of {} NVLinks are up", up, expected);
      match.evidence.push_back(evidence("nvmlDeviceGetNvLinkState", "down:" + down));
      add_xids(facts.machine, gpu, {74, 136, 149}, match);
      if (!facts.machine.system.hypervisor) return;
      match.cure = std::string(up == 0 && links_of_size(facts.machine, gpu) > 0 ? kLoadAgain : "") +
                   std::string(kLinksOfHost) +
                   (cloud_of(facts.machine) == "Azure"
                        ? " On Azure, /var/lib/hyperv/.kvp_pool_3 names the host."
                        : "");
      match.action = Action::ask_host;
    } else if (add_xids(facts.machine, gpu, {74, 136}, match)) {
      match.title = "NVLink errors";
      match.explanation = "The driver logged errors on the GPU's NVLinks; no link is down now.";
      match.cure = "Watch whether the errors come again; if so, have the GPU's links checked.";
      match.severity = Severity::warning;
      match.action = Action::check_again;
    }
  });
  join_ends(facts.machine, matches);
  return matches;
}

std::vector<Match> inforom(const Facts& facts) {
  return each_gpu(facts, [&](const Gpu& gpu, Match& match) {
    if (gpu.inforom_valid.value_or(true) && !failed_call(gpu, "nvml", nvml_code::kCorruptedInforom))
      return;
    match.evidence.push_back(evidence("nvmlDeviceValidateInforom", "the inforom is corrupt"));
  });
}

}  // namespace

std::vector<Cause> health_causes() {
  return {
      {.id = "row-remap-failed",
       .title = "The GPU could not replace bad memory rows",
       .explanation = "A row of memory that showed errors could not be remapped to a spare one, so "
                      "it stays in use.",
       .cure = "Take the GPU out of service and have it replaced.",
       .action = Action::replace,
       .explains = {"xid-64", "xid-63", "xid-48", "xid-94", "xid-95", "xid-154",
                    "row-remap-pending", "uncorrectable-ecc", "reset-required"},
       .match = remap_failed},
      {.id = "uncorrectable-ecc",
       .title = "The GPU's memory had errors that ECC could not correct",
       .explanation =
           "Data was lost. What ran at the time cannot be trusted, and the GPU should be "
           "reset before it works on.",
       .cure = "Stop what runs on the GPU and reset it; if it recurs, have it replaced.",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .explains = {"xid-48", "xid-94", "xid-95", "xid-140", "xid-171", "xid-172", "xid-63",
                    "xid-154", "xid-45", "row-remap-pending", "reset-required", "gpu-call-failed",
                    "cuda-start-failed", "gpu-hung", "gpu-reset-failed"},
       .match = uncorrectable},
      {.id = "sram-errors-exceeded",
       .title = "The GPU's on-chip memory has had too many errors",
       .explanation = "Uncorrectable errors in on-chip memory (SRAM) have passed NVIDIA's "
                      "threshold.",
       .cure = "Take the GPU out of service and have it replaced.",
       .action = Action::replace,
       .explains = {"xid-172", "uncorrectable-ecc", "reset-required"},
       .match = sram_worn},
      {.id = "nvlink-down",
       .title = "NVLinks are down",
       .explanation = "The GPU reaches its peers by fewer NVLinks than its model has here.",
       .cure = "Stop all work and reset all GPUs that the links join together (nvidia-smi "
               "--gpu-reset without -i). If it stays, reseat the bridge between the cards, or have "
               "GPU and baseboard checked.",
       .command = "nvidia-smi nvlink --status -i {pci}",
       .action = Action::reset_gpu,
       .explains = {"fabric-unhealthy", "xid-45", "xid-74", "xid-136", "xid-137", "xid-144",
                    "xid-145", "xid-146", "xid-147", "xid-148", "xid-149", "xid-154",
                    "reset-required"},
       .match = nvlink},
      {.id = "hardware-slowdown",
       .severity = Severity::warning,
       .title = "The hardware slows the GPU down",
       .explanation = "The board itself lowers the clocks, to half or less, to protect itself.",
       .cure = "Check cooling and power.",
       .command = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i {pci}",
       .action = Action::check_again,
       .explains = {"xid-62"},
       .match = slowed},
      {.id = "row-remap-pending",
       .severity = Severity::warning,
       .title = "Bad memory waits to be replaced at the next reset",
       .explanation = "Rows (or pages, before Ampere) that showed errors will be taken out of use "
                      "when the GPU is reset.",
       .cure = "Let running work end, then reset the GPU.",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .explains = {"xid-63", "xid-154", "reset-required"},
       .match = remap_pending},
      {.id = "pcie-link-degraded",
       .severity = Severity::warning,
       .title = "The PCI Express link lost lanes",
       .explanation = "The link came up with fewer lanes than both its ends have.",
       .cure =
           "Look whether another card or drive takes lanes of this slot (the board's manual), "
           "and at the firmware's bifurcation setting. Then reseat the GPU and its riser, clean "
           "the contacts, and try another slot or riser.",
       .command = "lspci -vv -s {pci} | grep -E 'LnkCap|LnkSta'",
       .action = Action::replace,
       .own_cure = true,
       .match = links_degraded},
      {.id = "ecc-change-pending",
       .severity = Severity::warning,
       .title = "A change of the ECC mode waits for a reboot",
       .explanation = "The mode was switched and takes effect at the next reset of the GPU.",
       .cure = "Reset the GPU or reboot.",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .match = ecc_pending},
      {.id = "mig-change-pending",
       .severity = Severity::warning,
       .title = "A change of the MIG mode waits for a reset",
       .explanation = "The mode was switched and takes effect at the next reset of the GPU.",
       .cure = "Stop what uses the GPU and reset it.",
       .command = "nvidia-smi --gpu-reset -i {pci}",
       .action = Action::reset_gpu,
       .match = mig_pending},
      {.id = "inforom-corrupt",
       .severity = Severity::warning,
       .title = "The GPU's inforom is corrupt",
       .explanation = "The board's own store of identity and error counts is damaged; what it says "
                      "of past errors cannot be trusted.",
       .cure = "The GPU computes meanwhile. Cut the power once, because a failed read looks the "
               "same; if it stays, ask the vendor for a reflash or another GPU.",
       .action = Action::replace,
       .match = inforom},
  };
}

}  // namespace gpuready::doctor
