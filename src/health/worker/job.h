// One test of one device (or pair of devices), in a child that sees these devices alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/open_device.h"
#include "health/test.h"

namespace gpuready {

struct TestJob {
  const HealthTest* test = nullptr;  // an entry of health_tests()
  std::string subject;  // "GPU 0", "GPU 0 MIG 1g.18gb", "GPU 0 and GPU 1", "the host", ...
  std::vector<DeviceChoice> devices;
  std::optional<std::string> pci_address = std::nullopt;  // of the first device
  TestOptions options = {};
  // What it needs for itself beside its devices, by name: the links of a host bridge.
  std::optional<std::string> exclusive = std::nullopt;

  bool on_cpu() const { return devices.front().executor == "cpu"; }
};

}  // namespace gpuready
