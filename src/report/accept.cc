#include "report/accept.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/closest.h"
#include "base/text.h"
#include "doctor/diagnose.h"
#include "health/plan/survey.h"
#include "health/siblings.h"
#include "machine/gpu_choice.h"
#include "machine/gpu_use.h"
#include "value/names.h"

namespace gpuready {
namespace {

// The part of the finding that the rule names; nothing when there is none.
std::optional<Finding> part_of(const AcceptRule& rule, const Machine& machine, Finding& finding) {
  if (finding.id != rule.id) return std::nullopt;
  Finding part = finding;
  if (rule.devices.empty()) {
    finding.gpus.clear();
    finding.pci.clear();
    return part;
  }
  const auto is_named = [&](int index) {
    const auto gpu = std::ranges::find(machine.gpus, index, &Gpu::index);
    return gpu != machine.gpus.end() && names_this_gpu(rule.devices, *gpu);
  };
  const auto is_there = [&](const PciAddress& address) {
    const Gpu* gpu = machine.find_gpu(address);
    return std::ranges::find(rule.devices, address.text()) != rule.devices.end() ||
           (gpu && names_this_gpu(rule.devices, *gpu));
  };
  std::erase_if(part.gpus, [&](int index) { return !is_named(index); });
  std::erase_if(part.pci, [&](const PciAddress& address) { return !is_there(address); });
  if (part.gpus.empty() && part.pci.empty()) return std::nullopt;
  std::erase_if(finding.gpus, is_named);
  std::erase_if(finding.pci, is_there);
  return part;
}

// What no finding is called can never be accepted: a slip of the pen would go unnoticed.
Result<void> check_id(const std::string& id) {
  const auto known = acceptable_names();
  const auto xid = after_prefix(id, "xid-");
  if ((xid && parse_uint(*xid)) || std::ranges::find(known, id) != known.end()) return {};
  return fail(ErrorKind::bad_input, fmt::format("--accept: there is no finding or obligation {}{}",
                                                id, did_you_mean(id, known)));
}

}  // namespace

std::vector<std::string> acceptable_names() {
  auto names = finding_ids();
  names.emplace_back(kDiffersFromSiblings);
  names.emplace_back(kSlowerThanSiblings);
  for (const auto& entry : kNames<ObligationKind>) names.emplace_back(entry.name);
  return names;
}

Result<std::vector<AcceptRule>> parse_accept_rules(const std::vector<std::string>& texts) {
  std::vector<AcceptRule> rules;
  for (const std::string& text : texts) {
    const auto at = text.find('@');
    AcceptRule rule{text, text.substr(0, at), {}};
    if (at != text.npos) rule.devices = {text.substr(at + 1)};
    const bool named =
        !rule.id.empty() &&
        rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
    if (!named || rule.text.ends_with('@'))
      return fail(ErrorKind::bad_input,
                  fmt::format("--accept {}: give the name of a finding or an obligation, or "
                              "NAME@DEVICE; DEVICE: {}",
                              printable(text), kGpuWords));
    TRY(check_id(rule.id));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<AcceptRule> on_machine(AcceptRule rule, const Machine& machine) {
  std::vector<std::string> devices;
  for (const std::string& word : rule.devices) {
    // A device that no driver shows may still have findings.
    const auto address = parse_pci_address(word);
    if (address && !machine.find_gpu(*address)) {
      devices.push_back(address->text());
      continue;
    }
    for (const Gpu* gpu : TRY(gpus_named(machine, "accepting " + rule.id + " of", word)))
      devices.push_back(unique_name(*gpu));
  }
  rule.devices = std::move(devices);
  return rule;
}

std::vector<Accepted> accepted_obligations(const std::vector<AcceptRule>& rules) {
  std::vector<Accepted> out;
  for (const AcceptRule& rule : rules)
    if (const auto kind = named<ObligationKind>(rule.id)) out.push_back({*kind, rule.devices});
  return out;
}

void accept_findings(const std::vector<AcceptRule>& rules, Report& report) {
  if (!report.findings) return;
  for (const AcceptRule& rule : rules)
    std::erase_if(*report.findings, [&](Finding& finding) {
      auto part = part_of(rule, report.machine, finding);
      if (!part) return false;
      report.accepted.push_back(std::move(*part));
      return finding.gpus.empty() && finding.pci.empty();
    });
}

void note_accepted(const std::vector<AcceptRule>& rules, Report& report) {
  for (const AcceptRule& rule : rules) {
    if (named<ObligationKind>(rule.id)) continue;
    std::vector<std::string> titles;
    for (const Finding& finding : report.accepted) {
      Finding probe = finding;
      if (part_of(rule, report.machine, probe)) titles.push_back(finding.title);
    }
    if (titles.empty() && !rule.because.empty()) continue;
    report.notes.push_back(
        titles.empty() ? fmt::format("--accept {}: there is no such finding here.", rule.text)
                       : fmt::format("Accepted, as asked by {}: {}.",
                                     rule.because.empty() ? "--accept " + rule.text : rule.because,
                                     join(titles, "; ")));
  }
}

bool is_set_aside(const Report& report, const Gpu& gpu) {
  return access_to(report.machine, gpu).use == GpuUse::unusable &&
         std::ranges::any_of(report.accepted,
                             [&](const Finding& finding) { return blames(finding, gpu); });
}

}  // namespace gpuready
