#include "vm/named_devices.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "machine/gpu_choice.h"
#include "machine/inspect.h"
#include "vm/identity.h"

namespace gpuready::vm {
namespace {

constexpr const char* kCure = ". `gpuready vm list` names all devices by their PCI addresses";

class Namer {
 public:
  explicit Namer(Host& host) : machine_(inspect(host, {.libraries = false})) {
    if (auto known = read_claims(host, kJournalFolder, machine_)) claims_ = std::move(*known);
  }

  Result<void> add(const std::string& name, NamedDevices& named) const {
    if (const auto claimed = claimed_device(claims_, name)) {
      named.devices.push_back(*claimed);
      return {};
    }
    const auto small = to_lower(name);
    const auto uuid = after_prefix(small, "gpu-").value_or(small);
    if (!is_uuid(uuid)) return add_gpu(gpu_named(machine_, "DEVICE", name), name, named);
    const auto gpu = std::ranges::find_if(machine_.gpus, [&](const Gpu& one) {
      return one.uuid && to_lower(*one.uuid).ends_with(uuid);
    });
    if (gpu != machine_.gpus.end()) return add_gpu(&*gpu, name, named);
    if (uuid != small)
      return fail(ErrorKind::not_found, printable(name) + ": no GPU here has this UUID" + kCure);
    named.instances.push_back(small);
    return {};
  }

 private:
  static Result<void> add_gpu(const Result<const Gpu*>& gpu, const std::string& name,
                              NamedDevices& named) {
    if (!gpu) return fail(gpu.error().kind, gpu.error().message + kCure);
    if (!(*gpu)->pci)
      return fail(ErrorKind::bad_input, printable(name) + ": this GPU is not a PCI device" + kCure);
    named.devices.push_back(*(*gpu)->pci);
    return {};
  }

  Machine machine_;
  std::vector<Claim> claims_;
};

}  // namespace

Result<NamedDevices> devices_named(Host& host, const std::vector<std::string>& names) {
  NamedDevices named;
  std::optional<Namer> namer;  // most are named by addresses, which need no look at the machine
  for (const auto& name : names) {
    if (const auto address = parse_pci_address(name)) {
      named.devices.push_back(*address);
      continue;
    }
    if (!namer) namer.emplace(host);
    TRY(namer->add(name, named));
  }
  return named;
}

Result<std::vector<PciAddress>> addresses_named(Host& host, const std::vector<std::string>& names) {
  auto named = TRY(devices_named(host, names));
  if (named.instances.empty()) return std::move(named.devices);
  return fail(ErrorKind::not_found,
              named.instances.front() + ": no GPU here has this UUID" + kCure);
}

}  // namespace gpuready::vm
