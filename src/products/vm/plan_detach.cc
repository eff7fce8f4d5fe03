#include <fmt/format.h>

#include <algorithm>

#include "value/vendors.h"
#include "vm/actions.h"
#include "vm/host_facts.h"
#include "vm/mediated.h"
#include "vm/plan.h"

namespace gpuready::vm {
namespace {

bool is_command(const PlanAction& action, std::string_view program) {
  return action.kind == ActionKind::run && !action.command.empty() &&
         action.command.front() == program;
}

PlanStep step_of(const PlanAction& act, const PlanAction& undo, std::string why) {
  PlanStep step{.what = describe(act), .why = std::move(why), .risk = {}, .act = act, .undo = undo};
  step.what.front() =
      static_cast<char>(std::toupper(static_cast<unsigned char>(step.what.front())));
  return step;
}

// No vGPU outlives its guest: the driver that made it ends it and makes another.
void make_vgpus_anew(const Plan& attached, const Inventory& inventory, Plan& plan) {
  constexpr const char* kWhy =
      "Its driver ends it with all that the guest left, and makes another.";
  for (const auto& step : attached.steps) {
    if (step.act.kind != ActionKind::write || !step.act.device ||
        step.act.path != vgpu_attribute(*step.act.device))
      continue;
    PlanStep end{.what = "End the vGPU of " + step.act.device->text(),
                 .why = kWhy,
                 .risk = {},
                 .act = step.act,
                 .undo = step.act};
    end.act.value = "0";
    plan.steps.push_back(std::move(end));
    plan.steps.push_back(step_of(step.act, step.act, "The same kind as before."));
    plan.steps.back().undo.reset();
  }
  for (const auto& uuid : plan.instances)
    plan.steps.push_back({.what = "Recreate the mediated device " + uuid,
                          .why = kWhy,
                          .risk = {},
                          .act = {.kind = ActionKind::renew,
                                  .path = create_attribute(*inventory.find_instance(uuid)),
                                  .value = uuid}});
}

// The VFIO driver that it was bound to; vfio-pci where another program had bound it, and none where
// libvirt binds.
std::string vfio_driver_of(const Plan& attached, const PciAddress& device) {
  if (attached.managed) return {};
  for (const auto& step : attached.steps)
    if (step.act.kind == ActionKind::bind && step.act.device == device) return step.act.driver;
  return "vfio-pci";
}

using Part = std::vector<PciAddress>;

// What is handed over or reset together is tested together.
std::vector<Part> parts_of(const Plan& plan, const Inventory& inventory) {
  std::vector<Part> parts;
  for (const auto& address : plan.devices) {
    Part all{address};
    const auto add = [&](const Part& more) { all.insert(all.end(), more.begin(), more.end()); };
    if (const auto* device = inventory.find(address)) {
      add(device->around.moves_together);
      if (best_resets(device->function, inventory, plan.devices) == kHotReset)
        add(on_the_bus_of(address, inventory));
    }
    std::erase_if(parts, [&](const Part& other) {
      if (std::ranges::find_first_of(other, all) == other.end()) return false;
      add(other);
      return true;
    });
    parts.emplace_back();
    std::ranges::copy_if(plan.devices, std::back_inserter(parts.back()),
                         [&](const auto& one) { return std::ranges::find(all, one) != all.end(); });
  }
  return parts;
}

// Why a service that runs may not be restarted.
std::optional<std::string> work_that_needs(const std::string& unit, const Plan& plan,
                                           const Inventory& inventory) {
  const auto service = std::ranges::find(holding_services(), unit, &HoldingService::unit);
  if (service == holding_services().end() || !service->work_needs_it) return std::nullopt;
  for (const auto& device : inventory.devices) {
    const auto& function = device.function;
    if (function.vendor_id != pci_vendor::kNvidia || !has_memory(function) ||
        std::ranges::find(plan.devices, function.address) != plan.devices.end())
      continue;
    if (const auto* use = use_that_stays(device.around))
      return fmt::format("{} is in use: {}", function.address.text(), use->what);
  }
  return std::nullopt;
}

}  // namespace

// Groups in the order in which they are done; within each, the attached steps from the last to the
// first.
Plan plan_detach(const Plan& attached, const Inventory& inventory, const std::string& clean_with) {
  Plan plan{.operation = "detach",
            .name = attached.name,
            .devices = attached.devices,
            .instances = {},
            .managed = attached.managed,
            .steps = {},
            .warnings = {},
            .refusals = {},
            .absent = {},
            .identities = attached.identities};
  const auto undo_each = [&](auto chosen, const char* why) {
    for (auto step = attached.steps.rbegin(); step != attached.steps.rend(); ++step)
      if (step->undo && chosen(*step)) plan.steps.push_back(step_of(*step->undo, step->act, why));
  };
  const auto again_each = [&](auto chosen) {
    std::ranges::copy_if(attached.steps, std::back_inserter(plan.steps), chosen);
  };
  const auto is_override = [](const PlanStep& step) {
    return step.act.kind == ActionKind::write && step.act.path.ends_with("/driver_override");
  };

  for (const auto& uuid : attached.instances)
    if (inventory.find_instance(uuid)) plan.instances.push_back(uuid);
  plan.steps.push_back(
      {.what = "See that no virtual machine holds the devices",
       .why = "VFIO waits until the last one has closed them.",
       .risk = {},
       // Where a driver of the host has them already, as after a restart, services may hold them.
       .act = {.kind = ActionKind::idle,
               .devices = plan.devices,
               .instances = plan.instances,
               .but_ours = true}});
  make_vgpus_anew(attached, inventory, plan);
  const bool in_guest = !clean_with.empty() && !attached.managed;
  if (!clean_with.empty() && attached.managed)
    plan.warnings.push_back(
        "libvirt returns its devices itself, so this host's driver has them before their test");
  const auto each_with_memory = [&](const Part& part, auto act) {
    for (const auto& address : part)
      if (const auto* device = inventory.find(address); device && has_memory(device->function))
        act(*device, vfio_driver_of(attached, address));
  };
  // A guest's test takes long: each part leaves VFIO when it is tested, before the next one is.
  for (const auto& part : in_guest ? parts_of(plan, inventory) : std::vector<Part>{plan.devices}) {
    const auto is_its = [&](const std::optional<PciAddress>& device) {
      return device && std::ranges::find(part, *device) != part.end();
    };
    if (in_guest) {
      each_with_memory(part, [&](const Device& device, const std::string& driver) {
        plan.steps.push_back(
            clean_in_guest_step(device.function.address, part, driver, clean_with));
      });
      plan.steps.push_back({.what = "See that no process uses " + part.front().text(),
                            .why = "What is used after its test is tested again.",
                            .risk = {},
                            .act = {.kind = ActionKind::idle,
                                    .device = part.front(),
                                    .devices = part,
                                    .but_ours = true}});
    }
    each_with_memory(part, [&](const Device& device, const std::string& driver) {
      if (best_resets(device.function, inventory, plan.devices) == kHotReset)
        plan.steps.push_back(hot_reset_step(device, driver, inventory));
    });
    undo_each(
        [&](const PlanStep& s) { return s.act.kind == ActionKind::bind && is_its(s.act.device); },
        "The virtual machine's driver lets go of it.");
  }
  again_each(
      [](const PlanStep& s) { return s.act.kind == ActionKind::reset && !is_hot_reset(s.act); });
  for (const auto& address : plan.devices) {
    const auto* device = inventory.find(address);
    const bool resets = std::ranges::any_of(attached.steps, [&](const PlanStep& step) {
      return step.act.kind == ActionKind::reset && step.act.device == address;
    });
    if (!device || !has_memory(device->function) || resets) continue;
    // One that had its VFIO driver already, or that libvirt bound, was not reset when it was taken.
    const auto methods = best_resets(device->function, inventory, plan.devices);
    if (methods == kHotReset) continue;
    plan.steps.push_back(methods.empty() ? no_reset_step(address) : reset_step(address, methods));
  }
  again_each([](const PlanStep& s) { return s.act.kind == ActionKind::rom; });
  // What a guest tested and is not clean keeps its override: no driver of the host gets it.
  undo_each(is_override, "Its own driver may have it again.");
  undo_each([](const PlanStep& s) { return s.act.kind == ActionKind::unbind; },
            "It gets the driver that it had.");
  undo_each([&](const PlanStep& s) { return s.act.kind == ActionKind::write && !is_override(s); },
            "As it was before.");
  if (!in_guest)
    each_with_memory(plan.devices, [&](const Device& device, const std::string&) {
      plan.steps.push_back(clean_step(device.function.address));
    });
  const auto back_before = plan.steps.size();
  undo_each([](const PlanStep& s) { return is_command(s.act, "nvidia-smi"); }, "As it was before.");
  // Services that were started again after attaching must find the GPU that came back.
  const auto starts = [](const PlanStep& s) {
    return is_command(s.act, "systemctl") && s.act.command.at(1) == "start";
  };
  for (const auto& step : attached.steps) {
    if (!is_command(step.act, "systemctl") || step.act.command.at(1) != "stop") continue;
    const std::string unit = step.act.command.at(2);
    const bool runs = std::ranges::any_of(attached.steps, [&](const PlanStep& other) {
      return starts(other) && other.act.command.at(2) == unit;
    });
    PlanStep back = service_step(false, unit);
    back.undo = std::nullopt;
    if (const auto work = runs ? work_that_needs(unit, plan, inventory) : std::nullopt) {
      plan.warnings.push_back(fmt::format(
          "{} is not restarted, because {}. Restart it after that: it must find what came back",
          unit, *work));
      continue;
    }
    if (runs) {
      back.what = "Restart " + unit;
      back.why = "It must find the GPU that came back.";
      back.act.command.at(1) = "restart";
    } else {
      back.why = "It ran before.";
    }
    plan.steps.push_back(std::move(back));
  }
  // The devices are back by now.
  for (auto step = back_before; step < plan.steps.size(); ++step)
    plan.steps[step].act.may_fail = true;
  return plan;
}

}  // namespace gpuready::vm
