#include "vm/perform.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "machine/inspect.h"
#include "machine/pci/pci_files.h"
#include "vm/actions.h"
#include "vm/clean/clean.h"
#include "vm/inventory.h"
#include "vm/mediated.h"

namespace gpuready::vm {
namespace {

const std::string kDrivers = "/sys/bus/pci/drivers/";
constexpr const char* kProbe = "/sys/bus/pci/drivers_probe";

class Actor {
 public:
  Actor(Hands& hands, JournalWriter& journal, const std::map<PciAddress, std::string>& vbios,
        Outcome& out)
      : hands_(hands), journal_(journal), vbios_(vbios), out_(out) {}

  // A device whose driver never returned: whatever touches its lock would wait as well.
  bool is_stuck(const PlanAction& action) const {
    return action.device && stuck_.contains(*action.device);
  }

  Result<void> act(const PlanAction& action) {
    const auto result = act_once(action);
    if (!result && result.error().kind == ErrorKind::hung && action.device)
      stuck_.insert(*action.device);
    return result;
  }

 private:
  Result<void> act_once(const PlanAction& action) {
    switch (action.kind) {
      case ActionKind::write:
        return write(action);
      case ActionKind::bind:
        return bind(*action.device, action.driver);
      case ActionKind::unbind:
        return unbind(action);
      case ActionKind::reset:
        return action.value == kHotReset ? hot_reset(action) : reset(*action.device, action.value);
      case ActionKind::run:
        return run(action.command);
      case ActionKind::idle:
        return prove_idle(action);
      case ActionKind::rom:
        return compare_vbios(*action.device);
      case ActionKind::renew:
        return renew(action.value, action.path);
      case ActionKind::clean:
        return clean_memory(action);
    }
    return {};
  }

  Result<std::string> ask(const char* verb, const std::string& path, const std::string& value) {
    return hands_.attributes.ask({verb, path, value}, hands_.driver_deadline);
  }

  Result<void> write_to(const std::string& path, const std::string& value) {
    TRY(ask(attribute::kWrite, path, value));
    return {};
  }

  Result<void> write(const PlanAction& action) {
    const auto now = TRY(ask(attribute::kSet, action.path, action.value));
    if (now == action.value) return {};
    // Pages that somebody uses stay when fewer are asked for.
    const auto wanted = parse_uint(action.value), got = parse_uint(now);
    if (action.path.ends_with("/nr_hugepages") && wanted && got && *got >= *wanted) return {};
    return fail(ErrorKind::io,
                fmt::format("{}: reads \"{}\" after \"{}\" was written", printable(action.path),
                            printable(now), printable(action.value)));
  }

  Result<std::optional<std::string>> driver_of(const PciAddress& device) {
    const std::string folder = folder_of(device);
    if (!hands_.host.exists(folder))
      return fail(ErrorKind::not_found, device.text() + ": it is no longer there");
    const auto link = hands_.host.read_link(folder + "/driver");
    if (!link) return std::optional<std::string>();
    return std::optional(std::string(last_component(*link)));
  }

  // The recorded driver may have been unloaded since; loading it may bind the device already.
  Result<void> bind(const PciAddress& device, const std::string& driver) {
    if (driver.empty())  // none may know it
      return TRY(driver_of(device)) ? Result<void>{} : write_to(kProbe, device.text());
    if (!hands_.host.exists(kDrivers + driver)) static_cast<void>(run({"modprobe", "--", driver}));
    const auto now = TRY(driver_of(device));
    if (now == driver) return {};
    if (now)
      return fail(ErrorKind::busy, fmt::format("{}: {} has it, not {}", device.text(),
                                               printable(*now), printable(driver)));
    if (!hands_.host.exists(kDrivers + driver))
      return fail(ErrorKind::not_found,
                  fmt::format("{}: the driver {} is not loaded", device.text(), printable(driver)));
    TRY(write_to(kDrivers + driver + "/bind", device.text()));
    if (TRY(driver_of(device)) == driver) return {};
    return fail(ErrorKind::io,
                fmt::format("{}: {} did not take it", device.text(), printable(driver)));
  }

