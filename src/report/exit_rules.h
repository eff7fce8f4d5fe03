// Exit codes of the core's commands, and of errors. Each product has an exit_rules.h in its
// report/; nothing else decides a code.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "report/kept_results.h"
#include "report/selftest_report.h"
#include "value/envelope.h"

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
  bool not_judged = false;                     // --require, and no GPU to judge
  bool bus_unread = false;                     // none found does not mean that none is here
  bool named_libraries = false;                // what answered is not the system's driver
  bool whole = true;                           // integrity was judged on those in `ready`
  std::string unusable = {};                   // the first one and why: "GPU 3: NVML has lost it"
  std::string in_part = {};                    // GPUs of which only MIG instances were tested
};
Exit exit_of(const MachineTally& tally);

Exit exit_of(std::span<const SelfTestRow> rows);
Exit exit_of(const Standing& standing);
// Of what a command could not do: its caller's mistake, or something that prevented it.
Exit exit_of_error(const Error& error);

}  // namespace gpuready
