// Apple GPUs: on macOS by the document of the Metal probe (src/probe/metal_probe.cc); on Linux the
// device tree tells the chip. Not verified on hardware.
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {

bool runs_darwin(Host& host) {
  const auto identity = host.identity();
  return identity && identity->kernel_name == "Darwin";
}

void read_apple(Host& host, Machine& machine) {
  if (runs_darwin(host)) {
    Job sysctl;
    sysctl.program = "/usr/sbin/sysctl";
    sysctl.args = {"-n", "machdep.cpu.brand_string"};
    const auto chip = host.run(sysctl);
    if (chip && chip->end == JobEnd::exited && chip->exit_code == 0 && !trim(chip->out).empty())
      machine.apple.chip = printable(trim(chip->out));
    return;
  }
  // NUL-separated, the most specific first: "apple,j414s", "apple,t6020", "apple,arm-platform".
  if (machine.system.architecture != "aarch64" && machine.system.architecture != "arm64") return;
  const auto compatible = host.read_file("/proc/device-tree/compatible", 4096);
  if (!compatible || !contains(*compatible, "apple,arm-platform")) return;
  for (const auto entry : split(*compatible, std::string_view("\0", 1)))
    if (entry.starts_with("apple,t")) machine.apple.chip = printable(entry);
  auto& gpu = machine.gpus.emplace_back();
  gpu.vendor = Vendor::apple;
  gpu.integrated = true;
  gpu.name = "Apple GPU" + (machine.apple.chip ? " (" + *machine.apple.chip + ")" : "");
  gpu.name_source = "device tree";
  add_source(gpu, "device tree");
}

void apply_metal(const ProbeDocument& document, Machine& machine) {
  if (document.outcome == ProbeOutcome::no_library) {
    machine.apple.metal = false;
    return;
  }
  const auto count = document.integer("MTLCopyAllDevices()");
  if (!count) return;
  machine.apple.metal = *count > 0;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(*count, 64); ++i) {
    const std::string index = "(" + std::to_string(i) + ")";
    const auto name = document.text("name" + index);
    if (!name) continue;
    auto& gpu = machine.gpus.emplace_back();
    gpu.name = *name;
    gpu.name_source = "metal";
    // Macs with Intel processors had AMD and Intel GPUs.
    gpu.vendor = contains(*name, "AMD")     ? Vendor::amd
                 : contains(*name, "Intel") ? Vendor::intel
                                            : Vendor::apple;
    gpu.integrated = document.integer("hasUnifiedMemory" + index).value_or(0) != 0;
    if (const auto id = document.unsigned_integer("registryID" + index))
      gpu.uuid = "metal-" + std::to_string(*id);
    gpu.memory.total_bytes = document.unsigned_integer("recommendedMaxWorkingSetSize" + index);
    add_source(gpu, "metal");
    if (gpu.vendor == Vendor::apple && !machine.apple.chip) machine.apple.chip = *name;
  }
}

}  // namespace gpuready
