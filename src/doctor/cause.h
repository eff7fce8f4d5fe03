// The one engine of causes. A cause is one row: what it is called, how it is proven, what is to be
// done, how it is cured, and which other causes only follow from it. diagnose(), the comparisons of
// two machines, `vm doctor` and guests' consoles have rows of this kind. Where a row cannot say
// what it looks for, code finds it: a Match. tell() makes a finding of it, and fold() puts what
// follows from a finding under it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/diagnose.h"

namespace gpuready::doctor {

struct ReportedCause;
struct Facts {
  const Machine& machine;
  const DiagnoseOptions& options;
  const std::set<int>& blamed;             // GPUs that an error of an earlier row concerns
  const std::vector<ReportedCause>& told;  // by the earlier rows
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
  looked,  // what finds the match has looked for that
};

// One place where a cause was seen. Texts that are set replace the row's.
struct Match {
  std::vector<int> gpus = {};  // empty, with `pci` empty: the whole machine
  std::vector<PciAddress> pci = {};
  std::vector<Evidence> evidence = {};  // never empty
  std::optional<std::string> id = {}, title = {}, explanation = {}, cure = {}, command = {};
  std::optional<Severity> severity = {};
  std::optional<Action> action = {};
  std::optional<CureTerms> terms = {};
  Standing standing = Standing::present;
  bool own_cure = false;                                         // as the row's
  std::vector<std::pair<std::string, std::string>> values = {};  // of further placeholders
};

// Of cures that change settings or software. What is only read or asked for needs nothing.
inline constexpr CureTerms kAsUser = {};
inline constexpr CureTerms kAsRoot = {.needs = CureNeeds::root};
inline constexpr CureTerms kByService = {CureRisk::restarts_service, CurePlace::here,
                                         CureNeeds::root};
inline constexpr CureTerms kByReload = {CureRisk::ends_processes, CurePlace::here,
                                        CureNeeds::free_gpu};
inline constexpr CureTerms kByReboot = {CureRisk::reboots, CurePlace::here,
                                        CureNeeds::free_machine};
inline constexpr CureTerms kInFirmware = {CureRisk::reboots, CurePlace::firmware,
                                          CureNeeds::free_machine};
inline constexpr CureTerms kAtLaunch = {CureRisk::ends_processes, CurePlace::launcher,
                                        CureNeeds::nothing};
inline constexpr CureTerms kInWindows = {CureRisk::ends_processes, CurePlace::windows,
                                         CureNeeds::nothing};

using Ids = std::vector<std::string_view>;
Ids both(Ids some, const Ids& more);

// In a container, where nothing else is known of its runtime (cure_in_container() of commands.h).
struct CureInside {
  std::string_view cure;
  Action action = Action::configure;
};

struct Cause {
  std::string_view id;
  Severity severity = Severity::error;
  std::string_view title, explanation, cure = {};
  // Placeholders: {pci} and {index} of the first GPU concerned, {kernel} the running release,
  // {driver} the version of the loaded kernel module, {do:NAME} a task of commands.h, and those of
  // Match::values. What a machine says enters a command through them alone, because add_command()
  // lets nothing through that a shell could take for more than a word. A command whose placeholder
  // cannot be filled is left out.
  std::string_view command = {};
  // check_again and the actions from reset_gpu on are steps: each includes the weaker ones, so a
  // root takes over a stronger step of what it explains, with its cure. Other actions are not
  // steps.
  Action action = Action::none;
  // A row whose action is configure or ask_host says its own: those of the others follow from the
  // action (usual_terms() of value/action.h).
  std::optional<CureTerms> terms = {};
  bool own_cure = false;  // not a step either
  CureInside in_container = {};
  Backing backing = Backing::driven;
  Ids explains = {};  // "xid-79" for one Xid, "xid-*" for any
  // What it looks for: lines of the kernel log (machine/system/kernel_log.h) about a GPU that does
  // not answer, or what code finds. Neither: other code tells it.
  Ids lines = {};
  std::vector<Match> (*match)(const Facts&) = nullptr;
  // The ids of its findings, where Match::id sets them; "xid-N" for any Xid. Else `id`.
  Ids finding_ids = {};
  bool apart = false;  // one finding for each match: its evidence does not say whose it is
};

struct ReportedCause {
  const Cause* cause = nullptr;
  Finding finding;
  Standing standing = Standing::present;
  bool own_cure = false;
  std::size_t root = 0;  // index of what explains it; its own when nothing does
};

// What a row's cure costs, where nothing of the machine changes it.
CureTerms terms_of(const Cause& cause);
ReportedCause tell(const Cause& cause, Match match, const Machine& machine);
// Whether a root explains a consequence; by_rows(): its row lists the consequence's id, and both
// concern the same GPUs.
using Explains = std::function<bool(const ReportedCause& root, const ReportedCause& folded)>;
bool by_rows(const ReportedCause& root, const ReportedCause& folded);
// Errors first, else in the order in which they were told.
std::vector<Finding> fold(std::vector<ReportedCause> told, const Machine& machine,
                          const Explains& explains = by_rows);

// The rows that diagnose() runs, in root order: of two that could both be reported, the earlier one
// lies closer to the root. Behind them those of comparisons.
const std::vector<Cause>& causes();
const Cause& find_cause(std::string_view id);

// The rows by area, in root order within the area.
std::vector<Cause> bus_causes();       // causes_bus.cc: on the bus
std::vector<Cause> bind_causes();      // causes_bind.cc: which driver holds the GPU
std::vector<Cause> adapter_causes();   // causes_adapter.cc: the kernel driver and the board
std::vector<Cause> start_causes();     // causes_start.cc: a loaded driver does not drive it
std::vector<Cause> recovery_causes();  // causes_recovery.cc: GPUs that hung; firmware on them
std::vector<Cause> pcie_causes();      // causes_pcie.cc: errors of the link
std::vector<Cause> fabric_causes();    // causes_fabric.cc: NVSwitches
std::vector<Cause> network_causes();   // causes_network.cc: InfiniBand, RoCE, EFA
std::vector<Cause> probe_causes();     // causes_probe.cc: drivers that hang or crash
std::vector<Cause> library_causes();   // causes_library.cc: user space against the kernel module
std::vector<Cause> toolkit_causes();   // causes_toolkit.cc: CUDA toolkits against the driver
std::vector<Cause> access_causes();    // causes_access.cc: device nodes, containers
std::vector<Cause> uvm_causes();       // causes_uvm.cc: NVIDIA's unified memory
std::vector<Cause> visible_causes();   // causes_visible.cc: variables that hide GPUs
std::vector<Cause> state_causes();     // causes_state.cc: MIG, modes, fabric, licences
std::vector<Cause> health_causes();    // causes_health.cc: memory, links, power
std::vector<Cause> amd_causes();       // causes_amd.cc
std::vector<Cause> intel_causes();     // causes_intel.cc: its compute runtime
std::vector<Cause> symptom_causes();   // causes_symptom.cc: told only when no cause was found
std::vector<Cause> unseen_causes();    // causes_unseen.cc: what could not be looked at
std::vector<Cause> known_causes();     // causes_known.cc: faults of these versions
std::vector<Cause> change_causes();    // compare.cc: what two looks at a machine tell

}  // namespace gpuready::doctor
