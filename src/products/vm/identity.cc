#include "vm/identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/text.h"
#include "machine/pci/pci_files.h"

namespace gpuready::vm {
namespace {

using Places = std::map<PciAddress, PciAddress>;  // of a plan's addresses: those of now

std::string ids_of(Host& host, const PciAddress& address) {
  std::string out;
  for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    out += fmt::format("{}{:04x}", out.empty() ? "" : ":",
                       host.read_hex(folder_of(address) + "/" + name).value_or(0));
  return out;
}

// The way from the host bridge by device and function of each bridge, which are of the hardware;
// the numbers of buses are not: "pci0000:00/02.0/00.0".
std::optional<std::string> slot_of(Host& host, const PciAddress& address) {
  const auto path = host.real_path(folder_of(address));
  if (!path) return std::nullopt;
  const auto way = parse_pci_path(*path);
  if (!way.host_bridge || way.path.empty()) return std::nullopt;
  std::string out = *way.host_bridge;
  for (const auto& hop : way.path) out += fmt::format("/{:02x}.{:x}", hop.device, hop.function);
  return out;
}

// PCI Express Base Specification, 7.9.3: the capability with the id 3.
std::optional<std::string> parse_serial(std::string_view config) {
  constexpr std::size_t kFirst = 0x100, kHops = 64;
  constexpr std::uint32_t kSerialNumber = 3;
  const auto dword = [&](std::size_t at) {
    return load<std::uint32_t>(bytes_of(config), at).value_or(0);
  };
  std::size_t at = kFirst;
  for (std::size_t hop = 0; hop < kHops && at >= kFirst && at + 12 <= config.size(); ++hop) {
    const auto header = dword(at);
    if ((header & 0xffff) == kSerialNumber)
      return fmt::format("{:08x}{:08x}", dword(at + 8), dword(at + 4));
    at = header >> 20;
  }
  return std::nullopt;
}

// Reading would wake a device that sleeps, and waits while the kernel resets one.
std::optional<std::string> serial_of(Host& host, const PciAddress& address) {
  const auto folder = folder_of(address);
  const auto status = host.read_text(folder + "/power/runtime_status").value_or("");
  if (status.starts_with("suspend")) return std::nullopt;
  host.ask_driver({folder + "/config"});
  const auto config = host.read_file(folder + "/config");
  host.ask_driver({});
  return config ? parse_serial(*config) : std::nullopt;
}

// Of two with the same ids and the same function.
bool is_same(const DeviceIdentity& known, const DeviceIdentity& now) {
  if (known.uuid && now.uuid) return known.uuid == now.uuid;
  if (known.serial && now.serial) return known.serial == now.serial;
  return known.slot && now.slot ? known.slot == now.slot : known.address == now.address;
}

class Locator {
 public:
  Locator(Host& host, const Machine& machine) : host_(host), machine_(machine) {
    const auto names = host.list_directory("/sys/bus/pci/devices");
    listed_ = names.has_value();
    for (const auto& name : names.value_or(std::vector<std::string>{}))
      if (const auto address = parse_pci_address(name)) addresses_.push_back(*address);
  }

  Places locate(const std::vector<DeviceIdentity>& known) {
    Places out;
    for (const auto& one : known)
      if (const auto found = find(one)) out[one.address] = *found;
    return out;
  }

 private:
  std::optional<PciAddress> find(const DeviceIdentity& known) {
    if (!listed_) return known.address;  // no one knows
    for (const auto& address : addresses_)
      if (address.function == known.address.function && ids(address) == known.ids &&
          is_same(known, identity(address, known.serial.has_value())))
        return address;
    return std::nullopt;
  }

  const std::string& ids(const PciAddress& address) {
    auto& ids = ids_[address];
    if (ids.empty()) ids = ids_of(host_, address);
    return ids;
  }

  DeviceIdentity identity(const PciAddress& address, bool serial) {
    const auto* gpu = machine_.find_gpu(address);
    return {.address = address,
            .ids = ids(address),
            .uuid = gpu ? gpu->uuid : std::nullopt,
            .serial = serial ? serial_of(host_, address) : std::nullopt,
            .slot = slot_of(host_, address)};
  }

