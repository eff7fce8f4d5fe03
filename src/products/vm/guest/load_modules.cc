#include "vm/guest/load_modules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/text.h"
#include "vm/drivers/driver_files.h"
#include "vm/drivers/module_info.h"

namespace gpuready::vm {

ModuleParameters module_parameters(const std::vector<std::string>& words) {
  ModuleParameters found = {{"nvidia_drm", "modeset=1"}};
  for (const auto& word : words) {
    const auto dot = word.find('.');
    if (dot == word.npos || dot == 0 || word.find('=') == word.npos || word.find('=') < dot)
      continue;
    auto& text = found[module_name(word.substr(0, dot))];
    text += (text.empty() ? "" : " ") + word.substr(dot + 1);
  }
  return found;
}

std::string module_failure(int error_number) {
  switch (error_number) {
    case ENOEXEC:
      return "it was built for another kernel (its vermagic differs)";
    case EKEYREJECTED:
    case ENOKEY:
      return "the kernel wants a signature that it knows; sign the module or boot without Secure "
             "Boot";
    case ENOENT:
      return "it needs a symbol or a file that is missing; the kernel's lines before this one name "
             "it";
    case ENODEV:
      return "no GPU that it drives; was one passed through, and is the driver for it?";
    case EPERM:
      return "the kernel allows no modules (lockdown, or no CAP_SYS_MODULE)";
    default:
      return std::strerror(error_number);
  }
}

int load_module(const std::string& path, const std::string& parameters) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  return ::syscall(SYS_finit_module, file.get(), parameters.c_str(), 0) == 0 ? 0 : errno;
}

bool load_modules(const DriverBundle& bundle, const LoadOptions& options, Steps& steps) {
  std::vector<ModuleInfo> modules;
  std::string other_release;
  for (const auto& file : bundle.files) {
    if (!file.module || is_driver_module(file.module->name) != options.driver) continue;
    if (file.module->kernel_release == options.kernel_release)
      modules.push_back(*file.module);
    else
      other_release = file.module->kernel_release;
  }
  if (modules.empty() && options.driver) {
    const bool none = other_release.empty();
    steps.add(none ? StepState::skipped : StepState::failed, "module", "nvidia",
              none ? "the bundle has no modules; the kernel must bring them"
                   : fmt::format("the bundle has modules for {}, this kernel is {}", other_release,
                                 options.kernel_release));
    return none;
  }
  const auto order = load_order(modules);
  if (!order) {
    steps.add(StepState::failed, "module", modules[0].name, order.error().message);
    return false;
  }
  for (const auto index : *order) {
    const auto& module = modules[index];
    auto file = module.name;
    for (char& c : file)
      if (c == '_') c = '-';
    const auto given = options.parameters.find(module.name);
    const auto parameters = given == options.parameters.end() ? std::string() : given->second;
    const int error = options.load(options.folder + "/" + file + ".ko", parameters);
    if (error == EEXIST) {
      steps.add(StepState::skipped, "module", module.name, "it is loaded already");
    } else if (error != 0) {
      steps.add(StepState::failed, "module", module.name, module_failure(error));
      return false;
    } else {
      steps.add(StepState::ok, "module", module.name,
                "loaded" + (module.version.empty() ? "" : ", version " + module.version) +
                    (parameters.empty() ? "" : ", with " + parameters));
    }
  }
  return true;
}

}  // namespace gpuready::vm