  // What another driver has is left with it.
  Result<void> unbind(const PlanAction& action) {
    const auto& device = *action.device;
    if (TRY(driver_of(device)) != action.driver) return {};
    if (action.but_ours) TRY(prove_idle({.kind = ActionKind::idle, .devices = {device}}));
    return write_to(kDrivers + action.driver + "/unbind", device.text());
  }

  // A driver of the host that has it already started it again: it comes after the reset, or after a
  // restart of the machine. A reset would take the device from under it.
  Result<void> reset(const PciAddress& device, const std::string& methods) {
    if (methods.empty()) return quarantine(device, "it has no reset; restart the machine");
    if (const auto driver = TRY(driver_of(device)); driver && !is_vfio(driver)) return {};
    const std::string folder = folder_of(device);
    const auto before = TRY(ask(attribute::kRead, folder + "/reset_method", ""));
    Result<void> done;
    bool changed = false;
    for (const auto method : split(methods, " ")) {
      if (before != method && !before.starts_with(std::string(method) + " ")) {
        TRY(write_to(folder + "/reset_method", std::string(method)));
        changed = true;
      }
      done = write_to(folder + "/reset", "1");
      if (done || done.error().kind == ErrorKind::hung) break;
    }
    const bool stuck = !done && done.error().kind == ErrorKind::hung;
    if (changed && !stuck) TRY(write_to(folder + "/reset_method", "default"));
    return done;
  }

  Result<void> bind_to_vfio(const PciAddress& device, const std::string& driver) {
    TRY(ask(attribute::kSet, folder_of(device) + "/driver_override", driver));
    return bind(device, driver);
  }

  // Its functions must have VFIO's driver. One that an interrupted detach left without a driver
  // gets it again; the steps behind this take it away.
  Result<void> hot_reset(const PlanAction& action) {
    std::string names;
    if (const auto driver = TRY(driver_of(*action.device)); driver && !is_vfio(driver))
      return {};  // as in reset()
    for (const auto& device : action.devices) {
      const auto driver = TRY(driver_of(device));
      if (driver && !is_vfio(driver))
        return fail(ErrorKind::busy,
                    fmt::format("{}: {} has it; a reset of {} would reset it, too", device.text(),
                                printable(*driver), action.device->text()));
      if (!driver && action.driver.empty())
        return fail(ErrorKind::not_found,
                    device.text() +
                        " has no driver, and only VFIO can reset it: bind it to "
                        "vfio-pci, or restart the machine");
      if (!driver) TRY(bind_to_vfio(device, action.driver));
      names += (names.empty() ? "" : " ") + device.text();
    }
    TRY(ask(attribute::kHotReset, folder_of(*action.device), names));
    return {};
  }

  Result<void> run(const std::vector<std::string>& command) {
    Job job{.program = command.front(),
            .args = {command.begin() + 1, command.end()},
            .env = {},
            .input = {},
            .limits = {.time = hands_.driver_deadline},
            .memory = {}};
    const auto outcome = TRY(hands_.host.run(job));
    if (outcome.end == JobEnd::exited && outcome.exit_code == 0) return {};
    const auto said = lines(outcome.err.empty() ? outcome.out : outcome.err);
    return fail(
        outcome.end == JobEnd::hung ? ErrorKind::hung : ErrorKind::io,
        fmt::format("{}: {}{}", printable(join(command, " ")),
                    outcome.end == JobEnd::exited ? fmt::format("exit code {}", outcome.exit_code)
                                                  : std::string(to_string(outcome.end)),
                    said.empty() ? "" : ": " + printable(said.front())));
  }

  Result<void> renew(const std::string& uuid, const std::string& create) {
    const std::string folder = kMediatedDevices + uuid;
    if (hands_.host.exists(folder)) TRY(write_to(folder + "/remove", "1"));
    TRY(write_to(create, uuid));
    if (hands_.host.exists(folder)) return {};
    return fail(ErrorKind::io, uuid + ": its driver did not recreate it");
  }

