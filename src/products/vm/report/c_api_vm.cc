// The C interface of devices for virtual machines. Nothing is thrown across it.
#include "base/text.h"
#include "gpuready/gpu_info.h"
#include "gpuready/vm_c.h"
#include "host/host.h"
#include "machine/inspect.h"
#include "report/c_document.h"
#include "vm/identity.h"
#include "vm/named_devices.h"
#include "vm/operations.h"
#include "vm/report/exit_rules.h"
#include "vm/report/make_reports.h"
#include "vm/report/plan_report.h"

namespace {

using namespace gpuready;

// Null names none: all that list names.
Result<vm::NamedDevices> named_by(Host& host, const char* devices) {
  if (devices == nullptr) return vm::NamedDevices();
  std::vector<std::string> names;
  for (const auto name : split(std::string_view(devices), ", ")) names.emplace_back(name);
  if (names.empty()) return fail(ErrorKind::bad_input, "devices names none");
  return vm::devices_named(host, names);
}

Result<vm::AttachRequest> request_of(Host& host, const char* devices, const char* name,
                                     bool managed) {
  if (devices == nullptr) return null_pointer("devices");
  if (name == nullptr) return null_pointer("name");
  vm::AttachRequest request;
  request.name = name;
  request.managed = managed;
  TRY(vm::check_name(request.name));
  auto named = TRY(named_by(host, devices));
  request.devices = std::move(named.devices);
  request.instances = std::move(named.instances);
  return request;
}

template <class Outcome>
Json document_of(const Outcome& outcome, Host& host, const char* command, Clock::time_point start) {
  Envelope envelope = c_envelope(host, command, GPUREADY_VERSION, start);
  if constexpr (requires { tally(outcome); })
    envelope.exit = exit_of(tally(outcome));
  else if constexpr (requires { exit_of(outcome); })
    envelope.exit = exit_of(outcome);
  if constexpr (requires { conclusion(outcome); }) envelope.conclusion = conclusion(outcome);
  return to_json(outcome, envelope);
}

// The document of what `make` reports of this machine.
template <class Make>
gpuready_status give_report(char** json, const char* command, Make make) {
  return give_document(json, [&]() -> Result<Json> {
    const auto start = Clock::now();
    const auto host = make_live_host();
    return document_of(TRY(make(*host)), *host, command, start);
  });
}

// What `act` does on this machine: one operation, or several.
template <class Act>
Result<Json> carry_out(const char* command, Act act) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  vm::AttributeChild attributes;
  vm::Hands hands{.host = *host, .storage = live_storage(), .attributes = attributes};
  return document_of(VmOperation{.done = TRY(act(hands))}, *host, command, start);
}

Result<Json> plan_devices(const char* devices, const char* name, bool managed) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  const auto request = TRY(request_of(*host, devices, name, managed));
  const auto state =
      TRY(vm::read_state(*host, vm::kJournalFolder, {.all = false, .named = request.devices}));
  VmOperation operation{.done = {}, .planned_only = true};
  operation.done.push_back({.plan = vm::plan_attachment(state, request), .outcome = {}});
  return document_of(operation, *host, "vm plan", start);
}

Result<Json> read_status() {
  const auto start = Clock::now();
  const auto host = make_live_host();
  VmStatus outcome{.claims = TRY(vm::read_claims(*host, vm::kJournalFolder,
                                                 inspect(*host, {.libraries = false})))};
  std::erase_if(outcome.claims,
                [](const vm::Claim& claim) { return state_of(claim) == vm::ClaimState::gone; });
  return document_of(outcome, *host, "vm status", start);
}

}  // namespace

extern "C" {

gpuready_status gpuready_vm_list_json(char** json) {
  return give_report(json, "vm list", [](Host& host) { return list_devices(host); });
}
gpuready_status gpuready_vm_show_json(const char* devices, const char* name, char** json) {
  return give_report(json, "vm show", [&](Host& host) -> Result<VmDevices> {
    return show_devices(host, TRY(named_by(host, devices)),
                        name == nullptr ? std::nullopt : std::optional<std::string>(name));
  });
}
gpuready_status gpuready_vm_plan_json(const char* devices, const char* name, int managed,
                                      char** json) {
  return give_document(json, [&] { return plan_devices(devices, name, managed != 0); });
}
gpuready_status gpuready_vm_attach_json(const char* devices, const char* name, int managed,
                                        char** json) {
  return give_document(json, [&]() -> Result<Json> {
    const auto request = TRY(request_of(*make_live_host(), devices, name, managed != 0));
    return carry_out("vm attach", [&](vm::Hands& hands) -> Result<std::vector<vm::Done>> {
      return std::vector{TRY(vm::attach(hands, request))};
    });
  });
}
gpuready_status gpuready_vm_args_json(const char* name, const char* hypervisor, char** json) {
  return give_report(json, "vm args", [&](Host& host) -> Result<ArgsReport> {
    if (name == nullptr) return null_pointer("name");
    if (hypervisor == nullptr) return null_pointer("hypervisor");
    const auto known = named<vm::Hypervisor>(hypervisor);
    if (!known)
      return fail(ErrorKind::bad_input,
                  printable(hypervisor) + ": not qemu, libvirt or cloud-hypervisor");
    return args_for(host, name, *known);
  });
}
gpuready_status gpuready_vm_detach_json(const char* name, char** json) {
  return give_document(json, [&]() -> Result<Json> {
    if (name == nullptr) return null_pointer("name");
    return carry_out("vm detach",
                     [&](vm::Hands& hands) { return vm::detach(hands, std::string(name), {}); });
  });
}
gpuready_status gpuready_vm_status_json(char** json) { return give_document(json, read_status); }
gpuready_status gpuready_vm_recover_json(char** json) {
  return give_document(json, [] {
    return carry_out("vm recover", [](vm::Hands& hands) { return vm::recover(hands); });
  });
}
gpuready_status gpuready_vm_doctor_json(const char* devices, char** json) {
  return give_report(json, "vm doctor", [&](Host& host) -> Result<VmDoctorReport> {
    return diagnose_side(host, TRY(named_by(host, devices)), "auto",
                         []() -> Result<Machine> { return *TRY(inspect_machine()); });
  });
}
gpuready_status gpuready_vm_doctor_console_json(const char* console, char** json) {
  return give_report(json, "vm doctor", [&](Host&) -> Result<VmDoctorReport> {
    if (console == nullptr) return null_pointer("console");
    return diagnose_console(console);
  });
}
gpuready_status gpuready_vm_drivers_list_json(const char* folder, char** json) {
  return give_report(json, "vm drivers list", [&](Host& host) -> Result<DriversReport> {
    if (folder == nullptr) return null_pointer("folder");
    return list_drivers(host, folder);
  });
}
gpuready_status gpuready_vm_drivers_show_json(const char* bundle, char** json) {
  return give_report(json, "vm drivers show", [&](Host& host) -> Result<DriversReport> {
    if (bundle == nullptr) return null_pointer("bundle");
    return show_drivers(host, bundle, false);
  });
}
gpuready_status gpuready_vm_drivers_verify_json(const char* bundle, char** json) {
  return give_report(json, "vm drivers verify", [&](Host& host) -> Result<DriversReport> {
    if (bundle == nullptr) return null_pointer("bundle");
    return show_drivers(host, bundle, true);
  });
}

}  // extern "C"
