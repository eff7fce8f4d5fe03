// attach, detach and recover, whole: lock, journal, plan, steps, roll-back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vm/inventory.h"
#include "vm/perform.h"

namespace gpuready::vm {

// What an operation did, or why it did nothing.
struct Done {
  Plan plan;  // refusals in it: nothing was done
  Outcome outcome;
  bool ok() const { return plan.refusals.empty() && !outcome.error && outcome.whole(); }
};

// Marks what is attached or in quarantine, and assesses the devices again.
void apply_claims(Inventory& inventory, const std::vector<Claim>& claims);

// The machine as it is, with what the journal says of it.
struct State {
  Inventory inventory;
  std::vector<Claim> claims;
};
Result<State> read_state(Host& host, const std::string& folder,
                         const InventoryOptions& options = {});

// What one virtual machine has, by the journal.
struct Attached {
  std::vector<const Device*> devices;  // of the state
  std::vector<const MediatedDevice*> instances;
  bool managed = false;
  std::vector<std::string> notes;  // what is not as attach() left it
};
// not_found: why nothing is, or can be named.
Result<Attached> attached_to(const State& state, const std::string& name);

// What attach() would do: plan_attach(), and what the journal says against it.
Plan plan_attachment(const State& state, const AttachRequest& request);

Result<Done> attach(Hands& hands, const AttachRequest& request);

// Gives back all that is attached for `name`; of `devices` the claims that hold them, where any is
// named. With Hands::only_plan it plans that and changes nothing.
Result<std::vector<Done>> detach(Hands& hands, const std::optional<std::string>& name,
                                 const std::vector<PciAddress>& devices,
                                 const std::vector<std::string>& instances = {});

// At boot, before drivers load: devices whose claims recover() has not decided since the restart
// get an override that no driver fits. recover() ends it. One Done a claim.
inline constexpr const char* kHoldOverride = "gpuready-hold";
Result<std::vector<Done>> hold(Hands& hands);

// Brings every claim to a whole state: attaches that were not finished are taken back, detaches are
// finished, what a restart of the machine took back is cleaned, quarantined devices are tested
// again. `accept`: devices that leave quarantine as they are, because the operator says so.
Result<std::vector<Done>> recover(Hands& hands, const std::vector<PciAddress>& accept = {});

}  // namespace gpuready::vm
