// `vm args`: a hypervisor's arguments for attached devices.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"

namespace gpuready::cli {
namespace {

struct VmArgsOptions {
  Globals globals;
  std::string name, hypervisor = "qemu";
};

int run_vm_args(const VmArgsOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  const auto report = args_for(**host, options.name, *named<vm::Hypervisor>(options.hypervisor));
  if (!report) return complain(report.error(), exit_of_lookup(report.error()));
  Envelope envelope = begin_vm_envelope("vm args", options.globals);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_vm_args(CommandSpec& command) {
  auto options = std::make_shared<VmArgsOptions>();
  command.run = [options] { return run_vm_args(*options); };
  command.add({{.name = "--for",
                .value = &options->name,
                .help = "Name for which the devices were attached",
                .type = "NAME",
                .required = true},
               {.name = "--hypervisor",
                .value = &options->hypervisor,
                .help = "The hypervisor; arguments for cloud-hypervisor are untested",
                .one_of = {"qemu", "libvirt", "cloud-hypervisor"}}});
  add_vm_output(command, options->globals);
  command.footer =
      "Exit codes: 0 the arguments were written; 3 nothing is attached for NAME, or the device\nis "
      "gone.";
}

}  // namespace gpuready::cli
