#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "health/plan/survey.h"
#include "machine/gpu_use.h"
#include "machine/system/named_libraries.h"
#include "report/conclude.h"
#include "report/obligations.h"
#include "report/test_summary.h"
#include "value/about.h"

namespace gpuready {
namespace {

bool any_test(const GpuSummary& gpu, const Summary& summary,
              std::initializer_list<VerdictStatus> wanted) {
  return std::any_of(gpu.tests.begin(), gpu.tests.end(), [&](std::size_t index) {
    const auto status = summary.tests[index].verdict->status;
    return std::find(wanted.begin(), wanted.end(), status) != wanted.end();
  });
}

Effect worst_effect(const std::vector<Obligation>& obligations) {
  Effect worst = Effect::none;
  for (const Obligation& owed : obligations) worst = std::max(worst, effect_of(owed));
  return worst;
}

GpuState state_of(const Report& report, const Summary& summary, const GpuSummary& gpu, GpuUse use,
                  bool warned) {
  using enum VerdictStatus;
  if (use == GpuUse::faked) return GpuState::faked;
  if (use == GpuUse::unusable) return GpuState::not_ready;
  if (use == GpuUse::not_ours) return GpuState::not_ours;
  if (use == GpuUse::display_only) return GpuState::display_only;
  if (use == GpuUse::hidden && gpu.tests.empty()) return GpuState::hidden;
  const Effect effect = worst_effect(gpu.obligations);
  if (effect == Effect::unhealthy) return GpuState::degraded;
  if (any_test(gpu, summary, {timed_out, inconclusive})) return GpuState::unknown;
  for (const std::size_t index : gpu.tests)
    if (summary.tests[index].verdict->injected_fault) return GpuState::unknown;
  if (report.verdicts && any_passed(*report.verdicts, *gpu.gpu)) {
    // One passed test does not speak for another that did not happen.
    if (any_test(gpu, summary, {not_tested})) return GpuState::not_tested;
    if (effect == Effect::unknown) return GpuState::unknown;
    if (report.by_named_libraries) return GpuState::not_proven;
    if (warned) return GpuState::attention;
    return gpu.gpu->mig_enabled.value_or(false) ? GpuState::in_part : GpuState::ready;
  }
  if (gpu.gpu->suspended) return GpuState::suspended;
  if (report.verdicts) return why_busy(*gpu.gpu) ? GpuState::in_use : GpuState::not_tested;
  if (report.findings) return warned ? GpuState::warned : GpuState::no_problem;
  return GpuState::found;
}

// What most speaks against the GPU; of equals the first. Nothing when all passed.
const Verdict* worst_of(const Summary& summary, const GpuSummary& gpu) {
  using enum VerdictStatus;
  for (const VerdictStatus status : {failed, timed_out, inconclusive, not_tested, not_supported})
    for (const std::size_t index : gpu.tests)
      if (summary.tests[index].verdict->status == status) return summary.tests[index].verdict;
  return nullptr;
}

// What keeps it from being ready; nothing where it is.
const Obligation* worst_owed(const GpuSummary& gpu) {
  for (const Effect effect : {Effect::unhealthy, Effect::unknown})
    for (const Obligation& owed : gpu.obligations)
      if (effect_of(owed) == effect) return &owed;
  return nullptr;
}

// A clause as a sentence: "NVML has lost it" -> "NVML has lost it."
std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  if (!text.ends_with('.')) text += '.';
  return capitalized(std::move(text));
}

GpuSummary summarize_gpu(const Report& report, const Summary& summary, const Gpu& gpu,
                         const GpuAccess& access) {
  GpuSummary out;
  out.gpu = &gpu;
  const auto index = static_cast<std::size_t>(&gpu - report.machine.gpus.data());
  if (index < report.obligations.size()) out.obligations = report.obligations[index];
  for (std::size_t i = 0; i < summary.tests.size(); ++i)
    if (summary.tests[i].gpu == gpu.index || summary.tests[i].peer == gpu.index)
      out.tests.push_back(i);
  bool warned = false;
  if (report.findings)
    for (const Finding& finding : *report.findings)
      if (is_about(finding, gpu)) {
        warned |= finding.severity != Severity::info;
        out.problems.push_back(finding.title);
      }
  out.state = state_of(report, summary, out, access.use, warned);
  const Verdict* worst = worst_of(summary, out);
  // What makes a GPU unusable comes before a test that could therefore not be run.
  if (worst != nullptr && access.use == GpuUse::unusable && worst->status != VerdictStatus::failed)
    worst = nullptr;
  if (worst != nullptr)
    out.reason = summary.test_names.size() > 1 ? worst->test + ": " + worst->reason : worst->reason;
  if (out.reason.empty()) out.reason = as_sentence(access.reason);
  if (const Obligation* owed = worst_owed(out); owed && out.reason.empty())
    out.reason = as_sentence(said_of(*owed));
  if (out.reason.empty() && !out.problems.empty()) out.reason = out.problems.front();
  if (gpu.suspended && out.reason.empty())
    out.reason = "It is suspended to save power, and was not woken.";
  return out;
}

bool says_no_gpu(const std::string& text) { return to_lower(text.substr(0, 6)) == "no gpu"; }

std::string why_no_gpu(const Machine& machine) {
  const auto displays = machine.pci.size();
  std::string text = displays == 0 ? "the PCI bus holds no display controller and no accelerator"
                     : displays == 1
                         ? "the only display controller or accelerator on the PCI bus is not a GPU"
                         : fmt::format(
                               "none of the {} display controllers and accelerators on the "
                               "PCI bus is a GPU",
                               displays);
  if (machine.system.hypervisor)
    text += fmt::format(", and none was passed to this virtual machine ({})",
                        *machine.system.hypervisor);
  return text;
}

}  // namespace

