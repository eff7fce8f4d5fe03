// What attaching or detaching will do, before anything is done: steps in order, each with its
// reason, its risk and its undo. Pure: a recorded machine is planned for as this one is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vm/device.h"

namespace gpuready::vm {

enum class ActionKind {
  write,   // `value` into the attribute `path`, which then reads so; or at least this many
  bind,    // `driver`, or where none is named the one that knows it, gets the device; nothing to do
           // where it has it
  unbind,  // `driver` lets go of the device; nothing to do where no driver has it
  reset,   // by the first of the methods in `value` that works; without any: quarantine. kHotReset:
           // `devices` together, by the VFIO driver that they have or, without one, `driver`
  run,     // a command
  idle,    // no one uses `devices`
  rom,     // the hash of its VBIOS is that of before, where it can be read
  renew,   // the mediated device `value` is removed and recreated by `path`
  clean,   // its memory is overwritten and verified, and its checks pass. With a bundle in `path`:
           // in a guest, while `driver` of VFIO has `devices`, which stay there if it is not clean
};

// One thing to do. Every one may be done again: what holds already stays as it is.
struct PlanAction {
  ActionKind kind = ActionKind::write;
  std::optional<PciAddress> device = {};
  std::vector<PciAddress> devices = {};     // idle, clean
  std::vector<std::string> instances = {};  // idle: UUIDs of mediated devices
  std::string driver = {};                  // bind, unbind
  std::string path = {}, value = {};        // write; path: bundle of clean; value: methods of reset
  std::vector<std::string> command = {};
  bool may_fail = false;  // then it is reported, and nothing else comes of it
  // idle: what the plan ends later may use them still. Journals of before this have it not. Of
  // unbind: first it is proved that no one uses the device.
  std::optional<bool> but_ours = {};
};

struct PlanStep {
  std::string what;  // "Unbind 0000:17:00.0 from nvidia"
  std::string why;
  std::string risk;  // what could go wrong; empty: nothing that is known
  PlanAction act;
  std::optional<PlanAction> undo = {};
};

// What a device is known by when its address may be another's (vm/identity.h).
struct DeviceIdentity {
  PciAddress address;               // when it was written
  std::string ids;                  // "10de:2330:10de:16c1": device and subsystem
  std::optional<std::string> uuid;  // of a GPU
  std::optional<std::string> serial;
  std::optional<std::string> slot;  // "pci0000:00/02.0/00.0"
  bool has_memory = false;          // that another guest must not see
};

struct Plan {
  std::string operation;                    // "attach", "detach", "recover"
  std::string name;                         // of the virtual machine or whatever else they are for
  std::vector<PciAddress> devices;          // all that move
  std::vector<std::string> instances = {};  // mediated devices, by UUID
  bool managed = false;                     // binding is left to libvirt
  std::vector<PlanStep> steps;
  std::vector<std::string> warnings;
  std::vector<std::string> refusals;            // not empty: it cannot be carried out
  std::vector<std::string> absent = {};         // what was named and is not here; refused as well
  std::vector<DeviceIdentity> identities = {};  // of `devices`; in the journal
};

struct HugePagesRequest {
  std::uint64_t bytes = 0;
  std::uint64_t page_bytes = 2u << 20;
};
// `page_size`: "2M" or "1G".
inline HugePagesRequest huge_pages(std::uint64_t gib, std::string_view page_size) {
  return {gib << 30, std::uint64_t{1} << (page_size == "1G" ? 30 : 21)};
}

struct AttachRequest {
  std::string name;
  std::vector<PciAddress> devices;          // what goes with them comes along
  std::vector<std::string> instances = {};  // UUIDs of mediated devices
  std::optional<HugePagesRequest> huge_pages = {};
  bool managed = false;
};

Plan plan_attach(const Inventory& inventory, const AttachRequest& request);

// The way back from what `attached` did. With a bundle in `clean_with` a guest tests the devices
// before a driver of the host has them; else this host does afterwards.
Plan plan_detach(const Plan& attached, const Inventory& inventory,
                 const std::string& clean_with = {});

// All that gpuready uses, the best first.
std::span<const std::string_view> reset_methods();

// The reset methods, the best first; "" when there is none. `alone`: no other function shares its
// bus, so that the bus can be reset.
std::string best_resets(const std::vector<std::string>& methods, bool alone);

// The same of a function among the others of its machine. kHotReset where it has none of its own
// and all functions on its bus are among `held`, which are handed over together: VFIO resets them
// together (Linux, vfio.h, VFIO_DEVICE_PCI_HOT_RESET).
inline constexpr std::string_view kHotReset = "hot";
std::string best_resets(const PciFunction& function, const Inventory& inventory,
                        std::span<const PciAddress> held);
std::vector<PciAddress> on_the_bus_of(const PciAddress& device, const Inventory& inventory);

// A name for a virtual machine: letters, digits, '.', '_', '-' and ':', at most 128.
Result<void> check_name(std::string_view name);

}  // namespace gpuready::vm
