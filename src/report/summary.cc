#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/conclude.h"

namespace gpuready {
namespace {

bool concerns(const Finding& finding, const Gpu& gpu) {
  if (finding.gpus.empty() && finding.pci.empty()) return false;
  if (std::find(finding.gpus.begin(), finding.gpus.end(), gpu.index) != finding.gpus.end())
    return true;
  return gpu.pci &&
         std::find(finding.pci.begin(), finding.pci.end(), *gpu.pci) != finding.pci.end();
}

// By what the driver told where it told it; the subject's text is the last resort.
std::optional<int> gpu_of(const Machine& machine, const Verdict& verdict) {
  if (verdict.pci_address)
    if (const auto address = parse_pci_address(*verdict.pci_address))
      if (const Gpu* gpu = machine.find_gpu(*address)) return gpu->index;
  if (verdict.uuid)
    if (const Gpu* gpu = machine.find_gpu_by_uuid(*verdict.uuid)) return gpu->index;
  if (verdict.pci_address || verdict.uuid) return std::nullopt;
  if (const auto number = after_prefix(verdict.subject, "GPU "))
    if (const auto index = parse_int(*number))
      for (const Gpu& gpu : machine.gpus)
        if (gpu.index == *index) return gpu.index;
  return std::nullopt;
}

std::optional<double> fraction(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string without_rate(std::string name) {
  if (name.ends_with("_rate")) name.resize(name.size() - 5);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// Passes of one kind ("write address", "write complement") stand together by their slowest.
std::vector<Rate> slowest_of_each_kind(const std::vector<Rate>& rates) {
  std::vector<Rate> out;
  for (const Rate& rate : rates) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Rate& each) {
      return each.name == first_word(rate.name);
    });
    if (same == out.end()) {
      out.push_back(rate);
      out.back().name = first_word(rate.name);
      continue;
    }
    const bool below = same->below_threshold || rate.below_threshold;
    if (rate.bytes_per_second < same->bytes_per_second) {
      *same = rate;
      same->name = first_word(rate.name);
    }
    same->below_threshold = below;
  }
  return out;
}

TestSummary summarize_test(const Machine& machine, const Verdict& verdict) {
  TestSummary test;
  test.verdict = &verdict;
  test.gpu = gpu_of(machine, verdict);
  test.tone = tone_of(verdict.status);
  if (verdict.coverage) {
    test.tested_of_total = fraction(verdict.coverage->tested_bytes, verdict.coverage->total_bytes);
    test.tested_of_free = fraction(verdict.coverage->tested_bytes, verdict.coverage->free_bytes);
  }
  for (const Metric& metric : verdict.metrics)
    if (metric.name == "copy_rate" && metric.unit == "B/s" && metric.value > 0)
      test.copy_bytes_per_second = metric.value;
  for (const Metric& metric : verdict.metrics) {
    if (!number(metric.value)) continue;
    if (metric.unit != "B/s") {
      test.others.push_back(&metric);
      continue;
    }
    if (metric.name.starts_with("copy_rate") && test.copy_bytes_per_second) continue;
    Rate rate;
    rate.name = without_rate(metric.name);
    rate.bytes_per_second = metric.value;
    if (test.copy_bytes_per_second) rate.of_copy_rate = metric.value / *test.copy_bytes_per_second;
    rate.threshold_bytes_per_second = metric.threshold;
    rate.below_threshold = metric.threshold && metric.value < *metric.threshold;
    test.rates.push_back(std::move(rate));
  }
  test.slowest_rates = slowest_of_each_kind(test.rates);
  return test;
}

bool any_test(const GpuSummary& gpu, const Summary& summary,
              std::initializer_list<VerdictStatus> wanted) {
  return std::any_of(gpu.tests.begin(), gpu.tests.end(), [&](std::size_t index) {
    const auto status = summary.tests[index].verdict->status;
    return std::find(wanted.begin(), wanted.end(), status) != wanted.end();
  });
}

GpuState state_of(const Report& report, const Summary& summary, const GpuSummary& gpu,
                  bool warned) {
  using enum VerdictStatus;
  if (gpu.gpu->faked) return GpuState::faked;
  if (any_test(gpu, summary, {failed}) || !is_usable(report, *gpu.gpu)) return GpuState::not_ready;
  if (any_test(gpu, summary, {timed_out, inconclusive})) return GpuState::unknown;
  for (const std::size_t index : gpu.tests)
    if (summary.tests[index].verdict->injected_fault) return GpuState::unknown;
  if (any_test(gpu, summary, {passed})) {
    // One passed test does not speak for another that did not happen.
    if (any_test(gpu, summary, {not_tested})) return GpuState::not_tested;
    return warned ? GpuState::attention : GpuState::ready;
  }
  if (gpu.gpu->suspended) return GpuState::suspended;
  if (report.verdicts) return GpuState::not_tested;
  if (report.findings) return warned ? GpuState::warned : GpuState::no_problem;
  return GpuState::found;
}

GpuSummary summarize_gpu(const Report& report, const Summary& summary, const Gpu& gpu) {
  GpuSummary out;
  out.gpu = &gpu;
  for (std::size_t i = 0; i < summary.tests.size(); ++i)
    if (summary.tests[i].gpu == gpu.index) out.tests.push_back(i);
  bool warned = false;
  if (report.findings)
    for (const Finding& finding : *report.findings)
      if (concerns(finding, gpu)) {
        warned |= finding.severity != Severity::info;
        out.problems.push_back(finding.title);
      }
  out.state = state_of(report, summary, out, warned);
  for (const std::size_t index : out.tests)
    if (summary.tests[index].verdict->status != VerdictStatus::passed && out.reason.empty())
      out.reason = summary.tests[index].verdict->reason;
  if (out.reason.empty() && !out.problems.empty()) out.reason = out.problems.front();
  if (gpu.excluded.value_or(false) && out.reason.empty())
    out.reason = "The driver was told to leave this GPU out.";
  if (gpu.suspended && out.reason.empty())
    out.reason = "It is suspended to save power, and was not woken.";
  return out;
}

bool says_no_gpu(const std::string& text) { return to_lower(text.substr(0, 6)) == "no gpu"; }

std::string why_no_gpu(const Machine& machine) {
  for (const Unseen& unseen : machine.unseen)
    if (contains(unseen.what, "/sys/bus/pci") || contains(unseen.what, "PCI"))
      return fmt::format("the PCI bus could not be read ({})", unseen.why);
  const auto displays = machine.pci.size();
  std::string text = displays == 0 ? "the PCI bus holds no display controller and no accelerator"
                     : displays == 1
                         ? "the one display controller or accelerator on the PCI bus is no GPU"
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
  for (const Gpu& gpu : machine.gpus) {
    summary.gpus.push_back(summarize_gpu(report, summary, gpu));
    const auto state = summary.gpus.back().state;
    summary.ready += state == GpuState::ready || state == GpuState::attention;
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
  const bool real = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                [](const Gpu& gpu) { return !gpu.faked; });
  const bool told = std::any_of(report.notes.begin(), report.notes.end(), says_no_gpu);
  if (!real && machine.fakes.empty() && !told)
    summary.no_gpu = fmt::format("No GPU in this machine: {}.", why_no_gpu(machine));
  // Host memory that passed is no GPU that is ready: nothing green then.
  summary.tone = report.exit == Exit::ok && !real ? Tone::neutral : tone_of(report.exit);
  return summary;
}

}  // namespace gpuready