Summary summarize(const Report& report) {
  const Machine& machine = report.machine;
  Summary summary;
  if (report.verdicts)
    for (const Verdict& verdict : *report.verdicts)
      (verdict.executor == "host" ? summary.fitness : summary.tests)
          .push_back(summarize_test(machine, verdict));
  add_rows(summary);
  const auto access = usability(report);
  for (std::size_t i = 0; i < access.size(); ++i) {
    summary.gpus.push_back(summarize_gpu(report, summary, machine.gpus[i], access[i]));
    summary.ready += is_ready(summary.gpus.back().state);
  }
  if (report.findings)
    for (const Finding& finding : *report.findings)
      ++(finding.severity == Severity::error     ? summary.errors
         : finding.severity == Severity::warning ? summary.warnings
                                                 : summary.infos);
  for (const VulkanDevice& device : machine.vulkan.devices)
    if (device.software()) summary.software_devices.push_back(&device);

  summary.conclusion = report.conclusion.value_or(std::string(exit_meaning(report.exit)));
  if (!machine.fakes.empty())
    summary.faked = fmt::format("FAKED ({}): these GPUs exist nowhere and nothing ran on them.",
                                join(machine.fakes, ", "));
  if (!machine.named_libraries.empty())
    summary.faked = fmt::format(
        "NOT THE SYSTEM'S DRIVER ({}): variables name libraries in place of the system's, so this "
        "says nothing about the driver that programs use.",
        named_libraries_text(machine.named_libraries));
  const bool real = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                [](const Gpu& gpu) { return !gpu.faked; });
  const bool told = std::any_of(report.notes.begin(), report.notes.end(), says_no_gpu);
  if (!real && machine.fakes.empty() && !told && summary.errors == 0 && !why_bus_unread(machine))
    summary.no_gpu = fmt::format("No GPU in this machine: {}.", why_no_gpu(machine));
  // Nothing is green because the host passed, or because a GPU drives a display.
  const bool computes = std::ranges::any_of(access, [](const GpuAccess& each) {
    return each.use != GpuUse::faked && each.use != GpuUse::display_only;
  });
  summary.tone = report.exit == Exit::ok && !computes ? Tone::neutral : tone_of(report.exit);
  return summary;
}

}  // namespace gpuready
