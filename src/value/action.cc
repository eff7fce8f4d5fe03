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

struct ActionTerms {
  Action action;
  CureTerms terms;
};
using enum CureRisk;
constexpr ActionTerms kTerms[] = {
    {none, {}},
    {check_again, {}},
    {configure, {harmless, CurePlace::here, CureNeeds::root}},
    {reload_driver, {ends_processes, CurePlace::here, CureNeeds::free_gpu}},
    {reset_gpu, {ends_processes, CurePlace::here, CureNeeds::free_gpu}},
    {reboot, {reboots, CurePlace::here, CureNeeds::free_machine}},
    {power_cycle, {reboots, CurePlace::hardware, CureNeeds::free_machine}},
    {replace, {reboots, CurePlace::hardware, CureNeeds::power_off}},
    {ask_host, {ends_processes, CurePlace::host, CureNeeds::free_gpu}},
};

// Under the names of CurePlace and CureNeeds.
constexpr std::string_view kPlaceWords[] = {
    "here",
    "in the virtual machine",
    "where the container or job is started",
    "on the host",
    "in Windows",
    "by the machine's provider",
    "in the firmware's setup",
    "by hand at the machine",
};
constexpr std::string_view kNeedsWords[] = {
    "nothing",
    "root",
    "root, and that nothing uses the GPU",
    "root, and that nothing uses the machine",
    "that the power is off",
};
static_assert(std::size(kPlaceWords) == std::size(kNames<CurePlace>));
static_assert(std::size(kNeedsWords) == std::size(kNames<CureNeeds>));

// Above the machine that is seen: nothing of it can be reached from there.
void move_outside(CureTerms& terms, const Machine& machine) {
  terms.place = outside(machine);
  if (terms.place == CurePlace::provider) terms.needs = CureNeeds::free_machine;
}

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

CureTerms usual_terms(Action action) {
  return std::ranges::find(kTerms, action, &ActionTerms::action)->terms;
}

// DMI names of instances: AWS' types ("g5.4xlarge", "p5.metal"), Google's one name; Azure's
// kernels.
std::string_view cloud_of(const Machine& machine) {
  const SystemState& system = machine.system;
  const std::string product = system.product_name.value_or(""), by = system.hypervisor.value_or("");
  const bool type = product.ends_with("xlarge") || product.find(".metal") != std::string::npos;
  if (type || by == "nitro") return "Amazon EC2";
  if (product.starts_with("Google Compute Engine")) return "Google Cloud";
  const bool azure =
      !by.empty() && !system.wsl2 && system.kernel_release.find("azure") != std::string::npos;
  return azure ? "Azure" : "";
}

CurePlace outside(const Machine& machine) {
  const SystemState& system = machine.system;
  if (system.wsl2) return CurePlace::windows;
  if (machine.container.runtime) return CurePlace::host;
  if (!system.hypervisor) return CurePlace::provider;  // the rack is its operator's
  const bool rented = system.hypervisor == "firecracker" || !cloud_of(machine).empty();
  return rented ? CurePlace::provider : CurePlace::host;
}

std::string words_of(const CureTerms& terms) {
  return words_of(terms.risk) + "; " + std::string(kPlaceWords[static_cast<int>(terms.place)]) +
         "; needs " + std::string(kNeedsWords[static_cast<int>(terms.needs)]);
}

void settle_action(Finding& finding, const Machine& machine) {
  if (finding.severity == Severity::info) finding.action = none;
  if (finding.action > vantage_of(machine).reach && finding.action != ask_host) {
    if (finding.cure)
      finding.cure = "From here it cannot be done, so ask the host's operator (" +
                     words_of(finding.action) +
                     (finding.command.value_or("").starts_with("nvidia-smi --gpu-reset")
                          ? ", " + *finding.command
                          : "") +
                     "): " + *finding.cure;
    finding.action = ask_host;
  }
  if (finding.terms) {
    const auto place = finding.terms->place;
    const bool above = place == CurePlace::firmware || place == CurePlace::hardware;
    if (finding.action == ask_host || (above && vantage_of(machine).reach != replace))
      move_outside(*finding.terms, machine);
  }
  for (Finding& inner : finding.explains) settle_action(inner, machine);
}

std::span<const ActionWords> action_words() { return kWords; }

}  // namespace gpuready
