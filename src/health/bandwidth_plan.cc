#include "health/bandwidth_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace gpuready {
namespace {

std::string host_bridge_of(const Machine& machine, const TestJob& job) {
  if (!job.pci_address) return {};
  const auto address = parse_pci_address(*job.pci_address);
  for (const PciDevice& device : machine.pci)
    if (address == device.address) return device.host_bridge.value_or("");
  return {};
}

}  // namespace

std::vector<std::vector<TestJob>> bandwidth_waves(const Machine& machine,
                                                  std::vector<TestJob> jobs) {
  std::vector<std::vector<TestJob>> waves;
  std::map<std::string, std::size_t> used;  // waves, by host bridge
  std::set<std::optional<std::string>> gpus;
  std::vector<TestJob> together;
  for (TestJob& job : jobs) {
    // MIG instances share their GPU's link: each has its turn, and together only one takes part.
    if (gpus.insert(job.pci_address).second || !job.pci_address) {
      together.push_back(job);
      together.back().options.all_together = true;
      together.back().subject += ", all together";
    }
    const std::size_t wave = used[host_bridge_of(machine, job)]++;
    if (wave == waves.size()) waves.emplace_back();
    waves[wave].push_back(std::move(job));
  }
  if (together.size() > 1) waves.push_back(std::move(together));
  return waves;
}

}  // namespace gpuready
