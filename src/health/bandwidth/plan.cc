#include "health/bandwidth/plan.h"

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

BandwidthPlan plan_bandwidth(const Machine& machine, std::vector<TestJob> jobs) {
  BandwidthPlan plan;
  std::set<std::optional<std::string>> gpus;
  for (TestJob& job : jobs) {
    // MIG instances share their GPU's link: each has its turn, and together only one takes part.
    if (gpus.insert(job.pci_address).second || !job.pci_address) {
      plan.together.push_back(job);
      plan.together.back().options.all_together = true;
      plan.together.back().subject += ", all together";
    }
    job.exclusive = "links of " + host_bridge_of(machine, job);
    plan.alone.push_back(std::move(job));
  }
  if (plan.together.size() < 2) plan.together.clear();
  return plan;
}

}  // namespace gpuready
