#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/characters.h"
#include "base/text.h"
#include "base/units.h"
#include "value/vendors.h"
#include "vm/actions.h"
#include "vm/host_facts.h"
#include "vm/plan.h"

namespace gpuready::vm {
namespace {

// What a reset leaves least behind, first (Linux, Documentation/ABI/testing/sysfs-bus-pci).
constexpr std::string_view kResets[] = {"device_specific", "flr",  "af_flr", "bus",
                                        "cxl_bus",         "acpi", "pm"};

class AttachPlanner {
 public:
  AttachPlanner(const Inventory& inventory, const AttachRequest& request)
      : inventory_(inventory), request_(request) {
    plan_.operation = "attach";
    plan_.name = request.name;
    plan_.managed = request.managed;
    plan_.instances = request.instances;
  }

  Plan plan() {
    choose_devices();
    refuse_what_cannot_go();
    if (!plan_.refusals.empty()) return std::move(plan_);
    choose_services();
    if (!plan_.refusals.empty()) return std::move(plan_);
    prove_that_others_are_idle();
    stop_services();
    load_drivers();
    end_persistence();
    prove_idle();
    keep_awake();
    if (!request_.managed) move_to_vfio();
    reserve_pages();
    start_services();
    return std::move(plan_);
  }

 private:
  void refuse(std::string why) { plan_.refusals.push_back(std::move(why)); }

  void choose_devices() {
    std::set<PciAddress> all;
    for (const auto& address : request_.devices) {
      const auto* device = inventory_.find(address);
      if (device == nullptr) {
        plan_.absent.push_back(address.text());
        refuse(no_such_device(address));
        continue;
      }
      all.insert(device->around.moves_together.begin(), device->around.moves_together.end());
    }
    plan_.devices.assign(all.begin(), all.end());
    for (const auto& address : plan_.devices) devices_.push_back(inventory_.find(address));
    if (request_.devices.empty() && request_.instances.empty()) refuse("no device was named");
    if (!request_.name.empty())
      if (const auto name = check_name(request_.name); !name) refuse(name.error().message);
  }

  void refuse_for(std::string_view what, const Surroundings& around) {
    refuse(fmt::format("{}: {}{}", what, around.reason, around.cure ? ". " + *around.cure : ""));
  }

  void refuse_what_cannot_go() {
    for (const auto* device : devices_) {
      const auto& around = device->around;
      if (around.readiness == Readiness::ready) continue;
      // Said of the device itself; those that go with it need not repeat it.
      if (around.reason.find(" goes with it: ") != around.reason.npos) continue;
      refuse_for(device->function.address.text(), around);
    }
    for (const auto& uuid : plan_.instances) {
      const auto* instance = inventory_.find_instance(uuid);
      if (instance == nullptr) {
        plan_.absent.push_back(uuid);
        refuse(no_such_instance(uuid) + ", and the GPU's driver makes them");
      } else if (instance->around.readiness != Readiness::ready)
        refuse_for(uuid, instance->around);
    }
    for (const auto* device : devices_)
      if (best_resets(device->function, inventory_, plan_.devices).empty() &&
          has_memory(device->function))
        plan_.warnings.push_back(device->function.address.text() +
                                 ": it cannot be reset without others on its bus; after a detach "
                                 "it stays in quarantine until the machine is restarted");
    if (!inventory_.unseen.empty())
      for (const auto& unseen : inventory_.unseen) plan_.warnings.push_back("not seen: " + unseen);
  }

  static bool of_nvidia(const Device& device) {
    return device.function.vendor_id == pci_vendor::kNvidia;
  }
  bool moves(const Device& device) const {
    return std::ranges::find(devices_, &device) != devices_.end();
  }
  static bool serves(const HoldingService& service, const Device& device) {
    if (!of_nvidia(device) || device.function.driver.value_or("").rfind("nvidia", 0) != 0)
      return false;
    return service.of_switches || has_memory(device.function);
  }

  // The device that keeps it from being left alone.
  const Device* held_by(const HoldingService& service) const {
    for (const auto* device : devices_)
      if (std::ranges::any_of(device->around.uses,
                              [&](const Use& use) { return use.service == service.unit; }))
        return device;
    return nullptr;
  }

  std::optional<std::string> work_on(const Device& device) const {
    if (const auto& name = device.around.attached_to; name && *name != request_.name)
      return "is attached to " + printable(*name);
    const auto* use = use_that_stays(device.around);
    return use ? std::optional("is in use: " + use->what) : std::nullopt;
  }

