// The report of `check` on a machine whose GPUs hold all that quick owes.
#pragma once

#include <string>

#include "base/units.h"
#include "report/report.h"

namespace gpuready {

inline Verdict passed_on(const Gpu& gpu, std::string test) {
  Verdict verdict;
  verdict.test = std::move(test);
  verdict.subject = "GPU " + std::to_string(gpu.index);
  verdict.uuid = gpu.uuid;
  verdict.status = VerdictStatus::passed;
  return verdict;
}

inline Gpu healthy_gpu(int index) {
  Gpu gpu;
  gpu.index = index;
  gpu.vendor = Vendor::nvidia;
  gpu.driver = "nvidia";
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.nvml_index = index;
  gpu.compute_capability = "9.0";
  gpu.cores = 132 * 128;
  gpu.memory.total_bytes = 80 * GiB;
  gpu.inforom_valid = true;
  gpu.link_now = gpu.link_max = {.generation = 5, .width = 16};
  return gpu;
}

// The memory tests come first, in the order of the GPUs.
inline Report healthy(int gpus) {
  Report report;
  report.command = "check";
  report.machine.source = "live";
  report.machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  report.machine.nvidia.nvml_device_count = gpus;
  report.findings.emplace();
  report.verdicts.emplace();
  for (int i = 0; i < gpus; ++i) {
    report.machine.gpus.push_back(healthy_gpu(i));
    report.verdicts->push_back(passed_on(report.machine.gpus[i], "memory"));
    report.verdicts->back().coverage = Coverage{79 * GiB, 79 * GiB, 79 * GiB, {}};
  }
  for (const Gpu& gpu : report.machine.gpus) {
    report.verdicts->push_back(passed_on(gpu, "compute"));
    report.verdicts->back().units = UnitCoverage{132, 132};
    report.verdicts->push_back(passed_on(gpu, "clocks"));
  }
  return report;
}

}  // namespace gpuready
