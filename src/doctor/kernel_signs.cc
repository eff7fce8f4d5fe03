// Lines of Linux: drivers/gpu/drm/amd (amdgpu_device.c, amdgpu_job.c, amdgpu_ring.c,
// kfd_device_queue_manager.c) from 5.4 to 6.18, drivers/gpu/drm/xe (xe_device.c, xe_gt.c,
// xe_guc_submit.c), drivers/gpu/drm/i915 (gt/intel_reset.c, i915_gpu_error.c, i915_gem.c),
// drivers/gpu/drm/drm_drv.c (drm_dev_wedged_event).
#include "doctor/kernel_signs.h"

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
// The first that fits counts.
constexpr Sign kSigns[] = {
    {Vendor::amd, "amdgpu: ...device lost from bus", Step::lost},
    {Vendor::amd, "amdgpu: Unable to change power state from D3cold to D0, device inaccessible",
     Step::lost},
    // A reset follows.
    {Vendor::amd, "amdgpu: ...uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT)", Step::hung},
    {Vendor::amd, "amdgpu: ... timeout, but soft recovered", Step::recovered},
    {Vendor::amd, "amdgpu: ... timeout, signaled seq=", Step::hung},
    {Vendor::amd, "amdgpu: ...might be in an unrecoverable state", Step::hung},
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
    {Vendor::intel, "xe: Unable to change power state from D3cold to D0, device inaccessible",
     Step::lost},
    {Vendor::intel, "i915: Unable to change power state from D3cold to D0, device inaccessible",
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
    {Vendor::intel, "xe: Initialized xe ", Step::started},
    {Vendor::intel, "i915: device wedged, but recovered through reset", Step::recovered},
    {Vendor::intel, "i915: GPU recovery timed out, cancelling all in-flight rendering",
     Step::wedged},
    {Vendor::intel, "i915: Failed to reset chip", Step::wedged},
    {Vendor::intel, "i915: Failed to initialize GPU, declaring", Step::wedged},
    {Vendor::intel, "i915: failed to re-initialize GPU, declaring", Step::wedged},
    {Vendor::intel, "i915: Failed to idle engines, declaring", Step::wedged},
    {Vendor::intel, "i915: GPU hanging too fast, declaring", Step::wedged},
    {Vendor::intel, "i915: device wedged, needs recovery", Step::wedged},
    {Vendor::intel, "i915: GPU HANG: ecode ", Step::recovered},
};

const Sign* sign_of(std::string_view line) {
  const auto message = parse_message(line);
  if (!message) return nullptr;
  for (const auto& sign : kSigns)
    if (says(*message, sign.pattern)) return &sign;
  return nullptr;
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
    if (const auto address = pci_address_in(log[i].text)) return address;
  }
  return std::nullopt;
}

bool is_bad(Step step) { return step != Step::recovered && step != Step::started; }

}  // namespace

std::vector<GpuStory> gpu_stories(const Machine& machine) {
  std::vector<GpuStory> stories;
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const auto* sign = sign_of(log[i].text);
    if (sign == nullptr) continue;
    const auto gpus = gpus_on_bus(machine, sign->vendor);
    if (gpus.empty()) continue;
    auto pci = pci_address_in(log[i].text);
    if (!pci && gpus.size() == 1) pci = gpus.front()->address;
    if (!pci) pci = named_next(machine, i, sign->vendor);
    auto story = std::find_if(stories.begin(), stories.end(), [&](const GpuStory& known) {
      return known.vendor == sign->vendor && known.pci == pci;
    });
    if (story == stories.end())
      story = stories.insert(stories.end(), {sign->vendor, pci, Step::started, 0, {}, {}});
    const bool ends_trouble = sign->step == Step::started || sign->step == Step::recovered;
    if (ends_trouble && is_bad(story->last) && !(pci && may_have_recovered(machine, *pci)))
      continue;
    // A driver reports one recovery in several lines.
    constexpr double kSameTroubleSeconds = 2;
    const bool goes_on = sign->step == Step::recovered && story->seen && log[i].seconds &&
                         *log[i].seconds - *story->seen < kSameTroubleSeconds;
    const bool begins = !is_bad(story->last) && sign->step != Step::started && !goes_on;
    story->seen = log[i].seconds;
    // A reset that failed stays failed until the GPU is recovered, and so does waking: what hangs
    // after it adds nothing.
    const bool down = story->last == Step::failed || story->last == Step::asleep;
    const bool adds = sign->step != Step::hung || !down;
    if (begins) {
      story->quotes.clear();
      story->hangs += 1 + log[i].left_out;
    }
    constexpr std::size_t kQuotes = 4;
    if (sign->step != Step::started && adds) {
      if (story->quotes.size() >= kQuotes) story->quotes.pop_back();
      story->quotes.emplace_back(trim(log[i].text));
    }
    if (sign->step == Step::started) story->quotes.clear(), story->hangs = 0;
    const bool keep_lost =
        story->last == Step::lost && (sign->step == Step::failed || sign->step == Step::hung);
    if (adds && !keep_lost) story->last = sign->step;
  }
  std::erase_if(stories, [](const GpuStory& story) { return story.last == Step::started; });
  return stories;
}

}  // namespace gpuready::doctor
