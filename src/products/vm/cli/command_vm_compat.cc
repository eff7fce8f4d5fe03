// `gpuready vm compat`: whether a container image's CUDA runs on a driver.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "machine/gpu_choice.h"
#include "machine/nvidia/architectures.h"
#include "value/vendors.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/report/drivers_report.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmCompatOptions {
  Globals globals;
  std::string image_cuda;
  std::optional<std::string> driver, bundle, rootfs, gpu;
};

// "10de:2330", a GPU of this machine, a capability, or an NVIDIA model if all of it are served
// alike.
Result<vm::GpuSupport> support_of(const std::string& gpu, const std::string& driver,
                                  std::span<const std::uint16_t> listed) {
  const auto colon = gpu.find(':');
  const auto id = [](std::string_view text) -> std::optional<std::uint16_t> {
    const auto value = text.size() == 4 ? parse_hex(text) : std::nullopt;
    return value ? std::optional(static_cast<std::uint16_t>(*value)) : std::nullopt;
  };
  const auto vendor = id(std::string_view(gpu).substr(0, std::min(colon, gpu.size())));
  const auto device =
      colon == gpu.npos ? std::nullopt : id(std::string_view(gpu).substr(colon + 1));
  if (vendor && device) return vm::gpu_support(driver, *vendor, *device, listed);
  const auto host = make_live_host();
  const Machine here = TRY(inspect_as_asked(*host, {}, {.libraries = false}));
  const auto found = gpu_named(here, "--gpu", gpu);
  if (found)
    for (const auto& function : here.pci)
      if (function.address == (*found)->pci)
        return vm::gpu_support(driver, function.vendor_id, function.device_id, listed);
  for (const NvidiaArchitecture& each : nvidia_architectures())
    if (names_capability(fmt::format("{}.{}", each.major, each.minor), trim(gpu)))
      return vm::capability_support(driver, each);
  std::optional<vm::GpuSupport> support;
  for (const auto& model : models_named(gpu)) {
    auto one = vm::gpu_support(driver, pci_vendor::kNvidia, model.device_id, listed);
    if (support && support->served != one.served)
      return fail(
          ErrorKind::bad_input,
          fmt::format("--gpu {}: whether the driver serves these models differs; name one: {}, {}",
                      printable(gpu), support->gpu, one.gpu));
    support = support.value_or(std::move(one));
  }
  if (support) return *std::move(support);
  return std::unexpected(found.error());
}

int run_vm_compat(const VmCompatOptions& options) {
  const auto start = Clock::now();
  if (!options.driver && !options.bundle)
    return complain(
        Error{ErrorKind::bad_input, "name the driver: --driver VERSION or --bundle BUNDLE"});
  if (const auto version = version_option("--driver", options.driver); !version)
    return complain(version.error());
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  std::string driver = options.driver.value_or("");
  std::vector<std::uint16_t> listed;
  if (options.bundle) {
    const auto bundle = vm::open_bundle(**host, *options.bundle);
    if (!bundle) return complain(bundle.error());
    driver = bundle->driver_version;
    listed = bundle->supported_gpus;
  }
  const auto cuda = vm::compare_cuda(options.image_cuda, driver);
  if (!cuda) return complain(cuda.error());
  CompatReport report{*cuda, options.rootfs, {}};
  if (options.gpu) {
    const auto support = support_of(*options.gpu, driver, listed);
    if (!support) return complain(support.error());
    report.gpu = *support;
  }
  if (options.rootfs) {
    auto libraries = vm::find_image_libraries(*options.rootfs);
    if (!libraries) return complain(libraries.error());
    report.image_libraries = std::move(*libraries);
  }
  Envelope envelope = begin_envelope("vm compat");
  envelope.exit = exit_of(report);
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_vm_compat(CommandSpec& command) {
  auto options = std::make_shared<VmCompatOptions>();
  command.run = [options] { return run_vm_compat(*options); };
  command.add({
      {.name = "--image-cuda",
       .value = &options->image_cuda,
       .help = "The CUDA release that the image's programs were built with, such as 12.9",
       .type = "VERSION",
       .required = true},
      {.name = "--driver",
       .value = &options->driver,
       .help = "The driver's version: 550 or 580.65.06",
       .type = "VERSION"},
      {.name = "--bundle",
       .value = &options->bundle,
       .help = "The bundle with the driver",
       .type = "BUNDLE",
       .excludes = "--driver",
       .files = Files::read},
      {.name = "--rootfs",
       .value = &options->rootfs,
       .help = "Also look for driver libraries in this root folder of an image",
       .type = "FOLDER",
       .files = Files::read},
      {.name = "--gpu",
       .value = &options->gpu,
       .help = fmt::format("Also say whether the driver supports this GPU: {}; or PCI id, such as "
                           "10de:2330",
                           kGpuWords),
       .type = "GPU"},
  });
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 the image's programs run; 1 the driver is too old or does not support "
      "the\nGPU, or the image has driver libraries of another version where the loader finds "
      "them;\n2 wrong usage; 4 unknown.";
}

}  // namespace gpuready::cli
