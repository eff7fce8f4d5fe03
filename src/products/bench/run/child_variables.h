// The environment variables that a stack's process is given and that may change what it does.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuready::bench {

using VariableChange = std::pair<std::string, std::optional<std::string>>;
using VariableChanges = std::span<const VariableChange>;

// What keeps stacks from changing the machine, and shows them the one GPU; no GPU: an empty uuid.
std::vector<VariableChange> changes_for_stacks(const std::string& uuid);

// Which of our variables a stack's process gets (Job::keeps): those that any program needs, and
// those that may change what a stack does. A stack that needs another one names it in its command:
// `env NAME=value program`.
bool is_given_to_stacks(std::string_view name);

// Whether a run records the variable, by the table of docs/bench-run.md. Never one whose name says
// that it holds a secret.
bool is_recorded(std::string_view name);
bool may_be_secret(std::string_view name);

// As a document holds it: of a name that may be a secret's, the beginning of the SHA-256 of the
// value, by which a change is seen.
std::string recorded_value(std::string_view name, std::string_view value);
// The text of --idea, NAME or NAME=VALUE, with such a value.
std::string recorded_idea(std::string_view idea);

// Of a process that starts in `environment` (as environ(7), ended by a null) with these changes.
// Variables of the contract (request.h) are left out: the workload and the protocol say the same.
std::map<std::string, std::string> recorded_variables(const char* const* environment,
                                                      VariableChanges changes);

// Those of `environment` that a run on another machine has, too: of stacks and adapters, and the
// one of --idea. Only names that a shell exports.
std::vector<std::pair<std::string, std::string>> variables_for_elsewhere(
    const char* const* environment, std::string_view idea);

}  // namespace gpuready::bench
