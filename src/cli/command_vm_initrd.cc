// `gpuready vm initrd`: an initial RAM disk with a driver bundle and the guest's init.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/vm_driver_commands.h"
#include "report/vm/initrd_report.h"

namespace gpuready::cli {
namespace {

struct VmInitrdOptions {
  Globals globals;
  vm::InitrdOptions initrd;
  std::vector<std::string> capabilities;
  std::string out, compress = "none";
};

// gpuready-guest beside this program.
std::string guest_beside(Host& host) {
  const auto self = host.real_path("/proc/self/exe");
  return self ? self->substr(0, self->rfind('/') + 1) + "gpuready-guest" : "gpuready-guest";
}

int run_vm_initrd(VmInitrdOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  for (const auto& name : options.capabilities) {
    const auto capability = named<vm::Capability>(name);
    if (!capability)
      return complain(
          Error{ErrorKind::bad_input, "--capabilities: no such one: " + printable(name)});
    options.initrd.capabilities.push_back(*capability);
  }
  options.initrd.zstd = options.compress == "zstd";
  if (options.initrd.guest.empty()) {
    options.initrd.guest = guest_beside(**host);
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
  command.reads = {guest_beside(*make_live_host())};
  command.run = [options] { return run_vm_initrd(*options); };
  command.add({
      {.name = "BUNDLE",
       .value = &options->initrd.bundle,
       .help = "A folder that `vm drivers collect` made",
       .required = true,
       .files = Files::read},
      {.name = "--output,-o",
       .value = &options->out,
       .help = "The file to write; it is whole or what it was",
       .type = "FILE",
       .required = true,
       .files = Files::written},
      {.name = "--capabilities",
       .value = &options->capabilities,
       .help = "Only what these need: compute, utility, graphics, video; all without it",
       .type = "LIST",
       .commas = true},
      {.name = "--kernel",
       .value = &options->initrd.kernel_release,
       .help = "The guest's kernel release, where the bundle has modules for several",
       .type = "RELEASE"},
      {.name = "--segment",
       .value = &options->initrd.segment,
       .help = "The driver alone, to be appended to an initrd that has an init"},
      {.name = "--compress",
       .value = &options->compress,
       .help = "How it is packed",
       .type = "HOW",
       .one_of = {"none", "zstd"}},
      {.name = "--with-gpuready",
       .value = &options->initrd.gpuready,
       .help = "Also this gpuready, which then checks the GPU in the guest",
       .type = "FILE",
       .files = Files::read},
      {.name = "--guest",
       .value = &options->initrd.guest,
       .help = "The guest's init; gpuready-guest beside this program without it",
       .type = "FILE",
       .files = Files::read},
      {.name = "--verify",
       .value = &options->initrd.verify,
       .help = "Compare every file with its SHA-256 first"},
  });
  add_output(command, options->globals);
  command.footer =
      "The same input gives the same bytes; what would not change is not written.\n"
      "Exit codes: 0 it is there; 2 it cannot be made or written.";
}

}  // namespace gpuready::cli
