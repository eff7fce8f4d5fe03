#include "vm/known_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "vm/actions.h"
#include "vm/host_facts.h"
#include "vm/pci_function.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kMostNameBytes = 64;

// Of a driver, or of a folder that a driver makes: one component of a path.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes && !text.starts_with('.') &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '/'; });
}

bool is_count(std::string_view text) { return parse_uint(text).has_value(); }
bool is_flag(std::string_view text) { return text == "0" || text == "1"; }

// "node0" of the prefix "node".
bool is_numbered(std::string_view text, std::string_view before, std::string_view behind = "") {
  return text.size() > before.size() + behind.size() && text.starts_with(before) &&
         text.ends_with(behind) &&
         is_count(text.substr(before.size(), text.size() - before.size() - behind.size()));
}

bool is_known_write(const PlanAction& action) {
  const auto& value = action.value;
  if (!action.device) {
    const auto parts = split(action.path, "/");
    return parts.size() == 8 && action.path.starts_with("/sys/devices/system/node/") &&
           is_numbered(parts[4], "node") && parts[5] == "hugepages" &&
           is_numbered(parts[6], "hugepages-", "kB") && parts[7] == "nr_hugepages" &&
           is_count(value);
  }
  const auto is = [&](const char* attribute) {
    return action.path == folder_of(*action.device) + "/" + attribute;
  };
  return (is("driver_override") && (value.empty() || is_name(value))) ||
         (is("power/control") && (value == "on" || value == "auto")) ||
         (is("d3cold_allowed") && is_flag(value)) ||
         (action.path == vgpu_attribute(*action.device) && is_count(value));
}

bool is_known_command(const std::vector<std::string>& command) {
  if (command.size() == 2 && command[0] == "modprobe") return is_vfio(command[1]);
  if (command.size() == 3 && command[0] == "systemctl")
    return (command[1] == "start" || command[1] == "stop" || command[1] == "restart") &&
           std::ranges::find(holding_services(), command[2], &HoldingService::unit) !=
               holding_services().end();
  return command.size() == 5 && command[0] == "nvidia-smi" && command[1] == "-i" &&
         parse_pci_address(command[2]) && command[3] == "-pm" && is_flag(command[4]);
}

// "/sys/class/mdev_bus/PARENT/mdev_supported_types/TYPE/create"
bool is_create_attribute(const std::string& path) {
  const auto parts = split(path, "/");
  return parts.size() == 7 && path.starts_with("/sys/class/mdev_bus/") && is_name(parts[3]) &&
         parts[4] == "mdev_supported_types" && is_name(parts[5]) && parts[6] == "create";
}

// Which fields a kind of action has. No plan fills another one.
enum Field : unsigned {
  kDevice = 1,
  kDevices = 2,
  kInstances = 4,
  kDriver = 8,
  kPath = 16,
  kValue = 32,
  kCommand = 64
};
unsigned fields_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::write:
    case ActionKind::renew:
      return kDevice | kPath | kValue;
    case ActionKind::bind:
    case ActionKind::unbind:
      return kDevice | kDriver;
    case ActionKind::reset:
      return kDevice | kDevices | kDriver | kValue;
    case ActionKind::run:
      return kDevice | kCommand;
    case ActionKind::idle:
      return kDevice | kDevices | kInstances;
    case ActionKind::clean:
      return kDevice | kDevices | kDriver | kPath;
    case ActionKind::rom:
      return kDevice;
  }
  return 0;
}
unsigned fields_in(const PlanAction& action) {
  return (action.device ? kDevice : 0u) | (action.devices.empty() ? 0u : kDevices) |
         (action.instances.empty() ? 0u : kInstances) | (action.driver.empty() ? 0u : kDriver) |
         (action.path.empty() ? 0u : kPath) | (action.value.empty() ? 0u : kValue) |
         (action.command.empty() ? 0u : kCommand);
}

// What an action changes is of the plan. A proof of idleness may name others.
bool is_of(const PlanAction& action, const Plan& plan) {
  const auto has = [&](const std::optional<PciAddress>& address) {
    return !address || std::ranges::find(plan.devices, *address) != plan.devices.end();
  };
  return has(action.device) &&
         (action.kind == ActionKind::idle || std::ranges::all_of(action.devices, has)) &&
         (action.command.size() != 5 || has(parse_pci_address(action.command[2])));
}

bool is_known(const PlanAction& action) {
  const auto names_its_device = [&] {
    return std::ranges::find(action.devices, *action.device) != action.devices.end();
  };
  switch (action.kind) {
    case ActionKind::write:
      return is_known_write(action);
    case ActionKind::bind:
      return action.device && (action.driver.empty() || is_name(action.driver));
    case ActionKind::unbind:
      return action.device && is_name(action.driver);
    case ActionKind::reset:
      if (action.value == kHotReset)
        return action.device && (action.driver.empty() || is_vfio(action.driver));
      return action.device && action.devices.empty() && action.driver.empty() &&
             (action.value.empty() ||
              std::ranges::all_of(split(action.value, " "), [](auto method) {
                return std::ranges::find(reset_methods(), method) != reset_methods().end();
              }));
    case ActionKind::run:
      return is_known_command(action.command);
    case ActionKind::idle:
      return std::ranges::all_of(action.instances, is_uuid) &&
             (!action.device || names_its_device());
    case ActionKind::renew:
      return is_uuid(action.value) && is_create_attribute(action.path);
    case ActionKind::clean:
      return action.device &&
             (is_clean_in_guest(action)
                  ? is_vfio(action.driver) && action.path.starts_with('/') && names_its_device()
                  : action.devices.empty() && action.driver.empty());
    case ActionKind::rom:
      return action.device.has_value();
  }
  return false;
}

}  // namespace

Result<void> check_known_steps(const Plan& plan) {
  if ((plan.operation != "attach" && plan.operation != "detach") || !check_name(plan.name) ||
      !std::ranges::all_of(plan.instances, is_uuid))
    return fail(ErrorKind::bad_input,
                "its plan has an operation, name or device that gpuready "
                "does not give");
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& step = plan.steps[i];
    for (const PlanAction* action : {&step.act, step.undo ? &*step.undo : nullptr})
      if (action != nullptr && (!is_known(*action) || !is_of(*action, plan) ||
                                (fields_in(*action) & ~fields_of(action->kind)) != 0))
        return fail(ErrorKind::bad_input, fmt::format("step {} is not one of gpuready's steps: {}",
                                                      i, describe(*action)));
  }
  return {};
}

}  // namespace gpuready::vm
