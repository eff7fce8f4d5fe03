// The fields of plans, for documents and the journal.
#pragma once

#include "value/field.h"
#include "value/names.h"
#include "vm/plan.h"

namespace gpuready {

NAMES_OF(vm::ActionKind, "write", "bind", "unbind", "reset", "run", "idle", "rom", "renew",
         "clean");

namespace vm {

FIELDS_OF(PlanAction) {
  visit.about("action", "One thing that is done.");
  FIELD(kind, "What kind of thing.");
  FIELD(device, "To which device.");
  FIELD(
      devices,
      "For idle: the devices that must be unused. For a hot reset: those that are reset. For clean "
      "in a guest: those that stay with VFIO if the test fails.");
  FIELD(instances, "For idle: the mediated devices that must be unused.");
  FIELD(driver,
        "Of bind and unbind: the driver; of a hot reset and of clean in a guest: VFIO's; of bind, "
        "empty: the one that knows the device.");
  FIELD(path,
        "Of write and renew: the attribute. Of clean: the bundle of the guest that tests it.");
  FIELD(value,
        "Of write: what it gets; empty: nothing. Of reset: the methods, the best first. Of renew: "
        "the UUID.");
  FIELD(command, "Of run: the program and its arguments.");
  FIELD(may_fail, "A failure is reported and has no other effect.");
  FIELD(but_ours,
        "Of idle: what the plan ends later may use them still. Of unbind: proved idle first.");
}

FIELDS_OF(PlanStep) {
  visit.about("step", "A step of a plan.");
  FIELD(what, "What is done.", kAlways);
  FIELD(why, "Why.");
  FIELD(risk, "What could go wrong.");
  FIELD(act, "The action.", kAlways);
  FIELD(undo, "The action that takes it back.");
}

FIELDS_OF(DeviceIdentity) {
  visit.about("identity", "What a device is known by when addresses have moved.");
  FIELD(address, "Its PCI address when this was written.", kAlways);
  FIELD(ids, "Vendor, device, subsystem vendor and subsystem device, in hexadecimal.", kAlways);
  FIELD(uuid, "UUID of the GPU.");
  FIELD(serial, "PCI Express serial number.");
  FIELD(slot, "Path from the host bridge by device and function numbers.");
  FIELD(has_memory, "Whether it has memory that the next user must not see.");
}

FIELDS_OF(Plan) {
  visit.about("plan", "Steps in their order.");
  FIELD(operation, "attach, detach or hold.", kAlways);
  FIELD(name, "What the devices are for.", kAlways);
  FIELD(devices, "All devices that move.", kAlways);
  FIELD(instances, "Mediated devices, by UUID.");
  FIELD(managed, "Binding is left to libvirt.");
  FIELD(steps, "The steps.", kAlways);
  FIELD(warnings, "What should be known before.");
  FIELD(refusals, "Why it cannot be carried out.");
  FIELD(absent, "What was named and is not here.");
  FIELD(identities, "What the devices are known by.");
}

}  // namespace vm
}  // namespace gpuready
