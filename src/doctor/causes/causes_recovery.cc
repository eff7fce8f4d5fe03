// GPUs of AMD and Intel that hung, and whether their drivers got them back; processors on the GPU
// (power controller, firmware loaders) that fail.
// Lines: drivers/gpu/drm/amd/pm/swsmu/smu_cmn.c, amdgpu_psp.c; i915's and xe's uc and guc files.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/kernel_signs.h"
#include "doctor/known_faults.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

Match match_of(const Machine& machine, const GpuStory& story) {
  Match match = story.pci ? about(machine, *story.pci) : Match{};
  for (const auto& quote : story.quotes) match.evidence.push_back(evidence("kernel log", quote));
  if (!story.pci) match.severity = Severity::warning;  // which of them is not known
  return match;
}

template <class Test>
std::vector<Match> those_that(const Machine& machine, const std::vector<GpuStory>& stories,
                              Test&& test) {
  std::vector<Match> matches;
  for (const auto& story : stories) {
    Match match = match_of(machine, story);
    if (test(story, match)) matches.push_back(std::move(match));
  }
  return matches;
}
template <class Test>
std::vector<Match> stories_that(const Facts& facts, Test&& test) {
  return those_that(facts.machine, gpu_stories(facts.machine), test);
}

// Under a pass-through driver no other driver can tell: its guests would get a GPU that is not
// there. A reset that is given up may be followed by one of another kind: a GPU that can be enabled
// again came back.
const Ids kVfioDead = {"vfio-pci: Unable to change power state from * to D0, device inaccessible",
                       "vfio-pci: not ready *ms after *; giving up",
                       "vfio-pci: not ready *ms after * *; giving up"};
const Ids kVfioAnswers = {"vfio-pci: enabling device (0"};
const Ids kInvalidationTimeOut = {"DMAR: VT-d detected Invalidation Time-out Error: SID ",
                                  "AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device="};

// The GPU whose translations the IOMMU could not take back. AMD's line names it and Intel's newer
// one its requester; with SID 0 it is the GPU that VFIO wrote about just before.
const PciDevice* not_invalidated(const Machine& machine, const LogHit& hit) {
  constexpr double kNearSeconds = 10;
  const auto number = [&](std::string_view before) {
    const auto at = hit.text.find(before);
    const auto text = hit.text.substr(std::min(at + before.size(), hit.text.size()));
    return at == hit.text.npos ? std::string() : text.substr(0, text.find_first_of(" ]"));
  };
  if (const auto device = number("device="); !device.empty())
    return vfio_gpu(machine, parse_pci_address(
                                 std::ranges::count(device, ':') == 1 ? "0000:" + device : device));
  if (const auto id = parse_uint(number("SID "), 16); id && *id > 0 && *id <= 0xffff)
    return vfio_gpu(machine, parse_pci_address(fmt::format("0000:{:02x}:{:02x}.{:x}", *id >> 8,
                                                           *id >> 3 & 31, *id & 7)));
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = hit.line; i-- > 0;) {
    if (log[i].seconds && log[hit.line].seconds &&
        *log[hit.line].seconds - *log[i].seconds > kNearSeconds)
      break;
    if (says_any(log[i].text, {"vfio-pci: "}))
      return vfio_gpu(machine, pci_address_in(log[i].text));
  }
  return nullptr;
}

