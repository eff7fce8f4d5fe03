#include "report/conclude.h"

#include <fmt/format.h>

#include <algorithm>

#include "health/plan/survey.h"

namespace gpuready {
namespace {

constexpr std::string_view kExpectedCount = "expected-gpu-count";

bool concerns(const Finding& finding, const Gpu& gpu) {
  if (finding.id == kExpectedCount) return false;
  if (finding.severity == Severity::error &&
      (std::find(finding.gpus.begin(), finding.gpus.end(), gpu.index) != finding.gpus.end() ||
       (finding.gpus.empty() && finding.pci.empty()) ||
       (gpu.pci &&
        std::find(finding.pci.begin(), finding.pci.end(), *gpu.pci) != finding.pci.end())))
    return true;
  return std::any_of(finding.explains.begin(), finding.explains.end(),
                     [&](const Finding& inner) { return concerns(inner, gpu); });
}

bool concerns(const Verdict& verdict, const Gpu& gpu) {
  return (verdict.uuid && verdict.uuid == gpu.uuid) ||
         (verdict.peer_uuid && verdict.peer_uuid == gpu.uuid) ||
         (verdict.pci_address && gpu.pci && *verdict.pci_address == gpu.pci->text());
}

bool has_verdict(const Report& report, const Gpu& gpu, VerdictStatus status) {
  if (!report.verdicts) return false;
  return std::any_of(report.verdicts->begin(), report.verdicts->end(), [&](const Verdict& verdict) {
    return concerns(verdict, gpu) && verdict.status == status;
  });
}

// Something was tested, and nothing that was asked for is missing or bad. What no device of its
// kind can do is not missing.
bool passed_all(const Report& report, const Gpu& gpu) {
  using enum VerdictStatus;
  for (const VerdictStatus status : {failed, not_tested, timed_out, inconclusive})
    if (has_verdict(report, gpu, status)) return false;
  return has_verdict(report, gpu, passed);
}

// A driver that was asked and did not start makes its GPUs unusable.
bool driver_refused(const Machine& machine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia) return false;
  const auto& nvidia = machine.nvidia;
  if (nvidia.cuda_start) return !nvidia.cuda_start->ok() && nvidia.cuda_start->code != 100;
  return nvidia.nvml_start && !nvidia.nvml_start->ok();
}

// On the bus, and nothing drives it. Platforms without PCI (Jetson, Apple, WSL2) tell no driver.
bool driverless(const Machine& machine, const Gpu& gpu) {
  if (!gpu.pci || gpu.driver || machine.system.wsl2) return false;
  const auto it = std::find_if(machine.pci.begin(), machine.pci.end(),
                               [&](const PciDevice& device) { return device.address == *gpu.pci; });
  return it != machine.pci.end() && !it->driver;
}

struct Tally {
  int gpus = 0, usable = 0, ready = 0, errors = 0, warnings = 0;
  bool failed = false, unknown = false;
};

Tally tally(const Report& report, const Requirements& requirements) {
  Tally tally;
  for (const auto& gpu : report.machine.gpus) {
    if (gpu.faked) continue;
    if (!requirements.devices.empty() && !names_gpu(requirements.devices, gpu)) continue;
    ++tally.gpus;
    if (!is_usable(report, gpu)) continue;
    ++tally.usable;
    tally.ready += passed_all(report, gpu);
  }
  if (report.findings)
    for (const auto& finding : *report.findings) {
      if (finding.id == kExpectedCount) continue;
      tally.errors += finding.severity == Severity::error;
      tally.warnings += finding.severity == Severity::warning;
    }
  const auto judge = [&](VerdictStatus status) {
    tally.failed |= status == VerdictStatus::failed;
    tally.unknown |= status == VerdictStatus::timed_out || status == VerdictStatus::inconclusive ||
                     status == VerdictStatus::not_tested;
  };
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts) {
      judge(verdict.status);
      tally.failed |= verdict.injected_fault.has_value();  // never taken for a healthy run
    }
  return tally;
}

