#include "vm/usage/disk_claims.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/text.h"

namespace gpuready::vm {
namespace {

void add_claim(Surroundings& around, const std::string& name, const ProbeCall* claim) {
  if (claim && claim->ok()) return;
  const auto node = "/dev/" + printable(name);
  if (claim && claim->code == EBUSY)
    around.uses.push_back(
        {.kind = "disk",
         .what = node + " is claimed: a driver of the kernel or a program has it exclusively",
         .pid = {}});
  else
    around.unclear.push_back(fmt::format("whether {} is claimed is not known: {}", node,
                                         claim ? std::strerror(claim->code) : "it was not asked"));
}

}  // namespace

void find_disk_claims(Host& host, const StorageUse& storage, Inventory& inventory) {
  std::map<std::string, std::vector<Device*>> disks;
  for (auto& device : inventory.devices)
    for (const auto& disk : storage.disks)
      if (disk.whole && disk.path.contains(device.function.address) &&
          !use_that_stays(device.around))
        disks[disk.name].push_back(&device);
  if (disks.empty()) return;
  std::vector<ProbeRequest> requests;
  for (const auto& [name, devices] : disks)
    requests.push_back({.probe = "disk-claims", .args = {name}});
  const auto answers = host.probe(requests);
  auto answer = answers.begin();
  for (const auto& [name, devices] : disks) {
    const auto* claim = answer == answers.end() ? nullptr : (answer++)->find("claim(" + name + ")");
    for (auto* device : devices) add_claim(device->around, name, claim);
  }
}

}  // namespace gpuready::vm
