// Lines of Linux: drivers/gpu/drm/amd (amdgpu_device.c, amdgpu_job.c, amdgpu_ring.c,
// kfd_device_queue_manager.c) from 5.4 to 6.18, drivers/gpu/drm/radeon (radeon_device.c,
// radeon_ring.c, radeon_fence.c), drivers/gpu/drm/xe (xe_device.c, xe_gt.c, xe_guc_submit.c,
// xe_tlb_inval.c), drivers/gpu/drm/i915 from 4.9 on (i915_drv.c, gt/intel_reset.c,
// gt/uc/intel_guc.c, i915_gpu_error.c, i915_gem.c), drivers/gpu/drm/drm_drv.c
// (drm_dev_wedged_event), drivers/pci/pci.c (pci_dev_wait). gim: AMD's MxGPU-Virtualization, of the
// S7150 (gim_adapter.c) and of Instinct (amdgv_error_subcode.c, amdgv_sched_reset.c).
#include "doctor/kernel_signs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/system/kernel_log.h"

namespace gpuready::doctor {
namespace {

struct Sign {
  Vendor vendor;
  std::string_view pattern;  // machine/system/kernel_log.h
  Step step;
};
constexpr std::string_view kWaitsForHost =  // mxgpu_ai.c, mxgpu_nv.c
    "amdgpu: trn=* ACK should not assert! wait again";

// The first that fits counts.
constexpr Sign kSigns[] = {
    {Vendor::amd, "amdgpu: ...device lost from bus", Step::lost},
    {Vendor::amd, "amdgpu: Unable to change power state from * to D0, device inaccessible",
     Step::lost},
    {Vendor::amd, "amdgpu: not ready *ms after *; giving up", Step::lost},
    {Vendor::amd, "amdgpu: not ready *ms after * *; giving up", Step::lost},
    {Vendor::amd, "amdgpu: pci_channel_io_perm_failure: state(", Step::lost},
    // A reset follows.
    {Vendor::amd, "amdgpu: ...uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT)", Step::hung},
    {Vendor::amd, "amdgpu: ... timeout, but soft recovered", Step::recovered},
    {Vendor::amd, "amdgpu: ... timeout, signaled seq=", Step::hung},
    {Vendor::amd, "amdgpu: ...might be in an unrecoverable state", Step::hung},
    {Vendor::amd, kWaitsForHost, Step::hung},
    {Vendor::amd, "amdgpu: ...MES might be in unrecoverable state", Step::hung},
    {Vendor::amd, "amdgpu: GPU reset begin", Step::hung},
    {Vendor::amd, "amdgpu: ...IB test failed on ", Step::hung},  // the driver's own first work
    {Vendor::amd, "amdgpu: ...Guilty job already signaled, skipping HW reset", Step::recovered},
    {Vendor::amd, "amdgpu: Ring * reset succeeded", Step::recovered},
    {Vendor::amd, "amdgpu: GPU reset(*) succeeded", Step::recovered},
    {Vendor::amd, "amdgpu: GPU reset(*) failed", Step::failed},
    {Vendor::amd, "amdgpu: ...GPU reset end with ret", Step::failed},
    {Vendor::amd, "amdgpu: ...GPU Recovery Failed", Step::failed},
    {Vendor::amd, "amdgpu: device wedged, needs recovery", Step::failed},
    {Vendor::amd, "amdgpu: device wedged, but recovered through reset", Step::recovered},
    {Vendor::amd, "amdgpu: ...amdgpu_device_ip_resume failed", Step::asleep},
    {Vendor::amd, "amdgpu: PM: failed to resume", Step::asleep},  // of the kernel itself
    {Vendor::amd, "amdgpu: Initialized amdgpu ", Step::started},
    {Vendor::amd, "radeon: not ready *ms after *; giving up", Step::lost},
    {Vendor::amd, "radeon: not ready *ms after * *; giving up", Step::lost},
    {Vendor::amd, "radeon: ring * stalled for more than ", Step::hung},
    {Vendor::amd, "radeon: GPU lockup ", Step::hung},
    {Vendor::amd, "radeon: GPU reset succeeded, trying to resume", Step::recovered},
    {Vendor::amd, "radeon: GPU reset failed", Step::failed},
    {Vendor::amd, "radeon: ...startup failed on resume", Step::failed},
    {Vendor::amd, "radeon: radeon: ring 0 test failed (", Step::failed},
    {Vendor::amd, "radeon: PM: failed to resume", Step::asleep},
    {Vendor::amd, "radeon: Initialized radeon ", Step::started},
    {Vendor::amd, "gim: ...engine hang detected", Step::hung},
    {Vendor::amd, "gim: ...wait_cmd_complete -- time out after ", Step::hung},
    {Vendor::amd, "gim: ...Timeout of waiting command complete", Step::hung},
    {Vendor::amd, "gim: ...Issuing Whole GPU reset", Step::hung},
    {Vendor::amd, "gim: ...end of VF FLR for ", Step::recovered},
    {Vendor::amd, "gim: ...complete whole gpu reset", Step::recovered},
    {Vendor::amd, "gim: ...Whole GPU reset failed", Step::failed},
    {Vendor::amd, "gim: ...Unable to perform Whole GPU reset", Step::failed},
    {Vendor::amd, "gim: ...AMD open source GIM initialization", Step::started},
    {Vendor::intel, "xe: not ready *ms after *; giving up", Step::lost},
    {Vendor::intel, "xe: not ready *ms after * *; giving up", Step::lost},
    {Vendor::intel, "i915: not ready *ms after *; giving up", Step::lost},
    {Vendor::intel, "i915: not ready *ms after * *; giving up", Step::lost},
    {Vendor::intel, "xe: Unable to change power state from * to D0, device inaccessible",
     Step::lost},
    {Vendor::intel, "i915: Unable to change power state from * to D0, device inaccessible",
     Step::lost},
    {Vendor::intel, "xe: PM: failed to resume", Step::asleep},
    {Vendor::intel, "i915: PM: failed to resume", Step::asleep},
    {Vendor::intel, "xe: CRITICAL: Xe has declared device * as wedged", Step::wedged},
    {Vendor::intel, "xe: device wedged, needs recovery", Step::wedged},
    {Vendor::intel, "xe: device wedged, but recovered through reset", Step::recovered},
    {Vendor::intel, "xe: Survivability mode enabled", Step::wedged},
    {Vendor::intel, "xe: * Survivability mode enabled", Step::wedged},
    {Vendor::intel, "xe: * survivability mode enabled", Step::wedged},
    // The engine alone is reset, and only a failure of that goes further.
    {Vendor::intel, "xe: Timedout job", Step::recovered},
    {Vendor::intel, "xe: Engine reset:", Step::recovered},
    {Vendor::intel, "xe: reset failed (", Step::failed},
    {Vendor::intel, "xe: reset done", Step::recovered},
    {Vendor::intel, "xe: TLB invalidation fence timeout", Step::late},
    {Vendor::intel, "xe: Initialized xe ", Step::started},
    {Vendor::intel, "i915: device wedged, but recovered through reset", Step::recovered},
    {Vendor::intel, "i915: GPU recovery timed out, cancelling all in-flight rendering",
     Step::wedged},
    {Vendor::intel, "i915: GUC: TLB invalidation response timed out", Step::late},
    {Vendor::intel, "i915: TLB invalidation response timed out", Step::late},
    {Vendor::intel, "i915: tlb invalidation response timed out", Step::late},
    {Vendor::intel, "i915: Failed to reset chip", Step::wedged},
    {Vendor::intel, "i915: GPU recovery failed", Step::wedged},
    {Vendor::intel, "i915: Failed hw init on reset", Step::wedged},
    {Vendor::intel, "i915: Failed to initialise HW following reset", Step::wedged},
    {Vendor::intel, "i915: GT initialization failed", Step::wedged},
    {Vendor::intel, "i915: Failed to initialize GPU, declaring", Step::wedged},
    {Vendor::intel, "i915: failed to re-initialize GPU, declaring", Step::wedged},
    {Vendor::intel, "i915: Failed to idle engines, declaring", Step::wedged},
    {Vendor::intel, "i915: GPU hanging too fast, declaring", Step::wedged},
    {Vendor::intel, "i915: device wedged, needs recovery", Step::wedged},
    {Vendor::intel, "i915: GPU HANG: ecode ", Step::recovered},
    {Vendor::intel, "i915: Resetting * for hang on ", Step::recovered},
    {Vendor::intel, "i915: Resetting * for preemption time out", Step::recovered},
    {Vendor::intel, "i915: Resetting * for stopped heartbeat on ", Step::recovered},
};

const Sign* sign_of(std::string_view line) {
  const auto message = parse_message(line);
  if (!message) return nullptr;
  for (const auto& sign : kSigns)
    if (says(*message, sign.pattern)) return &sign;
  return nullptr;
}

// gim: "[0:a8:0:0]", domain, bus, device and function; older ones leave out the domain.
std::optional<PciAddress> gims_address_in(std::string_view line) {
  const auto message = parse_message(line);
  const auto open = message && message->writer == "gim" ? message->text.find('[') : line.npos;
  if (open == line.npos) return std::nullopt;
  const auto inner = message->text.substr(open + 1, message->text.find(']') - open - 1);
  const auto parts = split(inner, ":");
  if (parts.size() < 3 || parts.size() > 4) return std::nullopt;
  std::vector<std::uint64_t> numbers(4 - parts.size(), 0);
  for (const auto part : parts) {
    const auto number = parse_uint(part, 16);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return parse_pci_address(
      fmt::format("{:04x}:{:02x}:{:02x}.{:x}", numbers[0], numbers[1], numbers[2], numbers[3]));
}

std::optional<PciAddress> address_in(std::string_view line) {
  const auto address = pci_address_in(line);
  return address ? address : gims_address_in(line);
}

// Of several GPUs, the one that the driver names next: its older lines name none, and the reset
// that follows does.
std::optional<PciAddress> named_next(const Machine& machine, std::size_t line, Vendor vendor) {
  constexpr double kNearSeconds = 10;
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = line + 1; i < log.size(); ++i) {
    if (log[i].seconds && log[line].seconds && *log[i].seconds > *log[line].seconds + kNearSeconds)
      break;
    const auto* sign = sign_of(log[i].text);
    if (sign == nullptr || sign->vendor != vendor) continue;
    if (const auto address = address_in(log[i].text)) return address;
  }
  return std::nullopt;
}

// The GPU that a line without an address can only be about: the vendor's only one, or the only one
// that the line's writer drives.
std::optional<PciAddress> only_gpu(std::vector<const PciDevice*> gpus, std::string_view line) {
  const auto message = parse_message(line);
  const auto drives = [&](const PciDevice* gpu) {
    return message && gpu->driver == message->writer;
  };
  if (std::ranges::any_of(gpus, drives))
    std::erase_if(gpus, [&](auto* gpu) { return !drives(gpu); });
  return gpus.size() == 1 ? std::optional(gpus.front()->address) : std::nullopt;
}

// Requests that the GPU does not answer in time: some are late while it works, and all are while it
// does not.
bool goes_on_without_answer(GpuStory& story, const LogLine& line) {
  constexpr double kGapSeconds = 30, kLastsSeconds = 5;
  constexpr std::size_t kMany = 4;
  const bool another =
      !story.late_until || !line.seconds || *line.seconds - *story.late_until > kGapSeconds;
  if (another) story.late = 0, story.late_since = line.seconds;
  story.late += 1 + line.left_out;
  story.late_until = line.seconds;
  return story.late >= kMany && line.seconds && *line.seconds - *story.late_since >= kLastsSeconds;
}

bool is_bad(Step step) { return step != Step::recovered && step != Step::started; }

}  // namespace

bool waits_for_host(std::string_view line) { return says_any(line, {kWaitsForHost}); }

std::vector<GpuStory> gpu_stories(const Machine& machine) {
  std::vector<GpuStory> stories;
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const auto* sign = sign_of(log[i].text);
    if (sign == nullptr) continue;
    const auto gpus = gpus_on_bus(machine, sign->vendor);
    if (gpus.empty()) continue;
    auto pci = address_in(log[i].text);
    if (!pci) pci = only_gpu(gpus, log[i].text);
    if (!pci) pci = named_next(machine, i, sign->vendor);
    auto story = std::find_if(stories.begin(), stories.end(), [&](const GpuStory& known) {
      return known.vendor == sign->vendor && known.pci == pci;
    });
    if (story == stories.end())
      story = stories.insert(stories.end(), GpuStory{sign->vendor, pci, Step::started});
    auto step = sign->step;
    if (step == Step::late && is_bad(story->last)) continue;
    if (step == Step::late)
      step = goes_on_without_answer(*story, log[i]) ? Step::hung : Step::recovered;
    const bool ends_trouble = step == Step::started || step == Step::recovered;
    if (ends_trouble && is_bad(story->last) && !(pci && may_have_recovered(machine, *pci)))
      continue;
    // A driver reports one recovery in several lines.
    constexpr double kSameTroubleSeconds = 2;
    const bool goes_on = step == Step::recovered && story->seen && log[i].seconds &&
                         *log[i].seconds - *story->seen < kSameTroubleSeconds;
    const bool begins = !is_bad(story->last) && step != Step::started && !goes_on;
    story->seen = log[i].seconds;
    // A reset that failed stays failed until the GPU is recovered, and so does waking: what hangs
    // after it adds nothing.
    const bool down = story->last == Step::failed || story->last == Step::asleep;
    const bool adds = step != Step::hung || !down;
    if (begins) {
      story->quotes.clear();
      story->hangs += 1 + log[i].left_out;
    }
    constexpr std::size_t kQuotes = 4;
    if (step != Step::started && adds) {
      if (story->quotes.size() >= kQuotes) story->quotes.pop_back();
      story->quotes.emplace_back(trim(log[i].text));
    }
    if (step == Step::started) story->quotes.clear(), story->hangs = 0;
    const bool keep_lost =
        story->last == Step::lost && (step == Step::failed || step == Step::hung);
    if (adds && !keep_lost) story->last = step;
  }
  std::erase_if(stories, [](const GpuStory& story) { return story.last == Step::started; });
  return stories;
}

