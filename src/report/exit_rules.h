// The one place that decides exit codes. Each system has a table of rules in exit_rules.cc; the
// first rule that holds gives the code, and 0 is for what no rule holds of.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/compare/promote.h"
#include "pack/code/inspect.h"
#include "pack/release/build.h"
#include "pack/report/env_report.h"
#include "pack/report/explain_report.h"
#include "pack/store/install.h"
#include "pack/store/select.h"
#include "report/selftest_report.h"
#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_inspect.h"
#include "ternary/suite/bench.h"
#include "ternary/suite/verify.h"
#include "value/envelope.h"
#include "vm/report/devices_report.h"
#include "vm/report/doctor_report.h"
#include "vm/report/drivers_report.h"
#include "vm/report/fetch_report.h"
#include "vm/report/upgrade_report.h"

namespace gpuready {

// After Ctrl-C nothing is whole, however good what was found by then is; what is broken stays so.
constexpr Exit unless_interrupted(Exit exit, bool interrupted) {
  return interrupted && exit != Exit::unhealthy ? Exit::interrupted : exit;
}

// What check, test, detect and doctor found, in numbers. conclude() counts.
struct MachineTally {
  int gpus = 0;                                // of this environment, or those that --device names
  int usable = 0;                              // of these
  int ready = 0;                               // of these: all that they owe is held
  int degraded = 0;                            // of these: an obligation is, and not accepted
  int hidden = 0, not_ours = 0;                // on the bus, and not counted in `gpus`
  int display_only = 0;                        // likewise
  int errors = 0, warnings = 0;                // findings
  std::optional<int> required = std::nullopt;  // --require-gpu
  bool unmet = false;                          // the policy wants what is not here
  bool tested = false;                         // tests of GPUs were to be run
  bool failed = false;                         // one failed, or had a fault injected
  bool unknown = false;                        // one was not run, or gave no answer
  bool bus_unread = false;                     // none found does not mean that none is here
  bool named_libraries = false;                // what answered is not the system's driver
  bool whole = true;                           // integrity was judged on those in `ready`
  std::string unusable = {};                   // the first one and why: "GPU 3: NVML has lost it"
  std::string in_part = {};                    // GPUs of which only MIG instances were tested
};
Exit exit_of(const MachineTally& tally);

Exit exit_of(const VmDevices& devices);

Exit exit_of(std::span<const SelfTestRow> rows);

Exit exit_of(const ternary::VerifyReport& report);

struct BenchOutcome {
  std::span<const ternary::BenchRow> rows;
  bool tiers_named = false, devices_named = false;  // on the command line
};
Exit exit_of(const BenchOutcome& outcome);

Exit exit_of(const ternary::gguf::FileReport& report);

Exit exit_of(const ternary::gguf::ConvertReport& report);

Exit exit_of(const bench::Comparison& comparison);
Exit exit_of(const DriversReport& report);
Exit exit_of(const CompatReport& report);
Exit exit_of(const FetchReport& report);
Exit exit_of(const UpgradeReport& report);
Exit exit_of(const VmDoctorReport& report);
Exit exit_of(const bench::Promotion& promotion);

struct BenchRun {
  const bench::RunRecord& run;
  std::span<const std::string> named;  // stacks, on the command line
  bool sick = false;                   // the GPU, by our own check
};
Exit exit_of(const BenchRun& outcome);

// Operations on devices for virtual machines.
struct VmTally {
  bool absent = false;      // what was named is not here
  bool refused = false;     // the plan cannot be carried out
  bool failed = false;      // a step failed
  bool unfinished = false;  // and not all could be taken back, or an earlier one did not end
  bool unclean = false;     // a device is in quarantine
};
Exit exit_of(const VmTally& tally);

Exit exit_of(const pack::Inspection& inspection);
Exit exit_of(const Explanation& explanation);

Exit exit_of(const pack::InstallOutcome& outcome);
Exit exit_of(const pack::Selection& selection);
Exit exit_of(const EnvReport& report);
Exit exit_of(std::span<const pack::BuiltVariant> variants);
// Of what a command could not do: its caller's mistake, or something that prevented it.
Exit exit_of_error(const Error& error);
// The same of `vm`, where what failed was taken back, and 4 says that another operation runs.
Exit exit_of_vm_error(const Error& error);

}  // namespace gpuready
