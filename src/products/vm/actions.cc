#include "vm/actions.h"

#include <fmt/format.h>

#include "base/text.h"
#include "machine/pci/pci_addresses.h"

namespace gpuready::vm {
namespace {

std::vector<std::string> systemctl(bool stop, const std::string& unit) {
  return {"systemctl", stop ? "stop" : "start", unit};
}

bool is_number(std::string_view text) { return parse_uint(text).has_value(); }

}  // namespace

PlanStep write_step(const PciFunction& function, const std::string& attribute, std::string value,
                    std::string was, std::string what, std::string why) {
  const std::string path = folder_of(function.address) + "/" + attribute;
  PlanStep step{.what = std::move(what), .why = std::move(why), .risk = {}, .act = {}};
  step.act = {.kind = ActionKind::write,
              .device = function.address,
              .path = path,
              .value = std::move(value)};
  step.undo = step.act;
  step.undo->value = std::move(was);
  return step;
}

PlanStep unbind_step(const PciAddress& device, const std::string& driver) {
  return {.what = fmt::format("Unbind {} from {}", device.text(), printable(driver)),
          .why = "A device has one driver at a time.",
          .risk =
              "A driver that still has users may not return; after the time limit the device stays "
              "with it, and everything else is rolled back.",
          .act = {.kind = ActionKind::unbind, .device = device, .driver = driver},
          .undo = PlanAction{.kind = ActionKind::bind, .device = device, .driver = driver}};
}

PlanStep override_step(const PciFunction& function, const std::string& driver) {
  return write_step(function, "driver_override", driver, function.driver_override.value_or(""),
                    fmt::format("Reserve {1} for {0}", driver, function.address.text()),
                    "Otherwise the driver that knows its ids takes it back.");
}

PlanStep bind_step(const PciAddress& device, const std::string& driver) {
  return {.what = fmt::format("Bind {} to {}", device.text(), printable(driver)),
          .why = "Through this driver a virtual machine gets the device.",
          .risk = "The driver may refuse it.",
          .act = {.kind = ActionKind::bind, .device = device, .driver = driver},
          .undo = PlanAction{.kind = ActionKind::unbind, .device = device, .driver = driver}};
}

PlanStep reset_step(const PciAddress& device, const std::string& methods) {
  return {.what = fmt::format("Reset {} ({})", device.text(), printable(methods)),
          .why = "The next owner finds nothing of the last one's state.",
          .risk = "A device that does not come back from a reset needs a restart of the machine.",
          .act = {.kind = ActionKind::reset, .device = device, .value = methods}};
}

std::vector<PlanStep> release_steps(const PciAddress& device) {
  const auto step = [&](std::string what, PlanAction act) {
    act.device = device;
    return PlanStep{.what = std::move(what),
                    .why = "It was held at boot until it was decided who gets it.",
                    .risk = {},
                    .act = std::move(act)};
  };
  return {step("Release " + device.text(),
               {.kind = ActionKind::write, .path = folder_of(device) + "/driver_override"}),
          step(fmt::format("Bind {} to its driver", device.text()), {.kind = ActionKind::bind})};
}

PlanStep hot_reset_step(const Device& device, const std::string& driver,
                        const Inventory& inventory) {
  auto step = reset_step(device.function.address, std::string(kHotReset));
  step.act.devices = on_the_bus_of(device.function.address, inventory);
  step.act.driver = driver;
  step.what = fmt::format("Reset {} together, through VFIO", joined(step.act.devices));
  return step;
}

bool is_hot_reset(const PlanAction& action) {
  return action.kind == ActionKind::reset && action.value == kHotReset;
}

PlanStep no_reset_step(const PciAddress& device) {
  return {.what = fmt::format("Keep {} until a restart: it has no reset", device.text()),
          .why = "The next owner finds nothing of the last one's state.",
          .risk = {},
          .act = {.kind = ActionKind::reset, .device = device}};
}

bool is_no_reset(const PlanAction& action) {
  return action.kind == ActionKind::reset && action.value.empty();
}

PlanStep clean_step(const PciAddress& device) {
  return {.what = "Overwrite and test the memory of " + device.text(),
          .why = "The next user must not find what the guest left there.",
          .risk = "A test that fails or cannot be run keeps it in quarantine.",
          .act = {.kind = ActionKind::clean, .device = device}};
}

PlanStep clean_in_guest_step(const PciAddress& device, std::vector<PciAddress> held,
                             const std::string& driver, const std::string& bundle) {
  auto step = clean_step(device);
  step.act.devices = std::move(held);
  step.act.driver = driver;
  step.act.path = bundle;
  step.what = "Overwrite and test the memory of " + device.text() + " in a guest";
  step.why = "No driver of this host may touch what the guest left there.";
  step.risk = fmt::format("A test that fails or cannot be run keeps {} in quarantine, bound to {}.",
                          joined(step.act.devices), printable(driver));
  return step;
}

bool is_clean_in_guest(const PlanAction& action) {
  return action.kind == ActionKind::clean && !action.path.empty();
}

PlanStep vgpu_step(const PciFunction& function) {
  const auto type = function.vgpu_type.value_or("0");
  std::string name;
  for (const auto& known : function.vgpu_types)
    if (known.id == type && known.name) name = fmt::format(" ({})", *known.name);
  return {.what = fmt::format("See that {} is a vGPU of type {}{}", function.address.text(), type,
                              name),
          .why = "The driver that made it hands it to virtual machines.",
          .risk = {},
          .act = {.kind = ActionKind::write,
                  .device = function.address,
                  .path = vgpu_attribute(function.address),
                  .value = type}};
}

PlanStep vbios_step(const PciAddress& device) {
  return {.what = "Note the VBIOS of " + device.text(),
          .why = "A guest must not change it; it is compared when the device comes back.",
          .risk = {},
          .act = {.kind = ActionKind::rom, .device = device}};
}

PlanStep service_step(bool stop, const std::string& unit) {
  return {.what = fmt::format("{} {}", stop ? "Stop" : "Start", unit),
          .why = stop ? "It holds the GPUs open." : "The GPUs that stay here need it.",
          .risk = stop ? "While it is stopped, other GPUs are without it." : "",
          .act = {.kind = ActionKind::run, .command = systemctl(stop, unit)},
          .undo = PlanAction{.kind = ActionKind::run, .command = systemctl(!stop, unit)}};
}

std::string describe(const PlanAction& action) {
  const std::string device = action.device ? action.device->text() : "";
  switch (action.kind) {
    case ActionKind::write:
      return action.value.empty()
                 ? fmt::format("clear {}", printable(action.path))
                 : fmt::format("write {} into {}",
                               is_number(action.value) ? action.value : printable(action.value),
                               printable(action.path));
    case ActionKind::bind:
      return fmt::format("bind {} to {}", device,
                         action.driver.empty() ? "its driver" : printable(action.driver));
    case ActionKind::unbind:
      return fmt::format("unbind {} from {}", device, printable(action.driver));
    case ActionKind::reset:
      return action.value.empty() ? fmt::format("keep {} until a restart", device)
                                  : fmt::format("reset {} ({})", device, printable(action.value));
    case ActionKind::run:
      return "run " + printable(join(action.command, " "));
    case ActionKind::idle:
      return "prove that no process uses the devices";
    case ActionKind::rom:
      return fmt::format("read the VBIOS of {}", device);
    case ActionKind::renew:
      return fmt::format("recreate {}", printable(action.value));
    case ActionKind::clean:
      return fmt::format("overwrite and test the memory of {}{}", device,
                         is_clean_in_guest(action) ? " in a guest" : "");
  }
  return {};
}

}  // namespace gpuready::vm