  Result<void> prove_idle(const PlanAction& action) {
    const Machine machine = inspect(hands_.host, {.libraries = false});
    const auto now = read_inventory(hands_.host, machine, {.all = false, .named = action.devices});
    for (const auto& uuid : action.instances) {
      const auto* instance = now.find_instance(uuid);
      if (instance == nullptr) return fail(ErrorKind::not_found, uuid + ": it is no longer there");
      for (const auto& use : instance->around.uses)
        return fail(ErrorKind::busy, fmt::format("{}: {}", uuid, use.what));
    }
    for (const auto& address : action.devices) {
      const auto* device = now.find(address);
      if (device == nullptr)
        return fail(ErrorKind::not_found, address.text() + ": it is no longer there");
      for (const auto& use : device->around.uses)
        if (!action.but_ours.value_or(false) || !use.ends_with_plan)
          return fail(ErrorKind::busy, fmt::format("{}: {}", address.text(), use.what));
      // Who uses it may be in what cannot be read. VFIO's users are found by their descriptors.
      if (!device->around.unclear.empty() && !is_handed_over(device->function))
        return fail(ErrorKind::io,
                    fmt::format("{}: {}", address.text(), device->around.unclear.front()));
    }
    // Who holds it is not known: then no one may be disturbed.
    if (!now.unseen.empty()) return fail(ErrorKind::no_permission, join(now.unseen, "; "));
    return {};
  }

  Result<void> compare_vbios(const PciAddress& device) {
    const std::string rom = folder_of(device) + "/rom";
    const auto hash = hands_.host.exists(rom) ? TRY(ask(attribute::kHash, rom, "")) : std::string();
    const auto before = vbios_.find(device);
    if (before != vbios_.end() && before->second != hash)
      return quarantine(device, hash.empty() ? "its VBIOS can no longer be read"
                                             : "its VBIOS is not that of before it was attached");
    if (before == vbios_.end() && !hash.empty()) {  // many have none that can be read
      out_.vbios[device] = hash;
      return journal_.note_vbios(device, hash);
    }
    return {};
  }

  Result<void> clean_memory(const PlanAction& action) {
    const auto& device = *action.device;
    static_cast<void>(hands_.storage.unlink(unclean_report(hands_.folder, device)));
    const auto cleaned =
        is_clean_in_guest(action)
            ? clean_in_guest(action)
            : clean(device, hands_.folder, hands_.clean_deadline, hands_.host, hands_.storage);
    return cleaned ? Result<void>{} : quarantine(device, cleaned.error().message);
  }

  // An interrupted detach or a restart may have left functions without a driver, or with the
  // host's. It was proved that no one uses them.
  Result<void> clean_in_guest(const PlanAction& action) {
    for (const auto& device : action.devices)
      if (const auto driver = TRY(driver_of(device));
          driver && !is_vfio(driver) && has_memory(TRY(read_pci_function(hands_.host, device))))
        return fail(ErrorKind::busy,
                    fmt::format("no guest can test it while {} has {}: unbind that, then run "
                                "gpuready vm recover",
                                printable(*driver), device.text()));
    for (const auto& device : action.devices) {
      const auto driver = TRY(driver_of(device));
      if (is_vfio(driver)) continue;
      if (driver) TRY(unbind({.device = device, .driver = *driver}));
      TRY(bind_to_vfio(device, action.driver));
    }
    const GuestTest test{.device = *action.device,
                         .bundle = action.path,
                         .folder = hands_.folder,
                         .deadline = hands_.clean_deadline};
    return judge_guest(TRY(hands_.test_in_guest(hands_.host, hands_.storage, test)), test,
                       hands_.host, hands_.storage);
  }

  Result<void> quarantine(const PciAddress& device, const std::string& why) {
    auto& known = out_.unclean[device];
    known = known.empty() ? why : known + "; " + why;
    return journal_.note_unclean(device, known);
  }