  // Those that hold what moves must stop. One without which others' work ends is not stopped.
  void choose_services() {
    for (const auto& service : holding_services()) {
      const auto* held = held_by(service);
      if (!held) continue;
      stop_.push_back(&service);
      bool needed_here = false;
      for (const auto& device : inventory_.devices) {
        if (moves(device)) continue;
        const bool served = serves(service, device);
        needed_here |= served;
        if (!service.work_needs_it || !of_nvidia(device) || !has_memory(device.function)) continue;
        if (served) others_.push_back(device.function.address);
        if (const auto work = work_on(device))
          refuse(fmt::format(
              "{}: {} holds it and would be stopped; {}, which needs that service, "
              "{}. End that first",
              held->function.address.text(), service.unit, device.function.address.text(), *work));
      }
      if (needed_here) restart_.push_back(&service);
    }
  }

  void prove_that_others_are_idle() {
    if (stop_.empty()) return;
    auto all = plan_.devices;
    all.insert(all.end(), others_.begin(), others_.end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    plan_.steps.push_back(
        {.what = "Prove that only the services use the devices",
         .why = "No service is stopped while work needs it.",
         .risk = "",
         .act = {.kind = ActionKind::idle, .devices = std::move(all), .but_ours = true}});
  }

  void stop_services() {
    for (const auto* service : stop_)
      plan_.steps.push_back(service_step(true, std::string(service->unit)));
  }

  void start_services() {
    for (const auto* service : restart_)
      plan_.steps.push_back(service_step(false, std::string(service->unit)));
  }

  std::string vfio_driver(const Device& device) const {
    if (is_vfio(device.function.driver)) return *device.function.driver;
    return std::string(
        best_vfio_driver(inventory_.host.variants, device.function.modalias.value_or("")));
  }

  void load_drivers() {
    std::set<std::string> modules;
    for (const auto* device : devices_)
      if (!is_handed_over(device->function)) modules.insert(vfio_driver(*device));
    if (inventory_.host.vfio_pci_registered) modules.erase("vfio-pci");
    for (const auto& module : modules)
      plan_.steps.push_back({.what = "Load the module " + module,
                             .why = module == "vfio-pci" ? "It hands devices to virtual machines."
                                                         : "It is made for this very device.",
                             .risk = "Secure Boot refuses modules without a known signature.",
                             .act = {.kind = ActionKind::run, .command = {"modprobe", module}}});
  }

  void end_persistence() {
    for (const auto* device : devices_) {
      // A virtual function has the mode of its physical one.
      if (!of_nvidia(*device) || device->function.driver != "nvidia" ||
          device->function.physical_function)
        continue;
      if (!device->around.persistence.value_or(true)) continue;  // not known: better so
      const std::string address = device->function.address.text();
      PlanStep step{
          .what = "Switch persistence mode of " + address + " off",
          .why = "It holds the GPU though no process does, and unbinding would never end.",
          .risk = "",
          .act = {.kind = ActionKind::run,
                  .device = device->function.address,
                  .command = {"nvidia-smi", "-i", address, "-pm", "0"}}};
      if (device->around.persistence) {
        step.undo = step.act;
        step.undo->command.back() = "1";
      }
      plan_.steps.push_back(std::move(step));
    }
  }

  void prove_idle() {
    plan_.steps.push_back(
        {.what = "Prove that no process uses the devices",
         .why = "A driver waits for its users for ever when it is unbound, and nothing ends that.",
         .risk = "",
         .act = {
             .kind = ActionKind::idle, .devices = plan_.devices, .instances = plan_.instances}});
  }

  void keep_awake() {
    for (const auto* device : devices_) {
      const auto& function = device->function;
      if (function.power_control && *function.power_control != "on")
        plan_.steps.push_back(write_step(function, "power/control", "on", *function.power_control,
                                         "Keep " + function.address.text() + " awake",
                                         "A suspended device may miss its reset."));
      if (function.d3cold_allowed.value_or(false))
        plan_.steps.push_back(write_step(function, "d3cold_allowed", "0", "1",
                                         "Forbid " + function.address.text() + " to lose power",
                                         "Some GPUs do not come back from D3cold."));
    }
  }

  void move_to_vfio() {
    std::vector<const Device*> moving;
    for (const auto* device : devices_)
      if (!is_handed_over(device->function)) moving.push_back(device);
    for (const auto* device : devices_)
      if (device->function.is_vgpu()) plan_.steps.push_back(vgpu_step(device->function));
    for (const auto* device : moving)
      if (device->function.driver)
        plan_.steps.push_back(unbind_step(device->function.address, *device->function.driver));
    for (const auto* device : moving)
      if (has_memory(device->function)) plan_.steps.push_back(vbios_step(device->function.address));
    // All are detached now: none is reset under the feet of another's driver.
    for (const auto* device : moving)
      if (const auto methods = best_resets(device->function, inventory_, plan_.devices);
          !methods.empty() && methods != kHotReset) {
        plan_.steps.push_back(reset_step(device->function.address, methods));
        // A network card or an audio function keeps nothing that its next driver does not clear.
        plan_.steps.back().act.may_fail =
            !is_passable(device->function.vendor_id, device->function.class_code);
      }
    for (const auto* device : moving) {
      const std::string driver = vfio_driver(*device);
      plan_.steps.push_back(override_step(device->function, driver));
      plan_.steps.push_back(bind_step(device->function.address, driver));
    }
    for (const auto* device : moving)
      if (has_memory(device->function) &&
          best_resets(device->function, inventory_, plan_.devices) == kHotReset) {
        plan_.steps.push_back(hot_reset_step(*device, vfio_driver(*device), inventory_));
        // What the host left is the host's. What a guest leaves is not.
        plan_.steps.back().act.may_fail = true;
      }
  }

  void reserve_pages() {
    if (!request_.huge_pages) return;
    const auto& asked = *request_.huge_pages;
    int node = 0;
    for (const auto* device : devices_)
      if (const auto own = device->function.numa_node) {
        node = *own;
        break;
      }
    const auto pool =
        std::ranges::find_if(inventory_.host.huge_pages, [&](const HugePagePool& one) {
          return one.node == node && one.page_bytes == asked.page_bytes;
        });
    if (pool == inventory_.host.huge_pages.end()) {
      refuse(fmt::format("NUMA node {} has no huge pages of {}", node,
                         format_bytes(asked.page_bytes)));
      return;
    }
    const std::uint64_t wanted =
        asked.bytes / asked.page_bytes + (asked.bytes % asked.page_bytes != 0);
    if (pool->free >= wanted) return;
    const std::uint64_t total = pool->total + (wanted - pool->free);
    PlanStep step{
        .what = fmt::format("Reserve {} huge pages of {} on NUMA node {}", total - pool->total,
                            format_bytes(asked.page_bytes), node),
        .why = "The guest's memory is near its device.",
        .risk =
            "Memory may be too fragmented; a restart with hugepages= on the kernel's command "
            "line always finds them.",
        .act = {.kind = ActionKind::write,
                .path = fmt::format(
                    "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages", node,
                    asked.page_bytes / 1024),
                .value = std::to_string(total)}};
    step.undo = step.act;
    step.undo->value = std::to_string(pool->total);
    plan_.steps.push_back(std::move(step));
  }

  const Inventory& inventory_;
  const AttachRequest& request_;
  Plan plan_;
  std::vector<const Device*> devices_;
  std::vector<const HoldingService*> stop_, restart_;
  std::vector<PciAddress> others_;  // that stay, and whose work needs a service that stops
};

}  // namespace

std::span<const std::string_view> reset_methods() { return kResets; }

std::string best_resets(const PciFunction& function, const Inventory& inventory,
                        std::span<const PciAddress> held) {
  bool alone = true, all_held = true;
  for (const auto& address : on_the_bus_of(function.address, inventory)) {
    alone &= address == function.address;
    all_held &= std::ranges::find(held, address) != held.end();
  }
  auto own = best_resets(function.reset_methods, alone);
  return own.empty() && function.behind_bridge && all_held ? std::string(kHotReset) : own;
}

std::vector<PciAddress> on_the_bus_of(const PciAddress& device, const Inventory& inventory) {
  std::vector<PciAddress> all;
  for (const auto& other : inventory.addresses)
    if (other.domain == device.domain && other.bus == device.bus) all.push_back(other);
  return all;
}

std::string best_resets(const std::vector<std::string>& methods, bool alone) {
  std::vector<std::string> best;
  for (const auto method : reset_methods()) {
    if (method == "bus" && !alone) continue;  // it would reset the others, too
    if (std::ranges::find(methods, method) != methods.end()) best.emplace_back(method);
  }
  return join(best, " ");
}

Result<void> check_name(std::string_view name) {
  constexpr std::size_t kMost = 128;
  const auto ordinary = [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == ':';
  };
  if (name.empty() || name.size() > kMost || !std::ranges::all_of(name, ordinary))
    return fail(ErrorKind::bad_input,
                fmt::format("--for {}: a name has 1 to {} letters, digits and . _ - :",
                            printable(name.substr(0, kMost)), kMost));
  return {};
}

Plan plan_attach(const Inventory& inventory, const AttachRequest& request) {
  return AttachPlanner(inventory, request).plan();
}

}  // namespace gpuready::vm
