// Asks a fake driver through the real probe, in a real child.
#pragma once

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/probe_children.h"

namespace gpuready::testing {

inline std::string fake_driver_path(const std::string& name) {
  return std::string(GPUREADY_BINARY_DIR) + "/fake_drivers/" + name;
}

inline ProbeDocument ask_fake(const std::string& probe, std::vector<std::string> args,
                              std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  setenv("GPUREADY_HELPER", fake_driver_path("probe_helper").c_str(), 1);
  return probe_in_children({{probe, std::move(args), timeout}}).front();
}

inline ProbeDocument ask_fake_nvml(const std::string& settings, std::vector<std::string> args = {},
                                   std::chrono::milliseconds timeout = std::chrono::seconds(20),
                                   const std::string& library = "fake_nvml.so") {
  setenv("GPUREADY_LIBNVML", fake_driver_path(library).c_str(), 1);
  setenv("FAKE_NVML", settings.c_str(), 1);
  return ask_fake("nvml", std::move(args), timeout);
}

}  // namespace gpuready::testing
