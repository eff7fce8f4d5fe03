// What `vm plan`, `attach`, `detach` and `recover` tell, as a document and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/operations.h"
#include "vm/report/exit_rules.h"

namespace gpuready {

struct VmOperation {
  std::vector<vm::Done> done;
  bool planned_only = false;  // `vm plan`
};

std::string render_terminal(const VmOperation& operation, const TerminalStyle& style);
// Only the plan: what `attach` shows before it begins.
std::string render_plan(const vm::Plan& plan, const TerminalStyle& style);
std::string conclusion(const VmOperation& operation);
VmTally tally(const VmOperation& operation);

// `vm status`.
struct VmStatus {
  std::vector<vm::Claim> claims;
};
// Without claims of which nothing remains. `name`: only what is attached for it, and what cannot be
// read, which may be.
VmStatus status_of(std::vector<vm::Claim> claims, const std::optional<std::string>& name);
std::string render_terminal(const VmStatus& status, const TerminalStyle& style);
std::string conclusion(const VmStatus& status);
VmTally tally(const VmStatus& status);

}  // namespace gpuready
