// NVSentinel: RecommendedAction of data-models/protobufs/health_event.proto. AWS: repair actions of
// EKS' node auto repair. Azure: impact categories of Guest Health Reporting. SageMaker HyperPod:
// the label sagemaker.amazonaws.com/node-health-status.
#include "value/action.h"

#include <algorithm>

#include "base/named.h"
#include "value/about.h"
#include "value/names.h"

namespace gpuready {
namespace {

using enum Action;

constexpr Vantage kVantages[] = {
    {"container", configure}, {"wsl2", configure}, {"vm", reboot}, {"bare_metal", replace}};

constexpr std::string_view kUnhealthy = "Resource.Hpc.Unhealthy.*",
                           kReplacement = "UnschedulablePendingReplacement",
                           kReboot = "UnschedulablePendingReboot";
constexpr ActionWords kWords[] = {
    {none, "NONE", "None", "Resource.Hpc.Healthy", "Schedulable"},
    {check_again, "RUN_DCGMEUD", "None", "Resource.Hpc.Reset", "Unschedulable"},
    {configure, "NONE", "None", "", ""},
    {reload_driver, "RESTART_VM", "Reboot", "Resource.Hpc.Reboot", kReboot},
    {reset_gpu, "COMPONENT_RESET", "Reboot", "Resource.Hpc.Reboot", kReboot},
    {reboot, "RESTART_VM", "Reboot", "Resource.Hpc.Reboot", kReboot},
    {power_cycle, "RESTART_BM", "Replace", kUnhealthy, kReplacement},
    {replace, "REPLACE_VM", "Replace", kUnhealthy, kReplacement},
    {ask_host, "CONTACT_SUPPORT", "Replace", kUnhealthy, kReplacement},
};

bool concerns(const Finding& finding, const Gpu& gpu) {
  return is_about(finding, gpu) || std::ranges::any_of(finding.explains, [&](const Finding& inner) {
           return concerns(inner, gpu);
         });
}

}  // namespace

Action strongest_action(std::span<const Finding> findings) {
  Action strongest = none;
  for (const Finding& finding : findings) strongest = std::max(strongest, finding.action);
  return strongest;
}

Action strongest_action(std::span<const Finding> findings, const Gpu& gpu) {
  Action strongest = none;
  for (const Finding& finding : findings)
    if (concerns(finding, gpu)) strongest = std::max(strongest, finding.action);
  return strongest;
}

std::span<const Vantage> vantages() { return kVantages; }

const Vantage& vantage_of(const Machine& machine) {
  const bool holds[] = {machine.container.runtime.has_value(), machine.system.wsl2,
                        machine.system.hypervisor.has_value(), true};
  return kVantages[std::ranges::find(holds, true) - std::begin(holds)];
}

void settle_action(Finding& finding, const Machine& machine) {
  if (finding.severity == Severity::info) finding.action = none;
  if (finding.action > vantage_of(machine).reach && finding.action != ask_host) {
    if (finding.cure)
      *finding.cure +=
          " From here it cannot be done, so ask the host's operator: " + words_of(finding.action) +
          ".";
    finding.action = ask_host;
  }
  for (Finding& inner : finding.explains) settle_action(inner, machine);
}

std::span<const ActionWords> action_words() { return kWords; }

}  // namespace gpuready
