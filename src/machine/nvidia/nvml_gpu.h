// What NVML said about one GPU, applied to it. Keys are those that probe/nvml_queries.cc writes.
#pragma once

#include "gpuready/machine.h"
#include "machine/probe_answers.h"

namespace gpuready {

void apply_nvml_device(const DeviceAnswers& answers, Gpu& gpu);     // nvml_gpu.cc
void apply_nvml_mig(const DeviceAnswers& answers, Gpu& gpu);        // nvml_parts.cc
void apply_nvml_links(const DeviceAnswers& answers, Gpu& gpu);      // nvml_parts.cc
void apply_nvml_processes(const DeviceAnswers& answers, Gpu& gpu);  // nvml_parts.cc

}  // namespace gpuready
