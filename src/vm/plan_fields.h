// The fields of plans, for documents and the journal.
#pragma once

#include "value/field.h"
#include "value/names.h"
#include "vm/plan.h"

namespace gpuready {

template <>
inline constexpr auto kNames<vm::ActionKind> = std::to_array<Named<vm::ActionKind>>({
    {vm::ActionKind::write, "write"},
    {vm::ActionKind::bind, "bind"},
    {vm::ActionKind::unbind, "unbind"},
    {vm::ActionKind::reset, "reset"},
    {vm::ActionKind::run, "run"},
    {vm::ActionKind::idle, "idle"},
    {vm::ActionKind::rom, "rom"},
    {vm::ActionKind::renew, "renew"},
    {vm::ActionKind::clean, "clean"},
});

namespace vm {

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Action>) {
  using T = Action;
  visit.about("action", "One thing that is done.");
  FIELD(kind, "What kind of thing.");
  FIELD(device, "To which device.");
  FIELD(devices, "For idle: the devices that must be unused.");
  FIELD(instances, "For idle: the mediated devices that must be unused.");
  FIELD(driver, "Of bind and unbind: the driver.");
  FIELD(path, "Of write and renew: the attribute.");
  FIELD(value,
        "Of write: what it gets; empty: nothing. Of reset: the methods, the best first. Of renew: "
        "the UUID.");
  FIELD(command, "Of run: the program and its arguments.");
  FIELD(may_fail, "A failure is reported and has no other effect.");
  FIELD(but_ours, "Of idle: what the plan ends later may use them still.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<PlanStep>) {
  using T = PlanStep;
  visit.about("step", "A step of a plan.");
  FIELD(what, "What is done.", {.always = true});
  FIELD(why, "Why.");
  FIELD(risk, "What could go wrong.");
  FIELD(act, "The action.", {.always = true});
  FIELD(undo, "The action that takes it back.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Plan>) {
  using T = Plan;
  visit.about("plan", "Steps in their order.");
  FIELD(operation, "attach or detach.", {.always = true});
  FIELD(name, "What the devices are for.", {.always = true});
  FIELD(devices, "All devices that move.", {.always = true});
  FIELD(instances, "Mediated devices, by UUID.");
  FIELD(managed, "Binding is left to libvirt.");
  FIELD(steps, "The steps.", {.always = true});
  FIELD(warnings, "What should be known before.");
  FIELD(refusals, "Why it cannot be carried out.");
  FIELD(absent, "What was named and is not here.");
}

}  // namespace vm
}  // namespace gpuready
