// `gpuready vm drivers ...`: bundles of driver files for guests.
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/report/exit_rules.h"
#include "vm/report/make_reports.h"

namespace gpuready::cli {
namespace {

struct VmDriversOptions {
  Globals globals;
  vm::CollectOptions collect;
  std::string folder;
};

int show(const char* command, const VmDriversOptions& options, const Result<DriversReport>& report,
         Clock::time_point start) {
  if (!report) return complain(report.error());
  Envelope envelope = begin_envelope(command);
  envelope.exit = exit_of(*report);
  return deliver_report(envelope, *report, start, options.globals);
}

int collect(const VmDriversOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  // A build is ended with all that it started; all else ends at once by the signal itself.
  if (!options.collect.headers.empty()) catch_interrupts();
  auto collect = options.collect;
  collect.cancel = &interrupted();
  auto bundle = vm::collect_bundle(collect, options.folder, **host, live_storage());
  if (!bundle) return complain(bundle.error(), exit_of_bundle_error(bundle.error()));
  DriversReport report;
  report.problems = vm::inconsistencies(*bundle);
  report.bundles.push_back({options.folder, std::move(*bundle)});
  return show("vm drivers collect", options, std::move(report), start);
}

int list(const VmDriversOptions& options) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  return show("vm drivers list", options, list_drivers(**host, options.folder), start);
}

int inspect_bundle(const VmDriversOptions& options, bool verify) {
  const auto start = Clock::now();
  const auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  return show(verify ? "vm drivers verify" : "vm drivers show", options,
              show_drivers(**host, options.folder, verify), start);
}

void declare_collect(CommandSpec& command) {
  auto options = std::make_shared<VmDriversOptions>();
  command.run = [options] { return collect(*options); };
  command.add({
      {.name = "FROM",
       .value = &options->collect.from,
       .help = "/ for this system, a folder, an NVIDIA-Linux-*.run, Debian packages, tar archives "
               "or single files of a driver",
       .required = true,
       .files = Files::read},
      {.name = "--out,-o",
       .value = &options->folder,
       .help = "The folder to create; it appears complete or not at all",
       .type = "BUNDLE",
       .required = true,
       .files = Files::written},
  });
  add_collect_options(command, options->collect);
  add_output(command, options->globals);
  command.footer =
      "Executes nothing that it reads, except with --headers: that runs the Makefile of "
      "the\nmodules' source with your rights, for some minutes. Files of this machine become hard "
      "links\nif possible.\nExit codes: 0 a driver with consistent parts; 1 the parts do not fit "
      "together; 2 no driver was\nfound, or BUNDLE cannot be written.";
}

template <bool kVerify>
void declare_bundle(CommandSpec& command) {
  auto options = std::make_shared<VmDriversOptions>();
  command.run = [options] { return inspect_bundle(*options, kVerify); };
  command.add({{.name = "BUNDLE",
                .value = &options->folder,
                .help = "A folder made by `vm drivers collect`",
                .required = true,
                .files = Files::read}});
  add_output(command, options->globals);
  command.footer = "Exit codes: 0 nothing is wrong; 1 something is; 2 not a bundle.";
}

void declare_list(CommandSpec& command) {
  auto options = std::make_shared<VmDriversOptions>();
  command.run = [options] { return list(*options); };
  command.add({{.name = "FOLDER",
                .value = &options->folder,
                .help = "A folder of bundles",
                .required = true,
                .files = Files::read}});
  add_output(command, options->globals);
  command.footer =
      "Exit codes: 0 listed; 1 a bundle in it cannot be read; 2 FOLDER cannot be read.";
}

constexpr CommandEntry kVmDriversSubcommands[] = {
    {"collect", "Make a driver bundle from this system, a folder, an installer or packages",
     declare_collect,
     "vm drivers collect / -o bundle\n"
     "vm drivers collect NVIDIA-Linux-x86_64-580.run -o bundle"},
    {"list", "List the bundles in a folder", declare_list,
     "vm drivers list bundles\n"
     "vm drivers list bundles --json"},
    {"show", "Show the content of a bundle, and whether its parts fit together",
     declare_bundle<false>,
     "vm drivers show bundle\n"
     "vm drivers show bundle --json"},
    {"verify", "Compare every file of a bundle with its SHA-256", declare_bundle<true>,
     "vm drivers verify bundle\n"
     "vm drivers verify bundle --quiet"},
    {"fetch", "Download an installer or package, check its SHA-256, and show its licence",
     declare_vm_drivers_fetch,
     "vm drivers fetch https://example.com/d.run --sha256 HASH\n"
     "vm drivers fetch https://example.com/d.run --sha256 HASH -o d.run"},
    {"upgrade", "Add a bundle to a folder of bundles, compare and test it, make it current",
     declare_vm_drivers_upgrade,
     "vm drivers upgrade bundles /\n"
     "vm drivers upgrade bundles --to 550.163.01"},
};

}  // namespace

void add_collect_options(CommandSpec& command, vm::CollectOptions& collect) {
  command.add({
      {.name = "--kernel",
       .value = &collect.kernel_release,
       .help =
           "Collect only modules of this kernel release; for / the default is the running kernel's",
       .type = "RELEASE"},
      {.name = "--driver-version",
       .value = &collect.driver_version,
       .help = "The version of the driver, if there are several",
       .type = "VERSION"},
      {.name = "--module",
       .value = &collect.modules,
       .help = "Also collect this module of that kernel, with its dependencies; can be given "
               "several times",
       .type = "NAME"},
      {.name = "--headers",
       .value = &collect.headers,
       .help = "Build the kernel modules from the source in FROM for the kernel with these headers",
       .type = "FOLDER",
       .files = Files::read},
      {.name = "--jobs",
       .value = &collect.jobs,
       .help = "Number of parallel compilers; one for each processor by default",
       .type = "N",
       .range = Range{1, 1024},
       .needs = "--headers"},
      {.name = "--sign-key",
       .value = &collect.sign_key,
       .help = "Sign the built modules with this private key (PEM)",
       .type = "FILE",
       .needs = "--headers",
       .files = Files::read},
      {.name = "--sign-certificate",
       .value = &collect.sign_certificate,
       .help = "The key's X.509 certificate; the guest's kernel must know it",
       .type = "FILE",
       .needs = "--sign-key",
       .files = Files::read},
  });
}

void declare_vm_drivers(CommandSpec& command) { command.subcommands = kVmDriversSubcommands; }

}  // namespace gpuready::cli
