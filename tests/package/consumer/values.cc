// Calls every function that the headers of the value types declare, and takes the address of every
// one of gpu_info.h: that all of them link is what this tests.
#include <cstdio>

#include "gpuready/finding.h"
#include "gpuready/gpu_info.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

int main() {
  using namespace gpuready;
  Machine machine;
  Gpu& gpu = machine.gpus.emplace_back();
  gpu.pci = parse_pci_address("17:00.0");
  gpu.uuid = "GPU-1";
  Samples samples;
  if (!gpu.pci || machine.find_gpu(*gpu.pci) == nullptr ||
      machine.find_gpu_by_uuid("gpu-1") == nullptr || samples.find(0, "power") != nullptr)
    return 1;
  std::printf("%s %s %s %s %s\n", gpu.pci->text().c_str(), to_string(gpu.vendor).data(),
              to_string(PathKind::nvlink).data(), to_string(Severity::warning).data(),
              to_string(VerdictStatus::not_tested).data());
  std::printf("%s\n", gpu_info_of(machine).summary().c_str());
  if (preflight_check(machine) || !cuda_devices_of(machine)) return 1;
  if (optimal_launch_params(16, 16, CudaDeviceInfo{})) return 1;
  return 0;
}