Exit exit_of(const Report& report, const Tally& tally, const Requirements& requirements) {
  if (tally.failed || tally.errors > 0 || tally.usable < tally.gpus) return Exit::unhealthy;
  if (requirements.required_gpus && tally.usable < *requirements.required_gpus)
    return Exit::required_absent;
  const bool untested =
      !requirements.devices.empty() && report.verdicts && report.verdicts->empty();
  if (report.verdicts && (tally.unknown || untested || tally.ready < tally.gpus))
    return Exit::unknown;
  return Exit::ok;
}

std::string count(int number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// A GPU's test where there is no GPU.
bool beside_the_point(const Report& report, const Verdict& verdict) {
  return verdict.status == VerdictStatus::not_supported && report.machine.gpus.empty();
}

// Why it is not all well, in a few words.
std::string first_problem(const Report& report) {
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts)
      if (verdict.status == VerdictStatus::failed)
        return fmt::format("{} failed the {} test", verdict.subject, verdict.test);
  if (report.findings)
    for (const auto& finding : *report.findings)
      if (finding.severity == Severity::error && finding.id != kExpectedCount) return finding.title;
  if (report.verdicts)
    for (const auto& verdict : *report.verdicts)
      if (verdict.status != VerdictStatus::passed && !beside_the_point(report, verdict))
        return fmt::format("{}: {}", verdict.subject, verdict.reason);
  return {};
}

std::string sentence(std::string text, const std::string& problem) {
  if (!problem.empty()) text += ": " + problem;
  return text.ends_with('.') ? text : text + ".";
}

std::string conclude_check(const Report& report, const Tally& tally) {
  if (!report.machine.fakes.empty()) return "Faked GPUs: nothing can be proven on them.";
  const std::string problem = first_problem(report);
  if (tally.gpus == 0) {
    const bool passed =
        report.verdicts && !report.verdicts->empty() && !tally.failed && !tally.unknown;
    if (!passed) return sentence("No GPU here", problem);
    // The host, or a software device such as llvmpipe.
    return sentence(fmt::format("No GPU here; {} was tested instead and passed",
                                report.verdicts->front().subject),
                    problem);
  }
  return sentence(fmt::format("{} of {} {} ready for work", tally.ready, count(tally.gpus, "GPU"),
                              tally.ready == 1 ? "is" : "are"),
                  problem);
}

std::string conclude_doctor(const Report& report, const Tally& tally) {
  if (tally.errors + tally.warnings == 0)
    return tally.gpus == 0 ? "No GPU in this machine, and nothing wrong to tell of."
                           : fmt::format("Nothing is wrong with the {} here.",
                                         tally.gpus == 1 ? "GPU" : count(tally.gpus, "GPU"));
  return sentence(
      fmt::format("{}, {}", count(tally.errors, "error"), count(tally.warnings, "warning")),
      first_problem(report));
}

std::string conclude_detect(const Report& report, const Tally& tally) {
  if (!report.machine.fakes.empty())
    return sentence(
        "Faked, on request: " + fmt::format("{}", fmt::join(report.machine.fakes, ", ")), {});
  if (tally.gpus == 0) return "No GPU found.";
  if (tally.usable == tally.gpus) return count(tally.gpus, "GPU") + " found.";
  return fmt::format("{} found, {} of them usable: `gpuready doctor` names the cause.",
                     count(tally.gpus, "GPU"), tally.usable);
}

}  // namespace

bool is_usable(const Report& report, const Gpu& gpu) {
  if (gpu.faked || gpu.excluded.value_or(false)) return false;
  if (driver_refused(report.machine, gpu) || driverless(report.machine, gpu)) return false;
  if (report.findings)
    for (const auto& finding : *report.findings)
      if (concerns(finding, gpu)) return false;
  return !has_verdict(report, gpu, VerdictStatus::failed);
}

void conclude(Report& report, const Requirements& requirements) {
  const Tally counts = tally(report, requirements);
  report.exit = exit_of(report, counts, requirements);
  std::string text = report.command == "doctor"   ? conclude_doctor(report, counts)
                     : report.command == "detect" ? conclude_detect(report, counts)
                                                  : conclude_check(report, counts);
  if (requirements.required_gpus && counts.usable < *requirements.required_gpus)
    text += fmt::format(" Required: {}; found and usable: {}.",
                        count(*requirements.required_gpus, "GPU"), counts.usable);
  report.conclusion = std::move(text);
}

}  // namespace gpuready
