// A Finding: one thing that is wrong (or that could not be seen), with its proof and its cure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready::inline v0 {

enum class Severity {
  info,     // worth knowing; nothing is wrong
  warning,  // works, but not as it should (a slow link, a pending change, something unseen)
  error,    // a GPU is unusable or its results cannot be trusted
};
std::string_view to_string(Severity severity);

// What to do about it, weakest first; docs/actions.md has the words of others for each.
enum class Action {
  none,
  check_again,    // find out more, repeat the work or the test
  configure,      // settings, software, and what was given to a container or a virtual machine
  reload_driver,  // the kernel module, without a restart
  reset_gpu,
  reboot,
  power_cycle,
  replace,   // hands on the hardware: cables, seat, slot, a new part
  ask_host,  // one of those from reload_driver on, which cannot be done from here
};
std::string_view to_string(Action action);

struct Evidence {
  std::string
      source;         // "/proc/driver/nvidia/version", "kernel log", "nvmlInit_v2()", "environment"
  std::string quote;  // what it says, verbatim and printable
};

struct Finding {
  std::string id;  // stable, e.g. "driver-library-mismatch"; docs/findings.md
  Severity severity = Severity::error;
  std::string title;                   // one line, names what is wrong
  std::string explanation;             // one or two sentences
  std::vector<int> gpus;               // indices into Machine::gpus; empty: the whole machine
  std::vector<PciAddress> pci;         // addresses concerned, also of devices that are not a Gpu
  std::vector<Evidence> evidence;      // never empty
  std::optional<std::string> cure;     // what to do, one sentence
  std::optional<std::string> command;  // the cure as a command, where there is one
  Action action = Action::none;        // the kind of the cure; none: nothing to do
  std::vector<Finding> explains;       // what follows from it, folded under it
};

}  // namespace gpuready::inline v0
