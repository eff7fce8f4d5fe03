// One function per vendor's library. Each loads its library, asks, and tells every call to the
// writer; none returns anything else, throws, or ends the process. Run in a child of its own.
#pragma once

#include <span>
#include <string>

#include "host/probe_document.h"

namespace gpuready {

void probe_nvml(ProbeWriter& writer, std::span<const std::string> args);         // nvml_probe.cc
void probe_nvml_events(ProbeWriter& writer, std::span<const std::string> args);  // nvml_events.cc
void probe_nvml_clocks(ProbeWriter& writer, std::span<const std::string> args);  // nvml_clocks.cc
void probe_cuda(ProbeWriter& writer, std::span<const std::string> args);         // cuda_probe.cc
void probe_vulkan(ProbeWriter& writer, std::span<const std::string> args);       // vulkan_probe.cc
void probe_rocm(ProbeWriter& writer, std::span<const std::string> args);         // rocm_probe.cc
void probe_files(ProbeWriter& writer, std::span<const std::string> args);        // files_probe.cc
void probe_open_files(ProbeWriter& writer,
                      std::span<const std::string> args);  // open_files_probe.cc
void probe_disk_claims(ProbeWriter& writer,
                       std::span<const std::string> args);                 // disk_claims_probe.cc
void probe_metal(ProbeWriter& writer, std::span<const std::string> args);  // metal_probe.cc

}  // namespace gpuready
