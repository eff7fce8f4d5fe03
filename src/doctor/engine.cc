// What every kind of diagnosis does with its causes: the text of a finding, the weight of the
// kernel log, what follows from what, and the action.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text.h"
#include "doctor/cause.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "doctor/log_times.h"
#include "doctor/platforms.h"
#include "machine/pci/pci_addresses.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/kernel_log.h"
#include "value/action.h"

namespace gpuready::doctor {
namespace {

constexpr std::size_t kEvidenceMax = 8;

template <class T>
bool includes(const std::vector<T>& outer, const std::vector<T>& inner) {
  return std::all_of(inner.begin(), inner.end(), [&](const T& item) {
    return std::find(outer.begin(), outer.end(), item) != outer.end();
  });
}

// What a cause follows from must concern the same GPUs, or all. A machine-wide consequence ("CUDA
// does not start") may follow from one GPU's trouble.
bool covers(const Finding& root, const Finding& symptom) {
  if (includes(root.gpus, symptom.gpus) && includes(root.pci, symptom.pci)) return true;
  return includes(symptom.gpus, root.gpus) && includes(symptom.pci, root.pci);
}

std::optional<std::string> nonempty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(std::string(text));
}

// The vendors whose drivers wrote the lines that are quoted.
std::set<Vendor> writers_of(const Match& match) {
  std::set<Vendor> vendors;
  for (const auto& item : match.evidence)
    if (const auto message = parse_message(item.quote))
      if (const auto vendor = vendor_of_writer(message->writer)) vendors.insert(*vendor);
  return vendors;
}

bool is_backed(const Machine& machine, Backing backing, const Match& match) {
  const auto on_bus = [&](const PciAddress& address) {
    return std::ranges::any_of(
        machine.pci, [&](const PciDevice& device) { return same_slot(device.address, address); });
  };
  const auto runs = [&](const PciAddress& address) { return runs_now(machine, address); };
  // A driver says nothing of a machine that has neither it nor a GPU for it.
  const auto writers = writers_of(match);
  if (backing == Backing::looked) return true;
  if (!std::ranges::all_of(writers, [&](Vendor vendor) {
        return module_loaded(machine, vendor) || any_gpu(machine, vendor);
      }))
    return false;
  switch (backing) {
    case Backing::driven:
      return std::ranges::any_of(kDrivenVendors, [&](Vendor vendor) {
        if (!writers.empty() && !writers.contains(vendor)) return false;
        const auto of_vendor = [&](const PciAddress& address) {
          const auto* device = pci_device(machine, address);
          return device == nullptr || vendor_of(*device) == vendor;
        };
        const auto by_another = [&](const PciAddress& address) {  // radeon, gim
          const auto* device = pci_device(machine, address);
          return device && device->driver && unbound(*device) &&
                 vendor_of_writer(*device->driver) == vendor;
        };
        const bool bound = !match.pci.empty() && std::ranges::all_of(match.pci, by_another);
        const bool tegra = vendor == Vendor::nvidia && machine.system.jetson_release;  // nvgpu
        return (bound || tegra || module_loaded(machine, vendor)) &&
               std::ranges::all_of(match.pci, of_vendor);
      });
    case Backing::on_bus:
      return std::ranges::any_of(match.pci, on_bus);
    case Backing::silent:
      return match.pci.empty() || !std::ranges::all_of(match.pci, runs);
    case Backing::absent:
      return std::ranges::none_of(match.pci, on_bus);
    case Backing::looked:
      break;
  }
  return false;
}

void weigh_log(const Cause& cause, const Machine& machine, Match& match) {
  const bool log_only = std::ranges::all_of(
      match.evidence, [](const Evidence& item) { return item.source.starts_with("kernel log"); });
  const auto severity = match.severity.value_or(cause.severity);
  if (!log_only || severity != Severity::error || is_backed(machine, cause.backing, match)) return;
  match.severity = Severity::warning;
  match.standing = Standing::past;
  match.explanation = match.explanation.value_or(std::string(cause.explanation)) +
                      " Only the kernel log says so, and nothing else agrees with it now.";
}

bool lists(const Cause& cause, std::string_view id) {
  return std::ranges::any_of(cause.explains, [&](std::string_view known) {
    return known == id || (known == "xid-*" && id.starts_with("xid-"));
  });
}

// GPUs that were set aside on purpose explain no failure of the others.
bool chosen_for_all(const std::vector<ReportedCause>& told, const ReportedCause& root,
                    const Finding& folded) {
  return std::ranges::all_of(folded.gpus, [&](int gpu) {
    return std::ranges::any_of(told, [&](const ReportedCause& each) {
      const auto& gpus = each.finding.gpus;
      return each.cause == root.cause && std::ranges::find(gpus, gpu) != gpus.end();
    });
  });
}

void find_roots(std::vector<ReportedCause>& told, const Explains& explains) {
  for (std::size_t i = 0; i < told.size(); ++i) {
    told[i].root = i;
    for (std::size_t k = 0; k < told.size(); ++k) {
      if (k == i || !explains(told[k], told[i])) continue;
      const bool worse = told[i].finding.severity > told[k].finding.severity;
      if (told[k].standing == Standing::past && worse) continue;
      if (told[k].standing == Standing::chosen && worse &&
          !chosen_for_all(told, told[k], told[i].finding))
        continue;
      told[i].root = k;
      break;
    }
  }
  // Up the chain; the table has no cycles (a test holds it to that), and the bound is a safeguard.
  for (std::size_t i = 0; i < told.size(); ++i)
    for (std::size_t step = 0; step < told.size() && told[told[i].root].root != told[i].root;
         ++step)
      told[i].root = told[told[i].root].root;
}

bool is_step(Action action) {
  return action != Action::none && action != Action::configure && action != Action::reload_driver;
}

// A consequence that is worse than its cause, or needs a stronger cure, changes the cause: no one
// reads on below a warning that wants a look.
void raise(ReportedCause& root, ReportedCause& folded) {
  if (folded.finding.id == kExpectedGpuCount) return;  // what was asked for, and no fault
  auto& severity = folded.finding.severity;
  if (root.standing == Standing::chosen) severity = std::min(severity, root.finding.severity);
  root.finding.severity = std::max(root.finding.severity, severity);
  if (root.own_cure || folded.own_cure || folded.standing != Standing::present) return;
  if (folded.finding.action <= root.finding.action) return;
  root.finding.action = folded.finding.action;
  root.finding.cure = folded.finding.cure;
  root.finding.command = folded.finding.command;
  root.finding.terms = folded.finding.terms;
}

template <class T>
void add_new(std::vector<T>& into, std::vector<T> from) {
  for (auto& item : from)
    if (std::find(into.begin(), into.end(), item) == into.end()) into.push_back(std::move(item));
}

bool same_text(const Finding& a, const Finding& b) {
  return std::tie(a.id, a.severity, a.title, a.explanation, a.cure, a.action) ==
         std::tie(b.id, b.severity, b.title, b.explanation, b.cure, b.action);
}

// The same cause at several GPUs is reported once.
void merge(Finding& into, Finding from) {
  const bool same_gpus = into.gpus == from.gpus && into.pci == from.pci;
  add_new(into.gpus, std::move(from.gpus));
  add_new(into.pci, std::move(from.pci));
  std::sort(into.gpus.begin(), into.gpus.end());
  std::sort(into.pci.begin(), into.pci.end());
  for (auto& item : from.evidence)
    if (into.evidence.size() < kEvidenceMax) into.evidence.push_back(std::move(item));
  // A command that names one GPU cures that GPU alone: give one for each.
  if (!same_gpus && into.command && from.command && !contains(*into.command, *from.command))
    into.command = *into.command + " && " + *from.command;
  for (auto& inner : from.explains) {
    const auto same = std::find_if(into.explains.begin(), into.explains.end(),
                                   [&](const Finding& known) { return same_text(known, inner); });
    if (same == into.explains.end())
      into.explains.push_back(std::move(inner));
    else
      merge(*same, std::move(inner));
  }
}

void merge_or_add(std::vector<Finding>& findings, Finding finding, bool apart) {
  const auto same = std::ranges::find_if(
      findings, [&](const Finding& known) { return !apart && same_text(known, finding); });
  if (same == findings.end())
    findings.push_back(std::move(finding));
  else
    merge(*same, std::move(finding));
}

}  // namespace

