// The C interface of devices for virtual machines. Nothing is thrown across it.
#include "base/text.h"
#include "gpuready/vm_c.h"
#include "host/host.h"
#include "machine/inspect.h"
#include "machine/pci/pci_files.h"
#include "report/c_document.h"
#include "vm/identity.h"
#include "vm/operations.h"
#include "vm/readiness.h"
#include "vm/report/devices_report.h"
#include "vm/report/exit_rules.h"
#include "vm/report/plan_report.h"

namespace {

using namespace gpuready;

Result<vm::AttachRequest> request_of(const char* devices, const char* name, bool managed) {
  if (devices == nullptr) return null_pointer("devices");
  if (name == nullptr) return null_pointer("name");
  vm::AttachRequest request;
  request.name = name;
  request.managed = managed;
  TRY(vm::check_name(request.name));
  for (const auto text : split(devices, ", ")) {
    const auto address = parse_pci_address(text);
    if (!address)
      return fail(ErrorKind::bad_input,
                  printable(text) + ": not a PCI address such as 0000:17:00.0");
    request.devices.push_back(*address);
  }
  if (request.devices.empty()) return fail(ErrorKind::bad_input, "devices names none");
  return request;
}

// A document of a report that has a tally.
template <class Told>
Json document_of(const Told& told, Host& host, const char* command, Clock::time_point start) {
  Envelope envelope = c_envelope(host, command, GPUREADY_VERSION, start);
  envelope.exit = exit_of(tally(told));
  envelope.conclusion = conclusion(told);
  return to_json(told, envelope);
}

// What `act` does on this machine: one operation, or several.
template <class Act>
Result<Json> carry_out(const char* command, Act act) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  vm::Hands hands{.host = *host, .storage = live_storage()};
  return document_of(VmOperation{.done = TRY(act(hands))}, *host, command, start);
}

Result<Json> list_devices() {
  const auto start = Clock::now();
  const auto host = make_live_host();
  auto state = TRY(vm::read_state(*host, vm::kJournalFolder));
  VmDevices devices{.inventory = std::move(state.inventory), .shown = {}};
  devices.shown = vm::passable_ones(devices.inventory);
  devices.instances = vm::every_instance(devices.inventory);
  Envelope envelope = c_envelope(*host, "vm list", GPUREADY_VERSION, start);
  envelope.conclusion = conclusion(devices);
  return to_json(devices, envelope);
}

Result<Json> plan_devices(const char* devices, const char* name, bool managed) {
  const auto start = Clock::now();
  const auto request = TRY(request_of(devices, name, managed));
  const auto host = make_live_host();
  const auto state =
      TRY(vm::read_state(*host, vm::kJournalFolder, {.all = false, .named = request.devices}));
  VmOperation operation{.done = {}, .planned_only = true};
  operation.done.push_back({.plan = vm::plan_attachment(state, request), .outcome = {}});
  return document_of(operation, *host, "vm plan", start);
}

Result<Json> read_status() {
  const auto start = Clock::now();
  const auto host = make_live_host();
  VmStatus told{.claims = TRY(vm::read_claims(*host, vm::kJournalFolder,
                                              inspect(*host, {.libraries = false})))};
  std::erase_if(told.claims,
                [](const vm::Claim& claim) { return state_of(claim) == vm::ClaimState::gone; });
  return document_of(told, *host, "vm status", start);
}

}  // namespace

extern "C" {

gpuready_status gpuready_vm_list_json(char** json) { return give_document(json, list_devices); }
gpuready_status gpuready_vm_plan_json(const char* devices, const char* name, int managed,
                                      char** json) {
  return give_document(json, [&] { return plan_devices(devices, name, managed != 0); });
}
gpuready_status gpuready_vm_attach_json(const char* devices, const char* name, int managed,
                                        char** json) {
  return give_document(json, [&]() -> Result<Json> {
    const auto request = TRY(request_of(devices, name, managed != 0));
    return carry_out("vm attach", [&](vm::Hands& hands) -> Result<std::vector<vm::Done>> {
      return std::vector{TRY(vm::attach(hands, request))};
    });
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

}  // extern "C"
