#pragma once

#include <span>
#include <string_view>

#include "vm/device.h"

namespace gpuready::vm {

// Services of systemd that keep GPUs open, and that may be stopped and started again.
struct HoldingService {
  std::string_view unit;
  std::string_view process;  // /proc/PID/comm, which the kernel cuts to 15 characters
  bool of_switches;          // it serves NVSwitches, too
  bool work_needs_it;        // what computes on other GPUs ends or fails without it
};
std::span<const HoldingService> holding_services();

HostFacts read_host_facts(Host& host, const Machine& machine);

// Lines "alias vfio_pci:PATTERN MODULE" of modules.alias.
std::vector<VfioVariant> parse_variants(std::string_view modules_alias);
// The driver made for this very device (NVIDIA's Grace Hopper, mlx5, ...), else "vfio-pci".
std::string_view best_vfio_driver(const std::vector<VfioVariant>& variants,
                                  std::string_view modalias);

}  // namespace gpuready::vm
