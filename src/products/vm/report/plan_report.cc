#include "vm/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/pci/pci_addresses.h"
#include "report/terminal/terminal_text.h"
#include "vm/actions.h"

namespace gpuready {
namespace {

using vm::Done;
using vm::Plan;

// "0000:17:00.0 0000:17:00.1", and UUIDs of mediated devices.
std::string all_of(const Plan& plan) {
  auto text = joined(plan.devices);
  for (const auto& uuid : plan.instances) text += (text.empty() ? "" : " ") + uuid;
  return text;
}

// A plan without a name is for any virtual machine.
std::string whom(const Plan& plan) { return plan.name.empty() ? "a virtual machine" : plan.name; }

// `concluded`: what is said of the plan below it.
void show_plan(const Plan& plan, TerminalText& out, std::string_view concluded = "") {
  for (const auto& warning : plan.warnings) out.paragraph(0, {"warning: ", Ink::warn}, warning);
  for (const auto& refusal : plan.refusals)
    if (!concluded.ends_with(refusal)) out.paragraph(0, {"refused: ", Ink::bad}, refusal);
  if (!plan.refusals.empty() || plan.steps.empty()) return;
  out.heading(fmt::format("{} {} for {}", plan.operation == "attach" ? "Attach" : "Give back",
                          all_of(plan), whom(plan)));
  std::size_t number = 0;
  for (const auto& step : plan.steps) {
    out.paragraph(0, {fmt::format("{:>3}. ", ++number), Ink::dim}, step.what, Ink::bold);
    if (!step.why.empty()) out.paragraph(5, {"why:  ", Ink::dim}, step.why);
    if (!step.risk.empty()) out.paragraph(5, {"risk: ", Ink::dim}, step.risk);
    if (step.undo) out.paragraph(5, {"undo: ", Ink::dim}, vm::describe(*step.undo));
  }
}

void show_outcome(const Done& done, TerminalText& out) {
  const auto& outcome = done.outcome;
  for (const auto& what : outcome.done) out.paragraph(0, {"done:   ", Ink::good}, what);
  for (const auto& what : outcome.notes) out.paragraph(0, {"note:   ", Ink::warn}, what);
  if (outcome.error)
    out.paragraph(0, {"failed: ", Ink::bad}, outcome.failed + ": " + outcome.error->message);
  for (const auto& what : outcome.undone) out.paragraph(0, {"undone: "}, what);
  for (const auto& what : outcome.left) out.paragraph(0, {"left:   ", Ink::bad}, what);
  for (const auto& [device, why] : outcome.unclean)
    out.paragraph(0, {"quarantine: ", Ink::warn}, device.text() + ": " + why);
}

std::string about(const Done& done, bool planned_only) {
  const auto& plan = done.plan;
  const auto& outcome = done.outcome;
  const bool attach = plan.operation == "attach";
  if (!plan.refusals.empty()) return "Nothing was done: " + plan.refusals.front();
  if (planned_only)
    return fmt::format("{} would {} {} for {}.", counted(plan.steps.size(), "step"),
                       attach ? "attach" : "give back", all_of(plan), whom(plan));
  if (plan.operation == "hold")
    return outcome.error ? fmt::format("{}: {}", outcome.failed, outcome.error->message)
                         : fmt::format("{} {} for gpuready vm recover.",
                                       counted(outcome.done.size(), "device"),
                                       outcome.done.size() == 1 ? "waits" : "wait");
  if (!outcome.left.empty())
    return fmt::format("{} did not end: gpuready vm recover goes on with it.", plan.operation);
  if (outcome.error)
    return fmt::format("{} failed and was taken back: {}", plan.operation, outcome.error->message);
  if (!outcome.unclean.empty())
    return fmt::format("{} is in quarantine: {}", outcome.unclean.begin()->first.text(),
                       outcome.unclean.begin()->second);
  return fmt::format("{} {} {}.", all_of(plan), attach ? "is attached for" : "is back from",
                     whom(plan));
}

}  // namespace

std::string render_plan(const Plan& plan, const TerminalStyle& style) {
  TerminalText out(style);
  show_plan(plan, out);
  return out.take();
}

std::string render_terminal(const VmOperation& operation, const TerminalStyle& style) {
  TerminalText out(style);
  const std::string concluded = conclusion(operation);
  for (const auto& done : operation.done) {
    if (operation.planned_only || !done.plan.refusals.empty()) show_plan(done.plan, out, concluded);
    if (!operation.planned_only && !style.quiet) show_outcome(done, out);
  }
  out.blank();
  out.paragraph(0, {""}, concluded);
  return out.take();
}

std::string conclusion(const VmOperation& operation) {
  if (operation.done.empty()) return "Nothing was to be done: all is whole.";
  // The first that did not succeed speaks for all.
  for (const auto& done : operation.done)
    if (!done.ok() || !done.outcome.unclean.empty()) return about(done, operation.planned_only);
  return about(operation.done.front(), operation.planned_only);
}

VmTally tally(const VmOperation& operation) {
  VmTally tally;
  for (const auto& done : operation.done) {
    tally.absent |= !done.plan.absent.empty();
    tally.refused |= !done.plan.refusals.empty();
    const auto& error = done.outcome.error;
    tally.failed |= error && error->kind != ErrorKind::cancelled;
    tally.unfinished |= !done.outcome.whole();
    tally.unclean |= !done.outcome.unclean.empty();
  }
  return tally;
}

VmStatus status_of(std::vector<vm::Claim> claims, const std::optional<std::string>& name) {
  std::erase_if(claims, [&](const vm::Claim& claim) {
    return state_of(claim) == vm::ClaimState::gone ||
           (name && !claim.operations.empty() && claim.attached().name != *name);
  });
  return {std::move(claims)};
}

std::string render_terminal(const VmStatus& status, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet && !status.claims.empty()) {
    Table table;
    table.columns = {{"For", Align::left, true}, {"State"}, {"Devices"}};
    for (const auto& claim : status.claims)
      table.rows.push_back({{claim.operations.empty() ? "?" : claim.attached().name},
                            {std::string(name_of(state_of(claim)))},
                            {claim.operations.empty() ? claim.problem : all_of(claim.attached())}});
    out.table(0, table);
    for (const auto& claim : status.claims) {
      for (const auto& [device, why] : claim.quarantine())
        out.paragraph(0, {"quarantine: ", Ink::warn}, device.text() + ": " + why);
      for (const auto& device : claim.gone)
        out.paragraph(0, {"gone: ", Ink::warn},
                      fmt::format("{} ({}), which was attached to {}, is missing from this machine",
                                  device.uuid.value_or(device.address.text()), device.ids,
                                  claim.attached().name));
    }
    out.blank();
  }
  out.paragraph(0, {""}, conclusion(status));
  return out.take();
}

std::string conclusion(const VmStatus& status) {
  for (const auto& claim : status.claims)
    if (state_of(claim) == vm::ClaimState::unreadable)
      return "A journal cannot be read: " + claim.problem + ".";
  const auto unfinished = tally(status);
  if (unfinished.unfinished)
    return "An operation did not end: gpuready vm recover goes on with it.";
  if (unfinished.unclean) return "Devices are in quarantine: gpuready vm recover tests them again.";
  return status.claims.empty()
             ? "Nothing is attached."
             : fmt::format("{} attached.", counted(status.claims.size(), "claim"));
}

VmTally tally(const VmStatus& status) {
  VmTally tally;
  for (const auto& claim : status.claims) {
    const auto state = state_of(claim);
    tally.unclean |= state == vm::ClaimState::quarantined;
    tally.unfinished |= state != vm::ClaimState::attached && state != vm::ClaimState::quarantined;
  }
  return tally;
}

}  // namespace gpuready
