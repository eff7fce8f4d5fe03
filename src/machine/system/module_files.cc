// The files of kernel modules: what of modprobe.d(5) blocks them, and why those of AMD and Intel
// are not loaded.
#include <algorithm>

#include "base/text.h"
#include "machine/nvidia/nvidia_parse.h"
#include "machine/sources.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready {
namespace {

struct Package {
  Vendor vendor;
  std::string_view name, modules;  // whole names, since redaction keeps these (fixed_words.awk)
};
constexpr Package kPackages[] = {
    {Vendor::amd, "amdgpu", "amdgpu.ko amdgpu.ko.xz amdgpu.ko.zst"},
    {Vendor::intel, "intel-i915-dkms", "i915.ko i915.ko.xz i915.ko.zst xe.ko xe.ko.xz xe.ko.zst"},
    {Vendor::intel, "i915-sriov-dkms", "i915.ko i915.ko.xz i915.ko.zst"}};
constexpr const char* kBuilt[] = {"/updates/dkms", "/updates", "/extra"};

}  // namespace

// A file in an earlier folder hides those of its name in later ones.
std::optional<std::string> module_block(Host& host,
                                        std::initializer_list<std::string_view> modules) {
  constexpr std::size_t kMostFiles = 128, kMostBytes = 64u << 10;
  std::vector<std::string> seen;
  for (const std::string folder :
       {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"}) {
    const auto names = host.list_directory(folder);
    if (!names) continue;
    for (const auto& name : *names) {
      if (!name.ends_with(".conf") || seen.size() >= kMostFiles || std::ranges::count(seen, name))
        continue;
      seen.push_back(name);
      const auto text = host.read_file(folder + "/" + name, kMostBytes);
      if (const auto line = text ? parse_module_block(*text, modules) : std::nullopt)
        return folder + "/" + name + ": " + *line;
    }
  }
  return std::nullopt;
}

void read_module_files(Host& host, Machine& machine) {
  const std::string modules = "/lib/modules/" + machine.system.kernel_release;
  const auto holds = [&](const std::string& folder, std::string_view any) {
    const auto names = host.list_directory(folder);
    return names && std::ranges::any_of(split(any, " "), [&](std::string_view name) {
             return std::ranges::count(*names, name) > 0;
           });
  };
  for (const auto vendor : {Vendor::amd, Vendor::intel}) {
    const bool wanted = std::ranges::any_of(machine.pci, [&](const PciDevice& device) {
      return device.is_gpu && vendor_of(device) == vendor && !device.driver;
    });
    if (!wanted || machine.container.runtime || module_loaded(machine, vendor)) continue;
    auto& blocked =
        vendor == Vendor::amd ? machine.amd.module_blocked : machine.intel.module_blocked;
    blocked =
        vendor == Vendor::amd ? module_block(host, {"amdgpu"}) : module_block(host, {"xe", "i915"});
    for (const auto& [owner, name, built] : kPackages)
      if (owner == vendor && !blocked && host.exists(modules) && holds("/var/lib/dkms", name) &&
          std::ranges::none_of(kBuilt, [&](auto at) { return holds(modules + at, built); }))
        blocked = "/var/lib/dkms/" + std::string(name) + ": not built for the running kernel";
  }
}

}  // namespace gpuready