std::map<std::string_view, std::vector<LogHit>> missing_parts(const Machine& machine,
                                                              const PciAddress& gpu) {
  const Ids missing = {"*: GuC firmware *: fetch failed with error -2",
                       "*: GuC firmware *: fetch failed with error -ENOENT",
                       "*: GuC firmware *: fetch failed -ENOENT",
                       "*: HuC firmware *: fetch failed with error -2",
                       "*: HuC firmware *: fetch failed with error -ENOENT",
                       "*: HuC firmware *: fetch failed -ENOENT",
                       "*: GuC firmware *: fetch failed with error -110",
                       "*: GuC firmware *: fetch failed -ETIMEDOUT",
                       "*: Failed to load DMC firmware * (-ENOENT)"};
  const Ids loaded = {"*: GuC firmware * version ", "*: Using GuC firmware from * version ",
                      "*: HuC firmware * version ", "*: Using HuC firmware from * version ",
                      "*: Finished loading DMC firmware "};
  return standing_hits(machine, missing, loaded,
                       [&](const LogHit& hit) -> std::optional<std::string_view> {
                         // Of a file that it did not find, the driver gives this version.
                         if (hit.pci != gpu || contains(hit.text, " version 0.0.0"))
                           return std::nullopt;
                         for (const std::string_view part : {"GuC", "HuC"})
                           if (contains(hit.text, part)) return part;
                         return "DMC";
                       });
}

}  // namespace gpuready::doctor
