// A policy: which GPUs a machine must have, what its tests must judge, and what is accepted on it.
// From /etc/gpuready/policy.toml, --policy and --expect; docs/policy.md describes the file. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpuready/machine.h"
#include "health/test.h"
#include "report/accept.h"
#include "report/report.h"

namespace gpuready {

inline constexpr const char* kPolicyFile = "/etc/gpuready/policy.toml";
inline constexpr std::size_t kMostPolicyBytes = 1 << 20;

struct ExpectedGpus {
  unsigned count = 1;
  std::string model;  // a word of the GPU's name, in any case: "H100", "RTX 4090"; empty: any GPU
  // Of each of them.
  std::optional<std::uint64_t> memory_gib, link_width, link_generation, nvlinks;
};

struct AcceptedByPolicy {
  AcceptRule rule;
  std::string reason, until;  // "2026-12-31": the last day; both are never empty
};

struct Policy {
  std::string source;  // the file, or "--expect"
  std::optional<Level> level;
  std::vector<ObligationKind> require;
  std::vector<ExpectedGpus> gpus;
  std::optional<std::string> driver_least, driver_below;
  std::vector<AcceptedByPolicy> accept;
};

// Errors name the file, the key and the cure.
Result<Policy> parse_policy(std::string_view text, const std::string& name);
// "8xH100,1xL4", "H100" (one), "8" (of any model).
Result<std::vector<ExpectedGpus>> parse_expected(const std::vector<std::string>& texts);

// What of it this machine does not have, a sentence each. `usable`: work can be given to the GPU.
std::vector<std::string> unmet(const Policy& policy, const Machine& machine,
                               const std::vector<bool>& usable);

// The rules that still hold on this day, and those that do not, as "NAME: until DATE".
std::vector<AcceptRule> accepted_on(const Policy& policy, std::int64_t unix_seconds);
std::vector<std::string> expired_on(const Policy& policy, std::int64_t unix_seconds);

// The policy that this machine meets as it is now.
std::string policy_text(const Machine& machine, const std::vector<bool>& usable);

// The result of `policy check`.
struct PolicyReport {
  std::string source;
  std::vector<std::string> expected;  // in words: "8 x H100, each with 79 GiB"
  std::vector<std::string> unmet, accepted, expired;
};
PolicyReport explain(const Policy& policy, const Machine& machine, const std::vector<bool>& usable);
std::string render_terminal(const PolicyReport& report, const TerminalStyle& style);

}  // namespace gpuready
