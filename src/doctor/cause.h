// The shape of the cause table. A cause is one row: what it is called, how it is proven, how it is
// cured, and which other causes only follow from it. causes() lists the rows in root order: of two
// rows that could both be reported, the earlier one lies closer to the root.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/diagnose.h"

namespace gpuready::doctor {

struct Facts {
  const Machine& machine;
  const DiagnoseOptions& options;
  const std::set<int>& blamed;  // GPUs that an error of an earlier row concerns
};

// How far a cure goes. From restart_app on it is a ladder: each step includes those before it.
enum class Remedy {
  look,  // find out more
  mend,  // software, settings or cabling: no step of the ladder stands in for it
  restart_app,
  reset,
  reboot,
  power_cycle,
  replace,
};

// What a match says about the machine as it is now.
enum class Standing {
  present,
  past,    // history: it explains only what is no worse than itself
  chosen,  // somebody set it up so: what follows is not a fault
};

// What must agree with the kernel log where nothing else proves a match. A line reports a moment:
// without this, it is a warning about the past and condemns no GPU.
enum class Backing {
  driven,  // a driver of the GPU's vendor is loaded, so what it logged since this boot is its word
  on_bus,  // the device is on the bus
  silent,  // the GPU does not run now (runs_now() of facts.h)
  absent,  // no device is at the address
};

// One place where a cause was seen. Texts that are set replace the row's.
struct Match {
  std::vector<int> gpus;  // empty, with `pci` empty: the whole machine
  std::vector<PciAddress> pci;
  std::vector<Evidence> evidence;  // never empty
  std::optional<std::string> id, title, explanation, cure, command;
  std::optional<Severity> severity;
  std::optional<Remedy> remedy;
  Standing standing = Standing::present;
  std::vector<std::pair<std::string, std::string>>
      values;  // of further placeholders: {name}, value
};

struct Cause {
  std::string_view id;
  Severity severity = Severity::error;
  std::string_view title, explanation, cure;
  // Placeholders: {pci} and {index} of the first GPU concerned, {kernel} the running release,
  // {driver} the version of the loaded kernel module, {do:NAME} a task of commands.h, and those of
  // Match::values. What a machine says enters a command through them alone, because add_command()
  // lets nothing through that a shell could take for more than a word. A command whose placeholder
  // cannot be filled is left out.
  std::string_view command;
  Remedy remedy = Remedy::mend;
  Backing backing = Backing::driven;
  std::vector<std::string_view> explains;  // ids; "xid-79" for one Xid, "xid-*" for any
  std::vector<Match> (*match)(const Facts&) = nullptr;
  // The ids of its findings, where Match::id sets them; "xid-N" for any Xid. Else `id`.
  std::vector<std::string_view> finding_ids = {};
};

const std::vector<Cause>& causes();

// The rows by area, in root order within the area.
std::vector<Cause> bus_causes();       // causes_bus.cc: on the bus
std::vector<Cause> bind_causes();      // causes_bind.cc: which driver holds the GPU
std::vector<Cause> adapter_causes();   // causes_adapter.cc: the kernel driver and the board
std::vector<Cause> start_causes();     // causes_start.cc: a loaded driver does not drive it
std::vector<Cause> recovery_causes();  // causes_recovery.cc: GPUs that hung; firmware on them
std::vector<Cause> pcie_causes();      // causes_pcie.cc: errors of the link
std::vector<Cause> fabric_causes();    // causes_fabric.cc: NVSwitches
std::vector<Cause> probe_causes();     // causes_probe.cc: drivers that hang or crash
std::vector<Cause> library_causes();   // causes_library.cc: user space against the kernel module
std::vector<Cause> toolkit_causes();   // causes_toolkit.cc: CUDA toolkits against the driver
std::vector<Cause> access_causes();    // causes_access.cc: device nodes, containers
std::vector<Cause> uvm_causes();       // causes_uvm.cc: NVIDIA's unified memory
std::vector<Cause> visible_causes();   // causes_visible.cc: variables that hide GPUs
std::vector<Cause> state_causes();     // causes_state.cc: MIG, modes, fabric, licences
std::vector<Cause> health_causes();    // causes_health.cc: memory, links, power
std::vector<Cause> amd_causes();       // causes_amd.cc
std::vector<Cause> symptom_causes();   // causes_symptom.cc: told only when no cause was found
std::vector<Cause> unseen_causes();    // causes_unseen.cc: what could not be looked at

}  // namespace gpuready::doctor
