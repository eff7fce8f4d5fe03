// Loading a bundle's kernel modules.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vm/drivers/bundle.h"
#include "vm/guest/steps.h"

namespace gpuready::vm {

using ModuleParameters = std::map<std::string, std::string, std::less<>>;  // by module's name

// "nvidia.NVreg_EnableGpuFirmware=1" of a kernel command line, as the kernel reads it for modules
// that are built in.
ModuleParameters module_parameters(const std::vector<std::string>& words);

// What finit_module(2) failed with, in words, with the cure.
std::string module_failure(int error_number);

// By finit_module(2); 0 or an errno.
int load_module(const std::string& path, const std::string& parameters);

struct LoadOptions {
  std::string kernel_release;  // of the running kernel
  std::string folder;          // where the module files are, by their base names
  bool driver = true;          // NVIDIA's, or else the others
  ModuleParameters parameters;
  std::function<int(const std::string& path, const std::string& parameters)> load = load_module;
};
// One step a module; false when one failed, and then those that need it are not tried.
bool load_modules(const DriverBundle& bundle, const LoadOptions& options, Steps& steps);

}  // namespace gpuready::vm