std::vector<Match> lost_under_vfio(const Machine& machine) {
  const auto gpu_of = [&](const LogHit& hit) -> std::optional<PciAddress> {
    const auto* device = says_any(hit.text, kInvalidationTimeOut) ? not_invalidated(machine, hit)
                                                                  : vfio_gpu(machine, hit.pci);
    return device == nullptr ? std::nullopt : std::optional(device->address);
  };
  std::vector<Match> matches;
  for (auto& [address, hits] :
       standing_hits(machine, both(kVfioDead, kInvalidationTimeOut), kVfioAnswers, gpu_of)) {
    Match match = about(machine, address);
    match.id = "off-the-bus";
    hits.resize(std::min<std::size_t>(hits.size(), 3));
    for (const auto& hit : hits) match.evidence.push_back(evidence("kernel log", hit.text));
    const bool asleep = says_any(hits.back().text, {kVfioDead.front()});
    const bool time_out = says_any(hits.back().text, kInvalidationTimeOut);
    match.title = asleep     ? "The GPU for virtual machines does not wake"
                  : time_out ? "The GPU for virtual machines does not answer the IOMMU"
                             : "The GPU for virtual machines did not come back from its reset";
    match.explanation =
        asleep ? "The GPU was asked to wake for a guest, and its configuration reads as if it were "
                 "not there."
        : time_out
            ? "The IOMMU asked the GPU to forget addresses, and the GPU did not confirm it in "
              "time: it hangs, and the host may hang with it."
            : "The GPU was reset for a guest, or after one, and its configuration reads as if "
              "it were not there.";
    match.evidence.push_back(driver_of(*pci_device(machine, address)));
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> lost(const Facts& facts) {
  auto matches = stories_that(facts, [](const GpuStory& story, Match& match) {
    if (story.vendor != Vendor::amd) match.id = "off-the-bus";
    return story.last == Step::lost;
  });
  for (auto& match : lost_under_vfio(facts.machine))
    if (std::ranges::none_of(matches, [&](const Match& known) {
          return std::ranges::find(known.pci, match.pci.front()) != known.pci.end();
        }))
      matches.push_back(std::move(match));
  return matches;
}

std::vector<Match> reset_failed(const Facts& facts) {
  return stories_that(facts, [&](const GpuStory& story, Match& match) {
    explain_arm_board(facts.machine, story.vendor, match);
    return story.last == Step::failed;
  });
}

constexpr std::string_view kNotStarted = "NVRM: ...RmInitAdapter failed";

// The sleep of the machine before which the driver was loaded and started the GPU, and since which
// it does not, where the GPU has no other error.
std::optional<LogHit> slept_before(const Facts& facts, const Match& match) {
  if (std::ranges::any_of(facts.told, [&](const ReportedCause& each) {
        const auto& gpus = each.finding.gpus;
        return each.finding.severity == Severity::error && each.finding.id != "gpu-init-failed" &&
               std::ranges::find_first_of(gpus, match.gpus) != gpus.end();
      }))
    return std::nullopt;
  const auto starts = log_hits(facts.machine, {"NVRM: loading NVIDIA UNIX ", kNotStarted});
  const auto failed = std::ranges::find_if(
      starts, [](const LogHit& each) { return says_any(each.text, {kNotStarted}); });
  for (const auto& slept : resumes(facts.machine))
    if (starts.front().line < slept.line && slept.line < failed->line) return slept;
  return std::nullopt;
}

// amdgpu's own first work on the GPU does not end, while the machine wakes or just after.
bool fails_after_sleep(const Machine& machine, const GpuStory& story) {
  constexpr double kNearSeconds = 30;
  const Ids first_work = {"amdgpu: ...IB test failed on "};
  if (story.last != Step::hung || !says_any(story.quotes.front(), first_work)) return false;
  double slept = -kNearSeconds;
  for (const auto& hit : log_hits(
           machine,
           both(first_work, {"PM: suspend entry", "PM: suspend exit", "ACPI: PM: Waking up"}))) {
    const double seconds = machine.kernel_log.lines[hit.line].seconds.value_or(0);
    if (!says_any(hit.text, first_work))
      slept = seconds;
    else if (hit.text.starts_with(story.quotes.front()))
      return seconds - slept < kNearSeconds;
  }
  return false;
}

std::vector<Match> not_woken(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = stories_that(facts, [&](const GpuStory& story, Match& match) {
    const bool first_work = fails_after_sleep(machine, story);
    if (story.vendor == Vendor::amd)
      match.cure =
          "Reboot. If it comes again, update the kernel and the board's firmware. Until then keep "
          "the GPU awake (amdgpu.runpm=0 on the kernel's command line) and avoid suspend.";
    if (first_work) {
      match.explanation =
          "The machine slept, and the GPU's first work after it did not end in time.";
      match.cure =
          "Reboot, and do not suspend the machine under this kernel. Start the kernel before the "
          "last update, or the distribution's plain one, and try suspend there. A later release "
          "of this kernel may wake the GPU again.";
    }
    return first_work || story.last == Step::asleep;
  });
  // NVIDIA's has no story: whether it answers is asked of NVML.
  // The kernel is not told if systemd's service suspends the GPU.
  for (const auto& hit :
       log_hits(machine, {"nvidia: PM: failed to resume", "NVRM: ...GSP boot failed at resume",
                          "nvidia: can't suspend (nv_pmops_runtime_suspend", kNotStarted})) {
    const auto* gpu = hit.pci ? pci_device(machine, *hit.pci) : nullptr;
    if (hit.line < load_line(machine)) continue;
    if (hit.pci && (gpu == nullptr || answers(machine, *hit.pci))) continue;
    auto match = hit.pci ? about(machine, *hit.pci) : suspects(machine, Vendor::nvidia);
    const bool known = match && std::ranges::any_of(matches, [&](const Match& other) {
                         return other.pci == match->pci;
                       });
    if (!match || known) continue;
    if (says_any(hit.text, {kNotStarted})) {
      const auto slept = slept_before(facts, *match);
      if (!slept) continue;
      match->evidence.push_back(evidence("kernel log", slept->text));
      match->evidence.push_back(evidence("kernel log", hit.text));
      if (slept->line < load_line(machine)) {  // Bumblebee and its like load it for each use
        match->cure =
            "Stop what uses the GPU (Bumblebee: bumblebeed), unload NVIDIA's modules, take the GPU "
            "off the bus, scan the bus again, and load the driver. Reboot if that does not help. "
            "So that it does not come again, have a unit of systemd do the same after "
            "suspend.target, or use a newer driver with nvidia-suspend and nvidia-resume.";
        match->command =
            "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; echo 1 > "
            "/sys/bus/pci/devices/{pci}/remove; echo 1 > /sys/bus/pci/rescan; modprobe nvidia";
        match->action = Action::reload_driver;
        matches.push_back(std::move(*match));
        continue;
      }
    } else {
      match->evidence.push_back(evidence("kernel log", hit.text));
    }
    match->cure =
        "Reboot. Then let the driver save the GPU's memory over suspend: "
        "NVreg_PreserveVideoMemoryAllocations=1 in the options of nvidia in /etc/modprobe.d, and "
        "systemctl enable nvidia-suspend nvidia-hibernate nvidia-resume. If it comes again, keep "
        "the GPU awake (NVreg_DynamicPowerManagement=0x00), or use another release of the driver.";
    add_gsp_advice(machine, *match, "Reboot to get the GPU back.");
    matches.push_back(std::move(*match));
  }
  return matches;
}

std::vector<Match> wedged(const Facts& facts) {
  return stories_that(facts, [&](const GpuStory& story, Match& match) {
    const bool survives =
        std::any_of(story.quotes.begin(), story.quotes.end(),
                    [](const std::string& quote) { return contains(quote, "urvivability mode"); });
    if (survives) {
      match.title = "The GPU runs in survivability mode";
      match.explanation =
          "The GPU's firmware is damaged: it accepts a firmware update, and no work.";
      match.cure = "Update the GPU's firmware with the vendor's tool, then cut the power.";
      match.action = Action::configure;
      match.command = "";
    } else {
      explain_arm_board(facts.machine, story.vendor, match);
    }
    return story.last == Step::wedged;
  });
}

const Ids kSmuSilent = {"amdgpu: ...SMU is in hanged state",
                        "amdgpu: ...SMU: I'm not done with your",
                        "amdgpu: ...SMU: No response msg_reg: ",  // Linux 7.0
                        "amdgpu: ...SMU: response:0xFFFFFFFF for index"};
// Older GPUs and kernels. A GPU that works logs a few of them, above all while it starts.
const Ids kSmuLate = {"amdgpu: ...last message was failed ret is ",
                      "amdgpu: ...failed to send message ",
                      "amdgpu: ...Msg issuing pre-check failed and SMU may be"};
constexpr double kLateSeconds = 20, kOneSilenceSeconds = 120;

// The line of the power controller's silence that came before the work that hangs.
std::optional<std::string> silent_before(const Machine& machine, const GpuStory& story) {
  for (const auto& line : machine.kernel_log.lines) {
    if (!story.quotes.empty() && trim(line.text) == story.quotes.front()) break;
    if (const auto pci = pci_address_in(line.text); pci && pci != story.pci) continue;
    if (says_any(line.text, kSmuSilent)) return line.text;
  }
  return std::nullopt;
}

// amdgpu talks to the host's driver, and no end: the GPU's registers read as ones, and a bit of
// them stands for a virtual function.
void not_reached(const Machine& machine, Match& match) {
  match.title = "The driver does not get through to the GPU while it starts";
  match.explanation =
      "amdgpu waits for the host's driver of a virtual function. Of a whole GPU, that means that "
      "the GPU's registers read as ones: it has no memory window, or does not answer.";
  match.cure =
      "Turn on Above 4G Decoding and Resizable BAR in the firmware and CSM off; then cut the power "
      "and start again. Of a virtual function: restart the host's driver of the GPU.";
  match.command = "";
  match.action = machine.system.hypervisor ? Action::ask_host : Action::power_cycle;
  for (const auto& address : match.pci)
    if (const auto* device = pci_device(machine, address);
        device && !device->bar_sizes_bytes.empty() && device->bar_sizes_bytes[0] == 0) {
      match.evidence.push_back(evidence(
          fmt::format("/sys/bus/pci/devices/{}/resource", address.text()), "BAR 0 has no address"));
      match.action = Action::configure;
      match.terms = kInFirmware;
    }
}

// What to do where the display engine reports no page flip, by the GPU's driver.
constexpr std::pair<std::string_view, std::string_view> kFlipCures[] = {
    {"amdgpu",
     "update the kernel and linux-firmware; until that helps, boot with amdgpu.dcdebugmask=0x10, "
     "which turns the panel's self refresh off."},
    {"i915",
     "update the kernel; until that helps, boot with i915.enable_psr=0 (no self refresh of the "
     "panel), then also with i915.enable_dc=0."},
    {"xe", "update the kernel; until that helps, boot with xe.enable_psr=0."},
    {"nvidia",
     "install another driver: 580.76.05 ended it for users of earlier ones; after that, the "
     "release before this one, or a newer one."}};
std::string_view flip_cure(const PciDevice& device) {
  for (const auto& [driver, cure] : kFlipCures)
    if (device.is_gpu && device.driver == driver) return cure;
  return {};
}

// A published fault of the driver that runs, which says the same of a GPU's display, leads: a
// driver that it does not name would not help, and what computes is not touched.
void by_known_fault(const Machine& machine, std::string_view line, Match& match) {
  const auto fault = std::ranges::find_if(known_faults(), [&](const KnownFault& each) {
    if (each.drivers.empty() || each.says.empty() || !contains(line, each.says)) return false;
    const auto gpus = concerned(machine, each);
    return std::ranges::find_first_of(gpus, match.gpus) != gpus.end();
  });
  if (fault == known_faults().end()) return;
  const auto driver = known_driver(machine, fault->vendor);
  match.severity = Severity::info;
  match.explanation =
      fmt::format("Driver {} is known {} (published {}: {}). Programs that compute go on.",
                  quote(driver), fault->text, words_for(fault->sureness), fault->source);
  match.cure = "Nothing for programs that compute. Against the wait, install " +
               (fault->fixed.empty() ? "the release before this one, or the next one that ends it."
                                     : fault->fixed + ", or a newer one.");
  match.evidence.push_back(evidence("driver version", driver));
}

// drm_atomic_helper.c of Linux, and nvidia-drm. A line that names no device is about the first GPU
// that may have a display. One line while the machine starts is common.
void add_display_hangs(const Machine& machine, std::vector<Match>& matches) {
  constexpr double kStartSeconds = 60;
  std::map<PciAddress, std::vector<const LogLine*>> by_gpu;
  for (const auto& line : machine.kernel_log.lines) {
    if (!contains(line.text, "timed out") && !contains(line.text, "timeout on head")) continue;
    const bool nvidias = says_any(line.text, {"nvidia_drm: ...Flip event timeout on head"});
    if (!nvidias && !says_any(line.text, {"*: ...flip_done timed out"})) continue;
    const auto pci = pci_address_in(line.text);
    const auto device = std::ranges::find_if(machine.pci, [&](const PciDevice& each) {
      return pci ? each.address == *pci
                 : !flip_cure(each).empty() && each.display_connected.value_or(true) &&
                       (!nvidias || each.driver == "nvidia");
    });
    if (device != machine.pci.end() && !flip_cure(*device).empty())
      by_gpu[device->address].push_back(&line);
  }
  for (const auto& [address, lines] : by_gpu) {
    Match match = about(machine, address);
    if (std::ranges::find(matches, match.pci, &Match::pci) != matches.end()) continue;
    const auto& [text, seconds, left_out] = *lines.front();
    const bool once = lines.size() == 1 && left_out == 0;
    match.severity = once && seconds.value_or(kStartSeconds) < kStartSeconds ? Severity::info
                                                                             : Severity::warning;
    match.standing = Standing::past;
    match.title = "The GPU's display engine waited in vain for a page flip";
    match.explanation =
        "The display engine did not report that it shows the picture that it was given. The "
        "picture freezes, for a time or until a restart; programs that compute go on.";
    match.cure = fmt::format(
        "Change to a text console and back (Ctrl+Alt+F3, Ctrl+Alt+F2), which may free the picture, "
        "or reboot. If it comes again, {}",
        flip_cure(*pci_device(machine, address)));
    match.command = "";
    match.action = Action::configure;
    match.terms = kByReboot;
    match.evidence.push_back(evidence("kernel log", text));
    if (!once) match.evidence.push_back(evidence("kernel log", lines.back()->text));
    by_known_fault(machine, text, match);
    matches.push_back(std::move(match));
  }
}

// One hang that a reset ended is mostly an application's; several, on several GPUs, or with the
// memory's contents lost, come from what was installed or from the GPU.
constexpr std::string_view kSingleHang =
    "Nothing for a single hang: an application can cause it. If hangs come again, update driver, "
    "firmware and application, and check power and cooling.";
const Ids kMoreOfHangs = {"amdgpu: ...VRAM is lost due to GPU reset",
                          "*: Using GuC firmware from "};
void explain_recovery(const std::vector<LogHit>& more, const GpuStory& story, bool others,
                      Match& match) {
  match.title = story.hangs > 1
                    ? fmt::format("The GPU hung {} times, and was recovered", story.hangs)
                    : "The GPU hung, and was recovered";
  match.explanation =
      "Work on the GPU did not end in time, and the driver reset the GPU or a part of it. The "
      "work that ran then was lost.";
  bool memory_lost = false;
  for (const auto& hit : more) {
    if (hit.pci != story.pci) continue;
    const bool lost = !contains(hit.text, "GuC");
    if (lost && !memory_lost) *match.explanation += " The contents of its memory were lost, too.";
    memory_lost |= lost;
    if (!lost) match.evidence.push_back(evidence("GuC firmware", hit.text));
  }
  if (story.hangs == 1 && !others && !memory_lost) {
    match.cure = kSingleHang;
    return;
  }
  if (others) *match.explanation += " More than one GPU of this machine hung.";
  match.cure =
      "If it began with an update, start the kernel before it, with its firmware and libraries "
      "(Mesa, ROCm, Level Zero); else update them. Look which programs ran then (journalctl "
      "-k): one that is always among them may be the cause. If other versions do not help, check "
      "power and cooling, and send /sys/class/drm/card*/device/devcoredump/data to the driver's "
      "developers.";
}

std::vector<Match> hung(const Facts& facts) {
  const auto stories = gpu_stories(facts.machine);
  const auto more = stories.empty() ? std::vector<LogHit>() : log_hits(facts.machine, kMoreOfHangs);
  const bool others = std::ranges::count_if(stories, [](const GpuStory& story) {
                        return story.last == Step::recovered || story.last == Step::hung;
                      }) > 1;
  auto matches = those_that(facts.machine, stories, [&](const GpuStory& story, Match& match) {
    if (story.last == Step::hung) {
      const auto silent =
          story.vendor == Vendor::amd ? silent_before(facts.machine, story) : std::nullopt;
      if (silent) {
        match.title = "The GPU's power controller (SMU) stopped answering, and the GPU hangs";
        match.explanation =
            "The power controller fell silent before work on the GPU hung, so the work is not the "
            "cause.";
        match.evidence.insert(match.evidence.begin(), evidence("kernel log", *silent));
      }
      if (waits_for_host(story.quotes.front())) {
        const auto* device = story.pci ? pci_device(facts.machine, *story.pci) : nullptr;
        if (device && unbound(*device)) return false;  // it gave up: gpu-init-failed
        not_reached(facts.machine, match);
      } else {
        explain_arm_board(facts.machine, story.vendor, match);
      }
      return true;
    }
    if (story.last != Step::recovered) return false;
    match.severity = Severity::warning;
    match.standing = Standing::past;
    match.action = Action::check_again;
    explain_recovery(more, story, others, match);
    match.command = "";
    const bool late = std::ranges::all_of(
        story.quotes, [](const std::string& quote) { return contains(quote, "nvalidation"); });
    if (late) {
      match.title = "The GPU's firmware (GuC) was late to answer, and works on";
      match.explanation =
          "The driver asked the GPU to forget addresses, and did not get the answer in time. "
          "Programs and the display may have paused meanwhile.";
      match.cure = kSingleHang;
    }
    return true;
  });
  add_display_hangs(facts.machine, matches);
  return matches;
}

// The newest of these lines for each GPU tells whether the power controller answers.
std::vector<Match> power_controller(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto gpus = gpus_on_bus(machine, Vendor::amd);
  std::vector<Match> matches;
  const auto hits = log_hits(
      machine,
      both(both(kSmuSilent, kSmuLate),
           {"amdgpu: ...SMU is resumed successfully", "amdgpu: ...SMU is initialized success",
            "amdgpu: Initialized amdgpu ", "amdgpu: GPU reset(*) succeeded!"}));
  for (const auto* gpu : gpus) {
    Match match = about(machine, gpu->address);
    std::optional<double> late_since, late_last;
    for (const auto& hit : hits) {
      if (hit.pci ? *hit.pci != gpu->address : gpus.size() > 1) continue;
      const auto seconds = machine.kernel_log.lines[hit.line].seconds;
      const bool late = says_any(hit.text, kSmuLate);
      if (!late && !says_any(hit.text, kSmuSilent)) {
        late_since.reset();
        if (may_have_recovered(machine, gpu->address)) match.evidence.clear();
        continue;
      }
      // Late answers that are hours apart do not add up.
      const bool apart = late_last && seconds && *seconds - *late_last > kOneSilenceSeconds;
      if (late && (!late_since || apart)) late_since = seconds;
      if (late) late_last = seconds;
      if (late && (!seconds || *seconds - *late_since < kLateSeconds)) continue;
      if (match.evidence.size() < 2) match.evidence.push_back(evidence("kernel log", hit.text));
    }
    if (!match.evidence.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

// `file`: the driver had no firmware to load; which file is missing, the loader says.
struct Firmware {
  Vendor vendor;
  std::string_view pattern;
  bool file = false;
};
constexpr Firmware kFirmware[] = {
    {Vendor::amd, "amdgpu: PSP load * failed"},
    {Vendor::amd, "amdgpu: ...PSP firmware loading failed"},
    {Vendor::amd, "amdgpu: ...PSP create ring failed"},
    {Vendor::amd, "amdgpu: ...Failed to load psp firmware", true},
    {Vendor::amd, "amdgpu: ...early_init of IP block <psp> failed", true},
    {Vendor::amd, "amdgpu: ...sw_init of IP block <psp> failed -2", true},
    {Vendor::amd, "amdgpu: ...of IP block <psp> failed"},
    {Vendor::intel, "*: ...GuC initialization failed"},
    {Vendor::intel, "*: GuC init failed"},
    {Vendor::intel, "*: GuC load failed"},
    {Vendor::intel, "*: GUC: load failed"},
    {Vendor::intel, "*: Unsupported GuC"},
    {Vendor::intel, "*: ...Failed to initialize uC"},
    {Vendor::intel, "*: ...Enabling uc failed"},
    {Vendor::intel, "*: GuC firmware * fetch failed"},
};

bool given_up(const std::vector<GpuStory>& stories, const PciAddress& address) {
  return std::any_of(stories.begin(), stories.end(), [&](const GpuStory& story) {
    return story.pci == address && story.last == Step::wedged;
  });
}

// A bridge of Infinity Fabric joins cards of Instinct MI50 to MI210: where all fail alike, it is
// what they share.
void suspect_bridge(const Machine& machine, std::vector<Match>& matches) {
  constexpr std::uint16_t kBridged[] = {0x66a0, 0x66a1, 0x738c, 0x740f};
  const auto gpus = gpus_on_bus(machine, Vendor::amd);
  const bool bridged = std::ranges::all_of(gpus, [&](const PciDevice* gpu) {
    return std::ranges::find(kBridged, gpu->device_id) != std::end(kBridged);
  });
  if (!bridged || gpus.size() < 2 || matches.size() != gpus.size() || machine.system.hypervisor)
    return;
  for (auto& match : matches) {
    match.cure =
        "Cut the power for a minute, and start again. If all GPUs fail again, take what they "
        "share, the bridge of Infinity Fabric, off the cards and start: if they then come up, "
        "clean it and seat it once more, or have it replaced. Else start with one card at a time, "
        "and update the firmware of the server and of the cards.";
    match.command = "{do:power-cycle}";
    match.action = Action::power_cycle;
    match.terms = usual_terms(Action::power_cycle);
  }
}

// A driver tries again, and goes on without some of its firmware: a line by itself proves nothing
// of a GPU that runs.
std::vector<Match> firmware_failed(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto stories = gpu_stories(machine);
  std::vector<Match> matches;
  for (const Vendor vendor : {Vendor::amd, Vendor::intel}) {
    auto devices = gpus_on_bus(machine, vendor);
    std::erase_if(devices, [&](const PciDevice* device) {
      return device->driver && !given_up(stories, device->address);
    });
    for (const auto* device : devices) {
      Match match = about(machine, device->address);
      bool refused = false, no_file = false;
      auto starts = devices.size() > 1 ? std::nullopt : std::optional(device->address);
      for (const auto& line : machine.kernel_log.lines) {
        const auto* fits =
            std::find_if(std::begin(kFirmware), std::end(kFirmware), [&](const Firmware& firmware) {
              return firmware.vendor == vendor && says_any(line.text, {firmware.pattern});
            });
        const auto pci = pci_address_in(line.text);
        no_file |= pci == device->address && says_any(line.text, {"*: Direct firmware load for"});
        // A driver starts one GPU after another, and some of its lines do not name it.
        if (pci && std::ranges::any_of(devices, [&](auto* each) { return each->address == *pci; }))
          starts = pci;
        if (fits == std::end(kFirmware) || (pci ? pci : starts) != device->address) continue;
        refused |= !fits->file;
        if (match.evidence.size() < 3) match.evidence.push_back(evidence("kernel log", line.text));
      }
      // driver-firmware-missing names the file; what fails for want of it only follows.
      if ((!refused && no_file) || missing_parts(machine, device->address).contains("GuC"))
        continue;
      if (vendor == Vendor::intel) match.title = "The GPU's scheduler (GuC) did not start";
      // Many AMD GPUs cannot be reset between two guests, and start once a start of the host.
      if (vendor == Vendor::amd && refused && machine.system.hypervisor) {
        match.cure =
            "Have the host restarted, with its power cut: the GPU was in use before and was not "
            "reset. If it stays, install the GPU firmware that belongs to this driver.";
        match.action = Action::ask_host;
        match.command = "";
      }
      if (match.evidence.empty()) continue;
      explain_arm_board(machine, vendor, match);
      matches.push_back(std::move(match));
    }
    if (vendor == Vendor::amd) suspect_bridge(machine, matches);
  }
  return matches;
}

}  // namespace

std::vector<Cause> recovery_causes() {
  const std::vector<std::string_view> kUseless = {
      "power-controller-hung",  "rocm-start-failed",  "driver-hung",          "probe-timed-out",
      "device-nodes-missing",   "expected-gpu-count", "vulkan-software-only", "pcie-errors",
      "rocm-newer-than-driver", "gpu-not-listed"};
  return {
      {.id = "amd-gpu-lost",
       .title = "The GPU was lost from the bus",
       .explanation = "The driver reads nothing but ones from the GPU: it lost power or its link.",
       .cure = "Reboot with a full power cycle; if it returns, check power, cooling, riser and "
               "slot, then replace the GPU.",
       .command = "{do:power-cycle}",
       .action = Action::power_cycle,
       .explains = both(kUseless, {"gpu-hung", "gpu-reset-failed", "pcie-fatal-error"}),
       .match = lost},
      {.id = "gpu-firmware-failed",
       .title = "The GPU's security processor (PSP) did not load its firmware",
       .explanation = "The driver starts a GPU through firmware on it, and the GPU or the firmware "
                      "refused.",
       .cure =
           "Install the newest firmware files (linux-firmware; beside amdgpu-dkms those of its "
           "release) and rebuild the initramfs. Then cut the power, because a warm restart does "
           "not reset this processor. If it stays, update the kernel and the card's firmware.",
       .command = "{do:install-firmware} && {do:rebuild-initramfs}",
       .action = Action::configure,
       .terms = kByReboot,
       .explains = both(kUseless, {"gpu-hung", "gpu-wedged", "gpu-init-failed", "driver-not-loaded",
                                   "driver-not-bound", "driver-firmware-missing"}),
       .match = firmware_failed},
      {.id = "gpu-reset-failed",
       .title = "The GPU hung, and its reset failed",
       .explanation = "The driver could not bring the GPU back, so no work runs on it.",
       .cure = "Reboot with a full power cycle; if it comes again, update driver and firmware, "
               "check power and cooling, then have the GPU replaced.",
       .command = "{do:power-cycle}",
       .action = Action::power_cycle,
       .explains = both(kUseless, {"gpu-hung"}),
       .match = reset_failed},
      {.id = "gpu-not-resumed",
       .title = "The GPU did not wake from suspend",
       .explanation = "The driver could not start the GPU again after the machine, or only the "
                      "GPU, had been suspended.",
       .cure = "Reboot; if it comes again, update driver and firmware, or keep the GPU awake "
               "(power/control: on) and the machine out of suspend.",
       .command = "reboot",
       .action = Action::reboot,
       .own_cure = true,
       .explains =
           both(kUseless, {"gpu-hung", "gpu-call-failed", "gpu-init-failed", "nvml-start-failed",
                           "cuda-start-failed", "gsp-failed", "uvm-stale"}),
       .match = not_woken},
      {.id = "gpu-wedged",
       .title = "The driver has given the GPU up",
       .explanation = "The GPU is wedged: its driver refuses all work for it.",
       .cure = "Reboot. If it comes again, try another kernel, a newer or an older one, and run no "
               "virtual machine on a share of this GPU. Unbinding the GPU from its driver and "
               "binding it again may help, too; it takes the picture from a display that the GPU "
               "drives.",
       .command = "reboot",
       .action = Action::reboot,
       .explains = both(kUseless, {"gpu-hung"}),
       .match = wedged},
      {.id = "gpu-hung",
       .title = "The GPU hangs",
       .explanation = "Work on the GPU did not end in time, and the kernel log shows no recovery.",
       .cure =
           "Reboot; if it comes again, update driver and firmware, and check power and cooling.",
       .command = "reboot",
       .action = Action::reboot,
       .explains = kUseless,
       .match = hung},
      {.id = "power-controller-hung",
       .title = "The GPU's power controller (SMU) does not answer",
       .explanation = "The driver can neither set clocks nor read sensors, nor reset the GPU.",
       .cure = "Reboot with a full power cycle. If it comes again, take over- and undervolting and "
               "power limits back, and start the kernel before the last update, or a newer one "
               "with its firmware. On a desktop, try it without GFXOFF "
               "(amdgpu.ppfeaturemask=0xfff73fff on the kernel's command line), update the "
               "board's firmware, and check power supply and cables.",
       .command = "{do:power-cycle}",
       .action = Action::power_cycle,
       .explains = {"rocm-start-failed", "expected-gpu-count"},
       .match = power_controller},
  };
}

}  // namespace gpuready::doctor
