// Runs the cause table over a machine, then folds what follows from a cause under it.
#include "doctor/diagnose.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "doctor/cause.h"
#include "doctor/commands.h"
#include "doctor/compare.h"
#include "doctor/facts.h"
#include "machine/kernel_drivers.h"
#include "machine/kernel_log.h"
#include "machine/pci_addresses.h"

namespace gpuready {
namespace {
using doctor::Backing;
using doctor::Cause;
using doctor::Match;
using doctor::Remedy;
using doctor::Standing;

constexpr std::size_t kEvidenceMax = 8;

struct Told {
  const Cause* cause = nullptr;
  Finding finding;
  Remedy remedy = Remedy::mend;
  Standing standing = Standing::present;
  std::size_t root = 0;  // index of what explains it; its own when nothing does
};

template <class T>
bool includes(const std::vector<T>& outer, const std::vector<T>& inner) {
  return std::all_of(inner.begin(), inner.end(), [&](const T& item) {
    return std::find(outer.begin(), outer.end(), item) != outer.end();
  });
}

bool machine_wide(const Finding& finding) { return finding.gpus.empty() && finding.pci.empty(); }

// What a cause follows from must concern the same GPUs, or all. A machine-wide consequence ("CUDA
// does not start") may follow from one GPU's trouble.
bool covers(const Finding& root, const Finding& symptom) {
  if (machine_wide(root) || machine_wide(symptom)) return true;
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
  const auto runs = [&](const PciAddress& address) { return doctor::runs_now(machine, address); };
  // A driver says nothing of a machine that has neither it nor a GPU for it.
  const auto writers = writers_of(match);
  if (!std::ranges::all_of(writers, [&](Vendor vendor) {
        return module_loaded(machine, vendor) || doctor::any_gpu(machine, vendor);
      }))
    return false;
  switch (backing) {
    case Backing::driven:
      return std::ranges::any_of(doctor::kDrivenVendors, [&](Vendor vendor) {
        if (!writers.empty() && !writers.contains(vendor)) return false;
        const auto of_vendor = [&](const PciAddress& address) {
          const auto* device = doctor::pci_device(machine, address);
          return device == nullptr || vendor_of(*device) == vendor;
        };
        return module_loaded(machine, vendor) && std::ranges::all_of(match.pci, of_vendor);
      });
    case Backing::on_bus:
      return std::ranges::any_of(match.pci, on_bus);
    case Backing::silent:
      return match.pci.empty() || !std::ranges::all_of(match.pci, runs);
    case Backing::absent:
      return std::ranges::none_of(match.pci, on_bus);
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

Told told_of(const Cause& cause, Match match, const Machine& machine) {
  weigh_log(cause, machine, match);
  Told told{.cause = &cause, .finding = {}};
  Finding& finding = told.finding;
  finding.id = match.id.value_or(std::string(cause.id));
  finding.severity = match.severity.value_or(cause.severity);
  finding.title = match.title.value_or(std::string(cause.title));
  finding.explanation = match.explanation.value_or(std::string(cause.explanation));
  finding.gpus = match.gpus;
  finding.pci = match.pci;
  finding.evidence = match.evidence;
  finding.cure = match.cure ? nonempty(*match.cure) : nonempty(cause.cure);
  doctor::add_command(finding, match.command ? *match.command : std::string(cause.command), match,
                      machine);
  doctor::spare_display(finding, machine);
  told.remedy = match.remedy.value_or(cause.remedy);
  told.standing = match.standing;
  return told;
}

bool lists(const Cause& cause, std::string_view id) {
  return std::ranges::any_of(cause.explains, [&](std::string_view known) {
    return known == id || (known == "xid-*" && id.starts_with("xid-"));
  });
}

// GPUs that were set aside on purpose explain no failure of the others.
bool chosen_for_all(const std::vector<Told>& told, const Told& root, const Finding& folded) {
  return std::ranges::all_of(folded.gpus, [&](int gpu) {
    return std::ranges::any_of(told, [&](const Told& each) {
      const auto& gpus = each.finding.gpus;
      return each.cause == root.cause && std::ranges::find(gpus, gpu) != gpus.end();
    });
  });
}

void find_roots(std::vector<Told>& told) {
  for (std::size_t i = 0; i < told.size(); ++i) {
    told[i].root = i;
    for (std::size_t k = 0; k < told.size(); ++k) {
      if (k == i || !lists(*told[k].cause, told[i].finding.id)) continue;
      if (!covers(told[k].finding, told[i].finding)) continue;
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

// A consequence that is worse than its cause, or needs a stronger cure, changes what the cause is
// told as: no one reads on below a warning that wants a look.
void raise(Told& root, Told& folded) {
  if (folded.finding.id == kExpectedGpuCount) return;  // what was asked for, and no fault
  auto& severity = folded.finding.severity;
  if (root.standing == Standing::chosen) severity = std::min(severity, root.finding.severity);
  root.finding.severity = std::max(root.finding.severity, severity);
  const bool on_ladder = folded.remedy >= Remedy::restart_app && root.remedy != Remedy::mend;
  if (!on_ladder || folded.remedy <= root.remedy || folded.standing != Standing::present) return;
  root.remedy = folded.remedy;
  root.finding.cure = folded.finding.cure;
  root.finding.command = folded.finding.command;
}

template <class T>
void add_new(std::vector<T>& into, std::vector<T> from) {
  for (auto& item : from)
    if (std::find(into.begin(), into.end(), item) == into.end()) into.push_back(std::move(item));
}

bool same_text(const Finding& a, const Finding& b) {
  return std::tie(a.id, a.severity, a.title, a.explanation, a.cure) ==
         std::tie(b.id, b.severity, b.title, b.explanation, b.cure);
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
  if (!same_gpus && into.command != from.command) {
    // A command that names one GPU cures that GPU alone: give one for each.
    if (into.command && from.command && !contains(*into.command, *from.command))
      into.command = *into.command + " && " + *from.command;
  }
  for (auto& inner : from.explains) {
    const auto same = std::find_if(into.explains.begin(), into.explains.end(),
                                   [&](const Finding& known) { return same_text(known, inner); });
    if (same == into.explains.end())
      into.explains.push_back(std::move(inner));
    else
      merge(*same, std::move(inner));
  }
}

std::vector<Told> run_table(const Machine& machine, const DiagnoseOptions& options) {
  std::vector<Told> told;
  std::set<int> blamed;
  const doctor::Facts facts{machine, options, blamed};
  for (const auto& cause : doctor::causes()) {
    for (auto& match : cause.match(facts)) {
      if (match.evidence.empty()) continue;  // nothing is reported without proof
      told.push_back(told_of(cause, std::move(match), machine));
    }
    for (const auto& gpu : machine.gpus)
      for (const auto& each : told)
        if (each.cause == &cause && blames(each.finding, gpu)) blamed.insert(gpu.index);
  }
  return told;
}

}  // namespace

std::vector<std::string> finding_ids() {
  std::vector<std::string> ids;
  for (const auto& cause : doctor::causes()) {
    if (cause.finding_ids.empty()) ids.emplace_back(cause.id);
    ids.insert(ids.end(), cause.finding_ids.begin(), cause.finding_ids.end());
  }
  for (const auto& row : doctor::change_rows()) ids.emplace_back(row.id);
  return ids;
}

bool blames(const Finding& finding, const Gpu& gpu) {
  if (finding.id == kExpectedGpuCount) return false;
  const auto in = [](const auto& list, const auto& item) {
    return std::ranges::find(list, item) != list.end();
  };
  const bool about_it = in(finding.gpus, gpu.index) || (gpu.pci && in(finding.pci, *gpu.pci));
  if (about_it && finding.severity == Severity::error) return true;
  return std::ranges::any_of(finding.explains,
                             [&](const Finding& inner) { return blames(inner, gpu); });
}

std::vector<Finding> diagnose(const Machine& machine, const DiagnoseOptions& options) {
  auto told = run_table(machine, options);
  find_roots(told);
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i].root != i) {
      raise(told[told[i].root], told[i]);
      auto& folded = told[told[i].root].finding.explains;
      const auto same = std::find_if(folded.begin(), folded.end(), [&](const Finding& known) {
        return same_text(known, told[i].finding);
      });
      if (same == folded.end())
        folded.push_back(told[i].finding);
      else
        merge(*same, told[i].finding);
    }

  std::vector<Finding> roots;  // in the order of the table
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (told[i].root != i) continue;
    const auto same = std::find_if(roots.begin(), roots.end(), [&](const Finding& known) {
      return same_text(known, told[i].finding);
    });
    if (same == roots.end())
      roots.push_back(std::move(told[i].finding));
    else
      merge(*same, std::move(told[i].finding));
  }
  doctor::sort_by_severity(roots);
  return roots;
}

}  // namespace gpuready
