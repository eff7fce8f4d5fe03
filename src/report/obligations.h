// What each GPU owes before it is ready for work, and how each of it ended. Pure, and the one place
// that decides readiness.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/obligation.h"
#include "gpuready/verdict.h"
#include "health/test.h"
#include "value/names.h"

namespace gpuready {

// What hides an obligation for good, the strongest first where several hold.
enum class Surroundings { mig, vgpu, wsl2, vm, container, bare_metal };
Surroundings surroundings_of(const Machine& machine, const Gpu& gpu);
std::string_view to_text(Surroundings surroundings);  // for people: "virtual machine"

// What the tables say, before anything of the GPU itself is known.
struct Due {
  Duty duty = Duty::owed;
  std::string_view why = {};  // a clause, unless owed
};
Due due(ObligationKind kind, Vendor vendor, Surroundings surroundings, Level level);

// A name that --accept takes: of an obligation that may be degraded, on all GPUs or on one.
struct Accepted {
  ObligationKind kind;
  std::vector<std::string> devices = {};  // index, PCI address or UUID; empty: all
};
struct Asked {
  Level level = Level::quick;
  std::vector<std::string> tests = {};  // that were named; empty: those of the level
  bool busy = false;                    // memory was left to others
  std::vector<ObligationKind> required = {};
  std::vector<Accepted> accepted = {};
};

// Findings that speak for or against the GPUs' obligations.
struct Spoken {
  std::span<const Finding> counted = {};
  std::span<const Finding> accepted = {};  // by --accept or the policy
};

// All kinds, in their order.
std::vector<Obligation> obligations_of(const Machine& machine, const Gpu& gpu,
                                       std::span<const Verdict> verdicts, const Spoken& findings,
                                       const Asked& asked);

enum class Effect {
  none,
  told,       // named in the answer
  unknown,    // exit 4
  unhealthy,  // exit 1
};
Effect effect_of(const Obligation& obligation);

// "host link degraded: x8 of x16"
std::string said_of(const Obligation& obligation);

// What an operator may have chosen, and every answer names: "power limit 200 of 700 W".
std::vector<std::string> chosen_settings(const Gpu& gpu);

// A test passed on it; what is derived from other figures (clocks) does not count.
bool any_passed(std::span<const Verdict> verdicts, const Gpu& gpu);

// The verdicts that are about this GPU.
std::vector<const Verdict*> verdicts_about(std::span<const Verdict> verdicts, const Gpu& gpu);

}  // namespace gpuready
