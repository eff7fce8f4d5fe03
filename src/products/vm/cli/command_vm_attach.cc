// `vm plan`, `attach`, `detach`, `status` and `recover`.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/terminal.h"
#include "vm/cli/vm_commands.h"
#include "vm/cli/vm_host.h"
#include "vm/identity.h"
#include "vm/report/exit_rules.h"
#include "vm/report/plan_report.h"

namespace gpuready::cli {
namespace {

constexpr const char* kVmAttachExits =
    "Exit codes: 0 done; 1 refused, failed and rolled back, or in quarantine; 2 wrong usage;\n3 no "
    "such device or attachment; 4 an operation did not end, or another one is running.";

struct VmAttachOptions {
  Globals globals;
  std::vector<std::string> devices, accept;
  std::optional<std::string> name;
  std::optional<std::uint64_t> huge_pages_gib;
  std::string huge_page_size = "2M";
  bool managed = false;
  std::string clean_with;
  bool only_plan = false;
};

template <class Outcome>
int finish(std::string command, const Outcome& outcome, Clock::time_point start,
           const Globals& globals) {
  Envelope envelope = begin_vm_envelope(std::move(command), globals);
  envelope.exit = exit_of(tally(outcome));
  envelope.conclusion = conclusion(outcome);
  return deliver_report(envelope, outcome, start, globals);
}

Result<vm::AttachRequest> request_of(const VmAttachOptions& options) {
  vm::AttachRequest request;
  request.name = options.name.value_or("");
  if (options.name) TRY(vm::check_name(*options.name));
  auto named = TRY(devices_of(options.devices, options.globals));
  request.devices = std::move(named.devices);
  request.instances = std::move(named.instances);
  request.managed = options.managed;
  if (options.huge_pages_gib)
    request.huge_pages = vm::huge_pages(*options.huge_pages_gib, options.huge_page_size);
  return request;
}

int plan(const VmAttachOptions& options) {
  const auto start = Clock::now();
  const auto request = request_of(options);
  if (!request) return complain(request.error(), exit_of_lookup(request.error()));
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  const auto state =
      vm::read_state(**host, vm::kJournalFolder, {.all = false, .named = request->devices});
  if (!state) return complain(state.error(), exit_of_vm_error(state.error()));
  VmOperation operation{.done = {}, .planned_only = true};
  operation.done.push_back({.plan = vm::plan_attachment(*state, *request), .outcome = {}});
  return finish("vm plan", operation, start, options.globals);
}

// What `act` does on this machine, with progress and Ctrl-C.
template <class Act>
int carry_out(std::string command, const VmAttachOptions& options, Act act) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  catch_interrupts();
  ProgressLine progress(options.globals.quiet);
  vm::AttributeChild attributes;
  vm::Hands hands{.host = *host, .storage = live_storage(), .attributes = attributes};
  if (!options.clean_with.empty()) {
    if (const auto kernel = vm::guest_kernel(*host, options.clean_with); !kernel)
      return complain({kernel.error().kind, "--clean-with: " + kernel.error().message, 0});
    hands.clean_with = host->real_path(options.clean_with).value_or(options.clean_with);
  }
  hands.only_plan = options.only_plan;
  hands.cancel = &interrupted();
  hands.progress = [&](std::string_view what) { progress.show(what); };
  if (options.globals.timeout_s)
    hands.driver_deadline =
        std::chrono::milliseconds(static_cast<long>(*options.globals.timeout_s * 1000));
  auto done = act(hands);
  progress.clear();
  if (!done) return complain(done.error(), exit_of_vm_error(done.error()));
  return finish(std::move(command),
                VmOperation{.done = std::move(*done), .planned_only = options.only_plan}, start,
                options.globals);
}

int attach(const VmAttachOptions& options) {
  const auto request = request_of(options);
  if (!request) return complain(request.error(), exit_of_lookup(request.error()));
  return carry_out("vm attach", options, [&](vm::Hands& hands) -> Result<std::vector<vm::Done>> {
    if (!options.globals.quiet)
      hands.show_plan = [&](const vm::Plan& plan) {
        std::fputs(render_plan(plan, {}).c_str(), stderr);
      };
    return std::vector{TRY(vm::attach(hands, *request))};
  });
}

int detach(const VmAttachOptions& options) {
  const auto named = devices_of(options.devices, options.globals);
  if (!named) return complain(named.error(), exit_of_lookup(named.error()));
  if (options.devices.empty() && !options.name)
    return complain({ErrorKind::bad_input, "name what to detach: --for NAME or devices", 0});
  return carry_out("vm detach", options, [&](vm::Hands& hands) {
    return vm::detach(hands, options.name, named->devices, named->instances);
  });
}

int recover(const VmAttachOptions& options) {
  const auto accept = vm::addresses_named(*make_live_host(), options.accept);
  if (!accept) return complain(accept.error(), exit_of_lookup(accept.error()));
  return carry_out("vm recover", options,
                   [&](vm::Hands& hands) { return vm::recover(hands, *accept); });
}

int hold(const VmAttachOptions& options) {
  return carry_out("vm hold", options, [](vm::Hands& hands) { return vm::hold(hands); });
}

int status(const VmAttachOptions& options) {
  const auto start = Clock::now();
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  auto claims = vm::read_claims(**host, vm::kJournalFolder, inspect(**host, {.libraries = false}));
  if (!claims) return complain(claims.error(), exit_of_vm_error(claims.error()));
  return finish("vm status", status_of(std::move(*claims), options.name), start, options.globals);
}

void add_name(CommandSpec& command, VmAttachOptions& options, bool required) {
  command.add({{.name = "--for",
                .value = &options.name,
                .help = "Name of the virtual machine or other purpose",
                .type = "NAME",
                .required = required}});
}

void add_attach_options(CommandSpec& command, VmAttachOptions& options, bool name_required) {
  command.add(
      {{.name = "DEVICE",
        .value = &options.devices,
        .help = "PCI addresses, other names of a GPU, or UUIDs of mediated devices (vGPUs). All "
                "devices of the IOMMU group and slot are included",
        .required = true}});
  add_name(command, options, name_required);
  command.add({
      {.name = "--managed",
       .value = &options.managed,
       .help = "Prepare the devices and leave binding to libvirt (managed='yes')"},
      {.name = "--hugepages",
       .value = &options.huge_pages_gib,
       .help = "Reserve this many GiB of huge pages on the device's NUMA node",
       .type = "GIB",
       .range = Range{1, 65536}},
      {.name = "--hugepage-size",
       .value = &options.huge_page_size,
       .help = "Their size",
       .one_of = {"2M", "1G"}},
  });
}

void add_deadline(CommandSpec& command, VmAttachOptions& options) {
  command.add({{.name = "--timeout",
                .value = &options.globals.timeout_s,
                .help = "How long a driver may take to release a device (default: 60 s)",
                .range = Range{1, 3600},
                .seconds = true}});
}

void add_clean_with(CommandSpec& command, VmAttachOptions& options) {
  command.add({{.name = "--clean-with",
                .value = &options.clean_with,
                .help = "Test GPUs in a QEMU guest with this driver bundle, before a driver of the "
                        "host has them (default: /var/lib/gpuready/vm/clean-with, if it exists)",
                .type = "BUNDLE",
                .files = Files::read}});
}

}  // namespace

