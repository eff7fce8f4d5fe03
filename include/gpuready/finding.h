// A Finding: one thing that is wrong (or that could not be seen), with its proof and its cure.
#pragma once

#include <cstdint>
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

// What a cure costs those who use the machine, least first.
enum class CureRisk { harmless, restarts_service, ends_processes, takes_picture, reboots };
std::string_view to_string(CureRisk risk);

// Where a cure is done.
enum class CurePlace {
  here,
  guest,     // in the virtual machine whose console was read
  launcher,  // where the container, pod or job is started
  host,      // of the container or virtual machine
  windows,   // of which this is a guest
  provider,  // of the cloud
  firmware,  // the firmware's setup (BIOS)
  hardware,  // by hand
};
std::string_view to_string(CurePlace place);

// What must hold before a cure is begun.
enum class CureNeeds { nothing, root, free_gpu, free_machine, power_off };
std::string_view to_string(CureNeeds needs);

struct CureTerms {
  CureRisk risk = CureRisk::harmless;
  CurePlace place = CurePlace::here;
  CureNeeds needs = CureNeeds::nothing;
  bool operator==(const CureTerms&) const = default;
};

struct Evidence {
  std::string
      source;         // "/proc/driver/nvidia/version", "kernel log", "nvmlInit_v2()", "environment"
  std::string quote;  // what it says, verbatim and printable
};

// A process that a record of the kernel log names.
struct LoggedProcess {
  std::int64_t pid = 0;  // as the kernel counts them: the host's, also in a container
  std::string name;      // at most 15 characters; its user chose it
  bool operator==(const LoggedProcess&) const = default;
};

// When the kernel logged what a finding quotes, and records that differ from it only in numbers.
struct Logged {
  double first_seconds = 0, last_seconds = 0;  // since boot
  // Absent without the clock, and where the machine slept since boot: the log's clock stops then.
  std::optional<std::int64_t> first_unix_seconds = {}, last_unix_seconds = {};
  std::vector<LoggedProcess> processes = {};  // that used the GPU then; of NVIDIA's Xids
};

struct Finding {
  std::string id;  // stable, e.g. "driver-library-mismatch"; docs/findings.md
  Severity severity = Severity::error;
  std::string title;                   // one line, names what is wrong
  std::string explanation;             // one or two sentences
  std::vector<int> gpus;               // indices into Machine::gpus; empty: the whole machine
  std::vector<PciAddress> pci;         // addresses concerned, also of devices that are not a Gpu
  std::vector<Evidence> evidence;      // never empty
  std::optional<Logged> logged;        // absent: nothing quoted has a time in the kernel log
  std::optional<std::string> cure;     // what to do, one sentence
  std::optional<std::string> command;  // the cure as a command, where there is one
  std::optional<CureTerms> terms;      // of the cure, where there is one
  Action action = Action::none;        // the kind of the cure; none: nothing to do
  std::vector<Finding> explains;       // what follows from it, folded under it
};

}  // namespace gpuready::inline v0
