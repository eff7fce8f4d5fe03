// `gpuready vm initrd`: an initial RAM disk with a driver bundle and the guest's init.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/report/initrd_report.h"

namespace gpuready::cli {
namespace {

struct VmInitrdOptions {
  Globals globals;
  vm::InitrdOptions initrd;
  std::vector<std::string> capabilities;
  std::string out, compress = "none";
};

std::string guest_of_this_program(Host& host) {
  const auto self = host.real_path("/proc/self/exe");
  return self ? vm::guest_beside(*self) : "gpuready-guest";
}

int run_vm_initrd(VmInitrdOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  for (const auto& name : options.capabilities)
    options.initrd.capabilities.push_back(*named<vm::Capability>(name));
  options.initrd.zstd = options.compress == "zstd";
  if (options.initrd.guest.empty()) {
    options.initrd.guest = guest_of_this_program(**host);
    if (!(*host)->exists(options.initrd.guest))
      return complain(Error{ErrorKind::not_found,
                            "the guest's init is not beside this program: no " +
                                printable(options.initrd.guest) + "; name it with --guest"});
  }
  const auto report = vm::write_initrd(options.initrd, options.out, **host, live_storage());
  if (!report) return complain(report.error());
  Envelope envelope = begin_envelope("vm initrd");
  return deliver_report(envelope, InitrdOutcome{options.out, *report}, start, options.globals);
}

}  // namespace

void declare_vm_initrd(CommandSpec& command) {
  auto options = std::make_shared<VmInitrdOptions>();
  command.reads = {guest_of_this_program(*make_live_host())};
  command.run = [options] { return run_vm_initrd(*options); };
  command.add({
      {.name = "BUNDLE",
       .value = &options->initrd.bundle,
       .help = "A folder made by `vm drivers collect`",
       .required = true,
       .files = Files::read},
      {.name = "--out,-o",
       .value = &options->out,
       .help = "The file to write; on failure it stays unchanged",
       .type = "FILE",
       .required = true,
       .files = Files::written},
      {.name = "--capabilities",
       .value = &options->capabilities,
       .help = "Only files for these: compute, utility, graphics, video (default: all)",
       .type = "LIST",
       .one_of = {"compute", "utility", "graphics", "video"},
       .commas = true},
      {.name = "--kernel",
       .value = &options->initrd.kernel_release,
       .help = "The guest's kernel release, if the bundle has modules for several",
       .type = "RELEASE"},
      {.name = "--segment",
       .value = &options->initrd.segment,
       .help = "Only the driver, to append to an initrd that has an init"},
      {.name = "--compress",
       .value = &options->compress,
       .help = "How it is packed",
       .type = "HOW",
       .one_of = {"none", "zstd"}},
      {.name = "--with-gpuready",
       .value = &options->initrd.gpuready,
       .help = "Also include this gpuready, which checks the GPU in the guest",
       .type = "FILE",
       .files = Files::read},
      {.name = "--guest",
       .value = &options->initrd.guest,
       .help = "The guest's init (default: gpuready-guest beside this program)",
       .type = "FILE",
       .files = Files::read},
      {.name = "--verify",
       .value = &options->initrd.verify,
       .help = "Compare every file with its SHA-256 first"},
  });
  add_output(command, options->globals);
  command.footer =
      "The same input gives the same bytes; an unchanged file is not written again.\nExit codes: 0 "
      "the initrd is there; 2 it cannot be made or written.";
}

}  // namespace gpuready::cli