void declare_vm_plan(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return plan(*options); };
  add_attach_options(command, *options, false);
  add_vm_output(command, options->globals);
  command.footer =
      "Changes nothing. Exit codes: 0 the plan can be carried out; 1 it is refused; 2 wrong "
      "usage;\n3 no such device.";
}

void declare_vm_attach(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return attach(*options); };
  add_attach_options(command, *options, true);
  add_deadline(command, *options);
  add_output(command, options->globals);
  command.footer = kVmAttachExits;
}

void declare_vm_detach(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return detach(*options); };
  command.add({{.name = "DEVICE",
                .value = &options->devices,
                .help = "PCI addresses, other names of a GPU, or UUIDs; everything attached with "
                        "them is detached, too"}});
  add_name(command, *options, false);
  add_clean_with(command, *options);
  command.add({{.name = "--plan",
                .value = &options->only_plan,
                .help = "Show the steps and change nothing"}});
  add_deadline(command, *options);
  add_output(command, options->globals);
  command.footer = kVmAttachExits;
}

void declare_vm_status(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return status(*options); };
  add_name(command, *options, false);
  add_vm_output(command, options->globals);
  command.footer =
      "Exit codes: 0 everything is consistent; 1 a device is in quarantine; 4 an operation did "
      "not\nend, or a journal cannot be read.";
}

void declare_vm_recover(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return recover(*options); };
  command.add({{.name = "--accept",
                .value = &options->accept,
                .help = "Release this device from quarantine untested, at your own risk: its "
                        "memory may hold a guest's data",
                .type = "DEVICE"}});
  add_clean_with(command, *options);
  add_deadline(command, *options);
  add_output(command, options->globals);
  command.footer = kVmAttachExits;
}

void declare_vm_hold(CommandSpec& command) {
  auto options = std::make_shared<VmAttachOptions>();
  command.run = [options] { return hold(*options); };
  add_deadline(command, *options);
  add_output(command, options->globals);
  command.footer =
      "For gpuready-vm-hold.service, before drivers load. vm recover releases the devices.\nExit "
      "codes: 0 held, or nothing is to be held; 1 a device could not be held; 2 wrong usage, or "
      "not "
      "root.";
}

}  // namespace gpuready::cli