  Hands& hands_;
  JournalWriter& journal_;
  const std::map<PciAddress, std::string>& vbios_;
  Outcome& out_;
  std::set<PciAddress> stuck_;
};

void take_back(const std::vector<PlanStep>& steps, Actor& actor, Outcome& out) {
  for (const auto& step : steps) {
    if (actor.is_stuck(step.act)) {
      out.left.push_back(step.what + ": its driver has not returned");
      continue;
    }
    if (const auto result = actor.act(step.act))
      out.undone.push_back(step.what);
    else
      out.left.push_back(step.what + ": " + result.error().message);
  }
}

}  // namespace

std::vector<PlanStep> steps_back(const Operation& operation) {
  std::vector<PlanStep> back;
  for (auto index = operation.begun.rbegin(); index != operation.begun.rend(); ++index) {
    if (*index >= operation.plan.steps.size()) continue;
    const auto& step = operation.plan.steps[*index];
    if (!step.undo) continue;
    PlanStep undo{.what = describe(*step.undo),
                  .why = "It takes back: " + step.what,
                  .risk = {},
                  .act = *step.undo};
    // A guest, or programs of the host, may use it since.
    if (undo.act.kind == ActionKind::unbind) undo.act.but_ours = false;
    back.push_back(std::move(undo));
  }
  return back;
}

Outcome perform(const Plan& plan, JournalWriter& journal, Hands& hands, OnFailure on_failure,
                const std::map<PciAddress, std::string>& vbios,
                const std::vector<PciAddress>& accepted) {
  Outcome out;
  Actor actor(hands, journal, vbios, out);
  Operation begun;
  begun.plan = plan;
  std::set<PciAddress> left_out;  // their steps failed
  std::set<PciAddress> held;      // no driver of this host gets them: a guest is to test them again
  std::map<PciAddress, std::pair<std::string, Error>> failed;  // of those that were not accepted
  // Whether the rest goes on without the device.
  const auto leave_out = [&](const PlanStep& step, const Error& error) {
    const auto& device = step.act.device;
    if (plan.operation != "detach" || !device) return false;
    // What is reset together stays together.
    std::set<PciAddress> with_it(step.act.devices.begin(), step.act.devices.end());
    with_it.insert(*device);
    const bool in_use = step.act.kind == ActionKind::idle ||
                        (step.act.kind == ActionKind::unbind && error.kind == ErrorKind::busy);
    if (!in_use && std::ranges::find(accepted, *device) != accepted.end()) {
      out.notes.push_back(step.what + ": " + error.message);
    } else if (failed.size() + with_it.size() < plan.devices.size()) {
      for (const auto& one : with_it) failed.emplace(one, std::pair(step.what, error));
    } else {
      return false;
    }
    left_out.merge(with_it);
    return true;
  };
  for (std::size_t i = 0; i < plan.steps.size() && !out.error; ++i) {
    const auto& step = plan.steps[i];
    if (step.act.device && (left_out.contains(*step.act.device) ||
                            (held.contains(*step.act.device) && !is_clean_in_guest(step.act))))
      continue;
    if (hands.cancel != nullptr && hands.cancel->load())
      out.error = Error{ErrorKind::cancelled, "it was interrupted", 0};
    else if (const auto noted = journal.begin_step(i); !noted)
      out.error = noted.error();
    if (!out.error) {
      if (hands.progress) hands.progress(step.what);
      begun.begun.insert(i);
      if (const auto done = actor.act(step.act)) {
        out.done.push_back(step.what);
        for (const auto& test : plan.steps)
          if (is_clean_in_guest(test.act) && out.unclean.contains(*test.act.device))
            held.insert(test.act.devices.begin(), test.act.devices.end());
      } else if (step.act.may_fail && done.error().kind != ErrorKind::hung)
        out.notes.push_back(step.what + ": " + done.error().message);
      else if (!leave_out(step, done.error()))
        out.error = done.error();
    }
    if (out.error) out.failed = step.what;
  }
  if (out.error && on_failure == OnFailure::undo)  // none is back
    take_back(steps_back(begun), actor, out);
  else if (out.error && on_failure == OnFailure::stop)
    out.left.push_back(out.failed);
  else {
    for (const auto& [device, why] : failed)
      if (out.left.empty() || out.left.back() != why.first) out.left.push_back(why.first);
    if (!failed.empty()) std::tie(out.failed, out.error) = failed.begin()->second;
    for (const auto& device : plan.devices)
      if (!failed.contains(device) && !out.unclean.contains(device) && !held.contains(device))
        out.returned.insert(device);
  }
  return out;
}

}  // namespace gpuready::vm