CureTerms terms_of(const Cause& cause) { return cause.terms.value_or(usual_terms(cause.action)); }

ReportedCause tell(const Cause& cause, Match match, const Machine& machine) {
  weigh_log(cause, machine, match);
  if (in_container(machine) && !cause.in_container.cure.empty()) {
    match.cure = std::string(cause.in_container.cure);
    match.command = "";
    match.action = cause.in_container.action;
    match.terms = kAtLaunch;
  }
  ReportedCause told{.cause = &cause, .finding = {}, .standing = match.standing};
  Finding& finding = told.finding;
  finding.id = match.id.value_or(std::string(cause.id));
  finding.severity = match.severity.value_or(cause.severity);
  finding.title = match.title.value_or(std::string(cause.title));
  finding.explanation = match.explanation.value_or(std::string(cause.explanation));
  finding.gpus = match.gpus;
  finding.pci = match.pci;
  finding.evidence = match.evidence;
  finding.cure = match.cure ? nonempty(*match.cure) : nonempty(cause.cure);
  finding.action = match.action.value_or(cause.action);
  told.own_cure = cause.own_cure || match.own_cure || !is_step(finding.action);
  add_command(finding, match.command.value_or(std::string(cause.command)), match, machine);
  add_terms(finding,
            match.terms.value_or(finding.action == cause.action ? terms_of(cause)
                                                                : usual_terms(finding.action)));
  spare_display(finding, machine);
  spare_vgpu(finding, machine);
  return told;
}

bool by_rows(const ReportedCause& root, const ReportedCause& folded) {
  return lists(*root.cause, folded.finding.id) && covers(root.finding, folded.finding);
}

std::vector<Finding> fold(std::vector<ReportedCause> told, const Machine& machine,
                          const Explains& explains) {
  find_roots(told, explains);
  for (std::size_t i = 0; i < told.size(); ++i)
    if (auto& root = told[told[i].root]; told[i].root != i) {
      raise(root, told[i]);
      merge_or_add(root.finding.explains, told[i].finding, false);
    }
  std::vector<Finding> findings;
  for (const auto severity : {Severity::error, Severity::warning, Severity::info}) {
    std::vector<Finding> equal;
    for (std::size_t i = 0; i < told.size(); ++i)
      if (told[i].root == i && told[i].finding.severity == severity)
        merge_or_add(equal, std::move(told[i].finding), told[i].cause->apart);
    std::ranges::move(equal, std::back_inserter(findings));
  }
  for (auto& finding : findings) {
    settle_action(finding, machine);
    fit_platform(finding, machine);
    if (finding.terms) add_terms(finding, *finding.terms);  // of what the platform adds, too
    fit_place(finding, machine);
  }
  add_log_times(findings, machine);
  return findings;
}

}  // namespace gpuready::doctor