  Host& host_;
  const Machine& machine_;
  bool listed_ = false;
  std::vector<PciAddress> addresses_;
  std::map<PciAddress, std::string> ids_;
};

// The text with each address of `places` replaced by that of now.
std::string moved(std::string_view text, const Places& places) {
  constexpr std::size_t kLength = 12;  // "0000:17:00.0"
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto place =
        text.size() - i < kLength ? std::nullopt : parse_pci_address(text.substr(i, kLength));
    const auto found = place ? places.find(*place) : places.end();
    out += found == places.end() ? std::string(1, text[i]) : found->second.text();
    i += found == places.end() ? 1 : kLength;
  }
  return out;
}

void move(PlanAction& action, const Places& places) {
  if (action.device)
    if (const auto now = places.find(*action.device); now != places.end())
      action.device = now->second;
  action.path = moved(action.path, places);
  for (auto& word : action.command) word = moved(word, places);
}

template <class Value>
void move(std::map<PciAddress, Value>& values, const Places& places) {
  std::map<PciAddress, Value> out;
  for (auto& [device, value] : values)
    if (const auto now = places.find(device); now != places.end())
      out[now->second] = std::move(value);
  values = std::move(out);
}

// `places` has what stays in the operation. Others that a proof of idleness names keep their
// addresses.
void move(Operation& operation, const Places& places, const std::set<PciAddress>& left_out) {
  auto& plan = operation.plan;
  const auto move_all = [&](std::vector<PciAddress>& devices) {
    std::erase_if(devices, [&](const PciAddress& device) { return left_out.contains(device); });
    for (auto& device : devices)
      if (const auto now = places.find(device); now != places.end()) device = now->second;
    std::ranges::sort(devices);
  };
  std::vector<PlanStep> steps;
  std::set<std::size_t> begun;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    auto& step = plan.steps[i];
    if (step.act.device && left_out.contains(*step.act.device)) continue;
    step.what = moved(step.what, places);
    for (PlanAction* action : {&step.act, step.undo ? &*step.undo : nullptr}) {
      if (action == nullptr) continue;
      move(*action, places);
      move_all(action->devices);
    }
    if (operation.begun.contains(i)) begun.insert(steps.size());
    steps.push_back(std::move(step));
  }
  plan.steps = std::move(steps);
  operation.begun = std::move(begun);
  move_all(plan.devices);
  move(operation.vbios, places);
  move(operation.unclean, places);
}

void resolve(Host& host, const Machine& machine, std::vector<Claim>& claims) {
  std::optional<Locator> locator;
  for (auto& claim : claims) {
    std::vector<DeviceIdentity> returned;
    for (const auto& operation : claim.operations)
      for (const auto& identity : operation.plan.identities)
        if (operation.returned.contains(identity.address)) returned.push_back(identity);
    for (auto& operation : claim.operations) {
      auto& known = operation.plan.identities;
      if (known.empty()) continue;  // a journal of before identities were kept: only addresses
      if (!locator) locator.emplace(host, machine);
      auto places = locator->locate(known);
      std::set<PciAddress> left_out;
      std::vector<DeviceIdentity> stay;
      for (const auto& identity : known) {
        const auto now = places.find(identity.address);
        const bool is_back = std::ranges::any_of(returned, [&](const DeviceIdentity& one) {
          return one.ids == identity.ids && one.address.function == identity.address.function &&
                 is_same(one, identity);
        });
        if (now != places.end() && !is_back) {
          stay.push_back(identity);
          stay.back().address = now->second;
          continue;
        }
        left_out.insert(identity.address);
        if (is_back) continue;
        operation.lost |= operation.unclean.contains(identity.address);
        if (&operation == &claim.operations.front()) claim.gone.push_back(identity);
      }
      for (const auto& device : left_out) places.erase(device);
      move(operation, places, left_out);
      known = std::move(stay);
    }
  }
}

}  // namespace

DeviceIdentity identity_of(Host& host, const Device& device) {
  const auto& address = device.function.address;
  return {.address = address,
          .ids = ids_of(host, address),
          .uuid = device.around.uuid,
          .serial = serial_of(host, address),
          .slot = slot_of(host, address),
          .has_memory = has_memory(device.function)};
}

Result<std::vector<Claim>> read_claims(Host& host, const std::string& folder,
                                       const Machine& machine) {
  auto claims = TRY(read_journal(host, folder));
  resolve(host, machine, claims);
  return claims;
}

std::optional<PciAddress> claimed_device(const std::vector<Claim>& claims, std::string_view uuid) {
  const auto is_it = [&](const DeviceIdentity& identity) {
    return identity.uuid && (equals_ignore_case(*identity.uuid, uuid) ||
                             equals_ignore_case(*identity.uuid, "GPU-" + std::string(uuid)));
  };
  for (const auto& claim : claims) {
    if (claim.operations.empty()) continue;
    for (const auto* all : {&claim.attached().identities, &claim.gone})
      if (const auto found = std::ranges::find_if(*all, is_it); found != all->end())
        return found->address;
  }
  return std::nullopt;
}

}  // namespace gpuready::vm
