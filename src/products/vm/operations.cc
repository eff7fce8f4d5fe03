#include "vm/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "host/folders.h"
#include "host/machine_id.h"
#include "machine/inspect.h"
#include "machine/pci/pci_addresses.h"
#include "machine/pci/pci_files.h"
#include "machine/system/named_libraries.h"
#include "vm/actions.h"
#include "vm/identity.h"
#include "vm/readiness.h"

namespace gpuready::vm {
namespace {

constexpr std::uint32_t kPrivate = 0700;

// What a quarantined device is released by must be this program's and the system's driver's answer.
Result<void> check_caller(Hands& hands, std::string_view what) {
  if (TRY(hands.host.identity()).effective_uid != 0)
    return fail(ErrorKind::no_permission, fmt::format("only root can {}: run it with sudo", what));
  const auto named = named_libraries(hands.host, /*is_gpuready=*/true);
  if (named.empty()) return {};
  return fail(ErrorKind::bad_input,
              named_libraries_text(named) +
                  ": a command that changes devices uses its own program and the system's drivers "
                  "only; unset the variable");
}

Result<std::unique_ptr<Storage::Lock>> lock_journal(Hands& hands) {
  TRY(check_caller(hands, "attach and detach devices"));
  if (const auto made = make_folders(hands.folder, hands.storage, kPrivate); !made)
    return fail(made.error().kind,
                "nothing was done, because no journal can be kept: " + made.error().message,
                made.error().code);
  // Root carries out what is in the journal.
  TRY(hands.host.check_own(hands.folder + "/"));
  auto lock = hands.storage.lock(hands.folder + "/lock");
  if (!lock && lock.error().kind == ErrorKind::busy)
    return fail(ErrorKind::busy,
                "another gpuready attaches or detaches devices now; try again when it has ended");
  return lock;
}

bool has(const std::vector<PciAddress>& devices, const PciAddress& device) {
  return std::ranges::find(devices, device) != devices.end();
}

bool overlaps(const Claim& claim, const std::vector<PciAddress>& devices,
              const std::vector<std::string>& instances) {
  const auto has_any = [](const auto& attached, const auto& wanted) {
    return std::ranges::find_first_of(attached, wanted) != attached.end();
  };
  return has_any(claim.attached().devices, devices) ||
         has_any(claim.attached().instances, instances);
}

std::vector<PciAddress> devices_of(const Claim& claim) {
  return claim.operations.empty() ? std::vector<PciAddress>{} : claim.attached().devices;
}

unsigned next_id(const std::vector<Claim>& claims) {
  unsigned id = 0;
  for (const auto& claim : claims) id = std::max(id, claim.id);
  return id + 1;
}

// The devices of claims, whatever they are.
InventoryOptions naming(const std::vector<Claim>& claims) {
  InventoryOptions options;
  for (const auto& claim : claims)
    for (const auto& device : devices_of(claim)) options.named.push_back(device);
  return options;
}

// What is gone and may come back with a guest's data, unless the operator lets it go. Its address
// may be another's now.
std::vector<DeviceIdentity> lost_devices(const Claim& claim, const Inventory& inventory,
                                         const std::vector<PciAddress>& accept = {}) {
  std::vector<DeviceIdentity> lost;
  for (auto identity : claim.gone) {
    while (has(inventory.addresses, identity.address)) ++identity.address.domain;
    if (identity.has_memory && !has(accept, identity.address)) lost.push_back(std::move(identity));
  }
  return lost;
}

// A mistyped address must not look like an accepted device.
Result<void> check_accepted(const std::vector<PciAddress>& accept, const State& state) {
  std::vector<PciAddress> all;
  for (const auto& device : state.inventory.devices)
    if (device.around.quarantine) all.push_back(device.function.address);
  for (const auto& claim : state.claims)
    for (const auto& identity : lost_devices(claim, state.inventory))
      all.push_back(identity.address);
  for (const auto& address : accept)
    if (!has(all, address))
      return fail(ErrorKind::not_found,
                  fmt::format("--accept {}: it is not in quarantine; {}", address.text(),
                              all.empty() ? "nothing is"
                                          : joined(all) + (all.size() == 1 ? " is" : " are")));
  return {};
}

// Carries `plan` out as the next operation of the claim. `on_failure` says whether the way back is
// wanted.
Result<Done> follow(Hands& hands, const Claim& claim, const Inventory& inventory, Plan plan,
                    OnFailure on_failure, const std::vector<PciAddress>& accept = {}) {
  const auto lost = lost_devices(claim, inventory, accept);
  plan.identities.insert(plan.identities.end(), lost.begin(), lost.end());
  auto journal = TRY(JournalWriter::begin(hands.storage, hands.folder, claim.id,
                                          claim.last().sequence + 1, plan, boot_id(hands.host)));
  Done done{.plan = plan, .outcome = {}};
  done.outcome = perform(plan, journal, hands, on_failure, claim.operations.front().vbios, accept);
  done.outcome.notes.insert(done.outcome.notes.begin(), plan.warnings.begin(), plan.warnings.end());
  const bool back = done.outcome.error && on_failure == OnFailure::undo;
  for (const auto& identity : lost) {
    if (done.outcome.error) break;
    auto& why = done.outcome.unclean[identity.address];
    why = fmt::format("{} is no longer in this machine; gpuready vm recover --accept {} lets it go",
                      identity.uuid.value_or(identity.ids), identity.address.text());
    TRY(journal.note_unclean(identity.address, why));
  }
  // Others may be attached again. What moves together returns together.
  const auto is_back = [&](const PciAddress& device) {
    return done.outcome.returned.contains(device) || !has(plan.devices, device);
  };
  if (!lost.empty() || !std::ranges::all_of(plan.devices, is_back))
    for (const auto& device : done.outcome.returned)
      if (const auto* now = inventory.find(device);
          now == nullptr || std::ranges::all_of(now->around.moves_together, is_back))
        static_cast<void>(journal.note_returned(device));
  if (!done.outcome.whole() || (done.outcome.error && !back)) return done;  // recover goes on
  if (const auto ended = journal.end(back); !ended) {
    done.outcome.error = done.outcome.error.value_or(ended.error());
    done.outcome.left.push_back("the journal's last line");
    return done;
  }
  if (!back && done.outcome.unclean.empty()) {
    Claim all = claim;
    all.operations.emplace_back().file = journal.file();
    if (const auto removed = remove_claim(hands.storage, hands.folder, all); !removed)
      done.outcome.error = removed.error();
  }
  return done;
}

Plan empty_plan(const Claim& claim) {
  return {.operation = "detach",
          .name = claim.attached().name,
          .devices = claim.attached().devices,
          .instances = claim.attached().instances,
          .managed = claim.attached().managed,
          .steps = {},
          .warnings = {},
          .refusals = {},
          .absent = {},
          .identities = claim.attached().identities};
}

// Whether drivers of the host may have a device of `test` again: then all was found out that could
// have kept it from them.
bool was_released(const Operation& detach, const PlanAction& test) {
  return std::ranges::any_of(detach.begun, [&](std::size_t index) {
    if (index >= detach.plan.steps.size()) return false;
    const auto& act = detach.plan.steps[index].act;
    return act.kind == ActionKind::write && act.path.ends_with("/driver_override") &&
           has(test.devices, *act.device);
  });
}

// The bundle whose guests test GPUs; empty: this host's driver tests them.
std::string clean_bundle(Hands& hands) {
  if (!hands.clean_with.empty()) return hands.clean_with;
  const auto usual = hands.folder + "/" + kCleanBundle;
  // Also a link to what is not there: then no guest can test, and nothing else may.
  return hands.host.exists(usual) || hands.host.read_link(usual) ? usual : "";
}

// That of the guests whose tests keep devices of this detach from drivers of the host.
std::string clean_bundle(const Operation& detach) {
  for (const auto& step : detach.plan.steps)
    if (is_clean_in_guest(step.act) && !was_released(detach, step.act)) return step.act.path;
  return {};
}

// As a detach does it, for all that stayed with VFIO.
void add_cleaning_in_guest(Plan& plan, const Plan& whole, const PlanStep& clean, bool same_boot) {
  const auto& held = clean.act.devices;
  plan.steps.push_back(whole.steps.front());
  plan.steps.back().act.devices = held;
  plan.steps.back().act.instances.clear();
  for (const auto& step : whole.steps)
    if (step.act.device && has(held, *step.act.device) && (same_boot || !is_no_reset(step.act)))
      plan.steps.push_back(step);
}

// What keeps a device in quarantine is looked at again: only what no longer holds is forgotten.
void add_cleaning(Plan& plan, const Claim& claim, const Inventory& inventory, bool same_boot,
                  const std::string& clean_with) {
  const auto& noted = claim.operations.front().vbios;
  const auto whole = plan_detach(claim.attached(), inventory,
                                 clean_with.empty() ? clean_bundle(claim.last()) : clean_with);
  for (const auto& [device, why] : claim.quarantine()) {
    const auto is_its = [&](const PlanStep& step) { return step.act.device == device; };
    const auto in_guest = std::ranges::find_if(whole.steps, [&](const PlanStep& step) {
      return is_its(step) && is_clean_in_guest(step.act);
    });
    if (in_guest != whole.steps.end()) {
      if (std::ranges::none_of(plan.steps, is_its))  // not with another one of its group
        add_cleaning_in_guest(plan, whole, *in_guest, same_boot);
      continue;
    }
    if (std::ranges::none_of(claim.last().plan.steps, is_its)) {  // it was gone
      std::ranges::copy_if(whole.steps, std::back_inserter(plan.steps), is_its);
      continue;
    }
    const bool no_reset = std::ranges::any_of(claim.last().plan.steps, [&](const PlanStep& step) {
      return is_no_reset(step.act) && step.act.device == device;
    });
    if (no_reset && same_boot) plan.steps.push_back(no_reset_step(device));
    if (noted.contains(device)) plan.steps.push_back(vbios_step(device));
    plan.steps.push_back(clean_step(device));
  }
}

// A restart has ended what drivers made: vGPUs and virtual functions.
void end_what_a_restart_ended(Plan& plan, const Inventory& inventory) {
  plan.instances.clear();
  const auto noted = [&](const PciAddress& device) {
    return std::ranges::any_of(plan.steps, [&](const PlanStep& step) {
      return step.act.kind == ActionKind::rom && step.act.device == device;
    });
  };
  // One with a memory of its own is missed; what a driver had made of it is not.
  std::set<PciAddress> gone;
  for (const auto& device : plan.devices)
    if (inventory.find(device) == nullptr && !noted(device)) gone.insert(device);
  const auto ended = [&](const PciAddress& device) { return gone.contains(device); };
  for (auto& step : plan.steps) {
    step.act.instances.clear();
    std::erase_if(step.act.devices, ended);
  }
  std::erase_if(plan.steps, [&](const PlanStep& step) {
    return step.act.kind == ActionKind::renew || is_hot_reset(step.act) ||
           (step.act.device &&
            (ended(*step.act.device) || step.act.path == vgpu_attribute(*step.act.device)));
  });
}

// Whether a later claim has the device: then the journal of this one does not say that it returned.
bool is_of_later(const PciAddress& device, const Claim& claim, const std::vector<Claim>& all) {
  return std::ranges::any_of(all, [&](const Claim& other) {
    return other.id > claim.id && state_of(other) != ClaimState::gone &&
           has(devices_of(other), device);
  });
}

// What hold() kept from its driver gets it before it is tested.
void add_releases(Plan& plan, const Claim& claim, const State& state) {
  for (const auto& address : plan.devices) {
    const auto* device = state.inventory.find(address);
    if (!device || device->function.driver_override != kHoldOverride ||
        is_of_later(address, claim, state.claims))
      continue;
    const auto is_its = [&](const PlanStep& step) { return step.act.device == address; };
    if (std::ranges::any_of(plan.steps, [&](const PlanStep& step) {
          return is_its(step) && step.act.path == folder_of(address) + "/driver_override";
        }))
      continue;
    const auto before = std::ranges::find_if(plan.steps, [&](const PlanStep& step) {
      return is_its(step) && (step.act.kind == ActionKind::bind ||
                              (step.act.kind == ActionKind::clean && !is_clean_in_guest(step.act)));
    });
    auto steps = release_steps(address);
    if (before != plan.steps.end() && before->act.kind == ActionKind::bind) steps.pop_back();
    plan.steps.insert(before, steps.begin(), steps.end());
  }
}

// What is to be done about one claim now.
std::optional<Plan> plan_recovery(const Claim& claim, const State& state,
                                  const std::optional<std::string>& boot,
                                  const std::string& clean_with) {
  const bool same_boot = boot && claim.operations.front().boot_id == boot;
  Plan plan = empty_plan(claim);
  switch (state_of(claim)) {
    case ClaimState::attaching:
      // No guest had it yet.
      plan.steps = steps_back(claim.last());
      return plan;
    case ClaimState::detaching:
      plan.steps = claim.last().plan.steps;
      // Both need VFIO for all of their devices; drivers of the host may have some of them now.
      std::erase_if(plan.steps, [&](const PlanStep& step) {
        return (is_hot_reset(step.act) || is_clean_in_guest(step.act)) &&
               was_released(claim.last(), step.act);
      });
      for (auto& step : plan.steps)
        if (is_clean_in_guest(step.act) && !clean_with.empty()) step.act.path = clean_with;
      // One that was removed and not yet recreated.
      for (auto& step : plan.steps)
        std::erase_if(step.act.instances, [&](const std::string& uuid) {
          return state.inventory.find_instance(uuid) == nullptr;
        });
      if (!same_boot) end_what_a_restart_ended(plan, state.inventory);
      return plan;
    case ClaimState::attached: {
      if (same_boot && claim.attached().managed) return std::nullopt;
      const bool all_there =
          std::ranges::all_of(claim.attached().devices, [&](const PciAddress& address) {
            const auto* device = state.inventory.find(address);
            return device && is_handed_over(device->function);
          });
      if (same_boot && all_there) return std::nullopt;
      // A restart, or somebody else, took it from us.
      plan = plan_detach(claim.attached(), state.inventory, clean_with);
      if (!same_boot) {
        end_what_a_restart_ended(plan, state.inventory);
        std::erase_if(plan.steps, [](const PlanStep& s) { return is_no_reset(s.act); });
      }
      return plan;
    }
    case ClaimState::quarantined:
      // The boot in which it came back.
      add_cleaning(plan, claim, state.inventory, boot && claim.last().boot_id == boot, clean_with);
      return plan;
    case ClaimState::gone:
    case ClaimState::unreadable:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string why_not_whole(const Claim& claim) {
  const auto state = state_of(claim);
  return state == ClaimState::unreadable ? "its journal cannot be read: " + claim.problem
                                         : fmt::format("{} it was not finished", name_of(state));
}

// What a virtual machine could have, and no journal says of which: it may have it.
void mark_not_told(Inventory& inventory, const std::string& why) {
  const auto mark = [&](Surroundings& around) {
    if (!around.attached_to && !around.quarantine) around.not_told = why;
  };
  for (auto& device : inventory.devices)
    if (is_handed_over(device.function)) mark(device.around);
  for (auto& instance : inventory.instances) mark(instance.around);
}

}  // namespace

void apply_claims(Inventory& inventory, const std::vector<Claim>& claims) {
  for (const auto& claim : claims) {
    const auto quarantine = claim.quarantine();
    const auto state = state_of(claim);
    for (const auto& address : devices_of(claim)) {
      auto* device = inventory.find(address);
      if (device == nullptr || state == ClaimState::gone) continue;
      if (state == ClaimState::attached)
        device->around.attached_to = claim.attached().name;
      else if (const auto found = quarantine.find(address); found != quarantine.end())
        device->around.quarantine = found->second;
      else if (state != ClaimState::quarantined)
        device->around.quarantine = why_not_whole(claim);
    }
    if (claim.operations.empty() || state == ClaimState::gone) continue;
    for (auto& instance : inventory.instances) {
      if (std::ranges::find(claim.attached().instances, instance.uuid) ==
          claim.attached().instances.end())
        continue;
      if (state == ClaimState::attached)
        instance.around.attached_to = claim.attached().name;
      else if (state != ClaimState::quarantined)
        instance.around.quarantine = why_not_whole(claim);
    }
  }
  for (const auto& claim : claims)
    if (!claim.problem.empty()) mark_not_told(inventory, claim.problem);
  assess(inventory);
}

Result<Attached> attached_to(const State& state, const std::string& name) {
  constexpr const char* kRecover = "gpuready vm recover brings it to a whole state";
  constexpr const char* kGone = " is attached, and it is no longer there";
  Attached out;
  for (const auto& claim : state.claims) {
    if (state_of(claim) != ClaimState::attached || claim.attached().name != name) continue;
    const auto& plan = claim.attached();
    out.managed |= plan.managed;
    for (const auto& address : plan.devices) {
      const auto* device = state.inventory.find(address);
      if (!device) {
        out.notes.push_back(address.text() + kGone);
        continue;
      }
      out.devices.push_back(device);
      if (!plan.managed && !is_handed_over(device->function))
        out.notes.push_back(
            fmt::format("{} is attached, but its driver is {} and not VFIO's; {}", address.text(),
                        printable(device->function.driver.value_or("none")), kRecover));
    }
    for (const auto& identity : claim.gone)
      out.notes.push_back(identity.uuid.value_or(identity.address.text()) + kGone);
    for (const auto& uuid : plan.instances) {
      const auto* instance = state.inventory.find_instance(uuid);
      if (instance)
        out.instances.push_back(instance);
      else
        out.notes.push_back(printable(uuid) + kGone);
    }
  }
  if (!out.devices.empty() || !out.instances.empty()) return out;
  std::string why = "nothing is attached for it; gpuready vm status names what is";
  for (const auto& claim : state.claims)
    if (!claim.problem.empty()) why = "it is not known what it has: " + claim.problem;
  if (!out.notes.empty()) why = out.notes.front();
  return fail(ErrorKind::not_found, printable(name) + ": " + why);
}

Plan plan_attachment(const State& state, const AttachRequest& request) {
  auto plan = plan_attach(state.inventory, request);
  for (const auto& claim : state.claims)
    if (!claim.problem.empty()) plan.refusals.push_back(claim.problem);
  return plan;
}

Result<State> read_state(Host& host, const std::string& folder, const InventoryOptions& options) {
  State state;
  bool hidden = false;
  host.expect_probe(open_files_request());
  const auto machine = inspect(host, {});
  if (auto claims = read_claims(host, folder, machine))
    state.claims = std::move(*claims);
  else if (claims.error().kind == ErrorKind::no_permission)
    hidden = true;  // root's alone: an ordinary user sees the devices all the same
  else
    return std::unexpected(claims.error());
  InventoryOptions all = options;
  const auto claimed = naming(state.claims).named;
  all.named.insert(all.named.end(), claimed.begin(), claimed.end());
  state.inventory = read_inventory(host, machine, all);
  if (hidden) {
    const auto why = folder + ": only root may see what is attached and what is in quarantine";
    state.inventory.unseen.push_back(why);
    mark_not_told(state.inventory, why);
  }
  apply_claims(state.inventory, state.claims);
  return state;
}

Result<Done> attach(Hands& hands, const AttachRequest& request) {
  TRY(check_name(request.name));
  const auto lock = TRY(lock_journal(hands));
  const auto state =
      TRY(read_state(hands.host, hands.folder, {.all = false, .named = request.devices}));
  Done done{.plan = plan_attachment(state, request), .outcome = {}};
  if (!done.plan.refusals.empty()) return done;
  for (const auto& address : done.plan.devices)
    done.plan.identities.push_back(identity_of(hands.host, *state.inventory.find(address)));
  if (hands.show_plan) hands.show_plan(done.plan);
  auto journal = TRY(JournalWriter::begin(hands.storage, hands.folder, next_id(state.claims), 1,
                                          done.plan, boot_id(hands.host)));
  done.outcome = perform(done.plan, journal, hands, OnFailure::undo);
  if (!done.outcome.whole()) return done;
  const bool back = done.outcome.error.has_value();
  if (const auto ended = journal.end(back); !ended) {
    // Without this line the next recover would take it back: so it is not attached.
    if (!back) done.outcome.left.push_back("the journal's last line: " + ended.error().message);
    done.outcome.error = done.outcome.error.value_or(ended.error());
    return done;
  }
  if (back) static_cast<void>(hands.storage.unlink(journal.file()));
  return done;
}

Result<std::vector<Done>> detach(Hands& hands, const std::optional<std::string>& name,
                                 const std::vector<PciAddress>& devices,
                                 const std::vector<std::string>& instances) {
  TRY(check_caller(hands, "attach and detach devices"));
  const auto lock = hands.only_plan ? nullptr : TRY(lock_journal(hands));
  const auto state = TRY(read_state(hands.host, hands.folder));
  std::vector<Done> all;
  for (const auto& claim : state.claims) {
    if (claim.operations.empty() || (name && claim.attached().name != *name)) continue;
    if ((!devices.empty() || !instances.empty()) && !overlaps(claim, devices, instances)) continue;
    const auto now = state_of(claim);
    if (now == ClaimState::gone) continue;
    if (now != ClaimState::attached) {
      Done refused{.plan = empty_plan(claim), .outcome = {}};
      refused.plan.refusals.push_back(fmt::format("{}: {}; gpuready vm recover goes on with it",
                                                  claim.attached().name, name_of(now)));
      all.push_back(std::move(refused));
      continue;
    }
    auto plan = plan_detach(claim.attached(), state.inventory, clean_bundle(hands));
    all.push_back(hands.only_plan ? Done{.plan = std::move(plan), .outcome = {}}
                                  : TRY(follow(hands, claim, state.inventory, std::move(plan),
                                               OnFailure::undo)));
  }
  if (all.empty())
    return fail(ErrorKind::not_found,
                name ? *name + ": nothing is attached for it; gpuready vm status names what is"
                     : "nothing is attached");
  return all;
}

Result<std::vector<Done>> hold(Hands& hands) {
  TRY(check_caller(hands, "hold devices"));
  const auto claims =
      TRY(read_claims(hands.host, hands.folder, inspect(hands.host, {.libraries = false})));
  const auto boot = boot_id(hands.host);
  std::vector<Done> all;
  for (const auto& claim : claims) {
    if (!claim.problem.empty() || claim.operations.empty() || state_of(claim) == ClaimState::gone ||
        claim.last().boot_id == boot)
      continue;
    Done done{.plan = empty_plan(claim), .outcome = {}};
    done.plan.operation = "hold";
    for (const auto& device : done.plan.devices) {
      const auto what = fmt::format("Hold {} until gpuready vm recover", device.text());
      const auto driver = hands.host.read_link(folder_of(device) + "/driver");
      if (driver) {
        done.outcome.notes.push_back(fmt::format(
            "{}: its driver {} was loaded before this; leave that driver out of the initramfs",
            device.text(), printable(last_component(*driver))));
        continue;
      }
      const auto held = hands.attributes.ask(
          {attribute::kSet, folder_of(device) + "/driver_override", kHoldOverride},
          hands.driver_deadline);
      if (held) {
        done.outcome.done.push_back(what);
      } else if (!done.outcome.error) {
        done.outcome.error = held.error();
        done.outcome.failed = what;
      }
    }
    all.push_back(std::move(done));
  }
  return all;
}

Result<std::vector<Done>> recover(Hands& hands, const std::vector<PciAddress>& accept) {
  const auto lock = TRY(lock_journal(hands));
  TRY(remove_unnamed(hands.host, hands.storage, hands.folder));
  const auto state = TRY(read_state(hands.host, hands.folder));
  TRY(check_accepted(accept, state));
  const auto boot = boot_id(hands.host);
  std::vector<Done> all;
  for (const auto& claim : state.claims) {
    if (!claim.problem.empty() || claim.operations.empty()) {
      Done unreadable{.plan = {.operation = "recover",
                               .name = "",
                               .devices = {},
                               .steps = {},
                               .warnings = {},
                               .refusals = {claim.problem}},
                      .outcome = {}};
      all.push_back(std::move(unreadable));
      continue;
    }
    if (state_of(claim) == ClaimState::gone) {
      TRY(remove_claim(hands.storage, hands.folder, claim));
      continue;
    }
    auto plan = plan_recovery(claim, state, boot, clean_bundle(hands));
    if (!plan) continue;
    std::erase_if(plan->steps, [&](const PlanStep& step) {
      const bool judges = step.act.kind == ActionKind::clean || step.act.kind == ActionKind::rom ||
                          is_no_reset(step.act);
      return judges && step.act.device && has(accept, *step.act.device);
    });
    add_releases(*plan, claim, state);
    all.push_back(
        TRY(follow(hands, claim, state.inventory, std::move(*plan), OnFailure::stop, accept)));
    for (const auto& device : accept)
      if (all.back().outcome.returned.contains(device))
        static_cast<void>(accept_report(hands.folder, device, hands.host, hands.storage));
  }
  return all;
}

}  // namespace gpuready::vm
