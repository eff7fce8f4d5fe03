// The stacks that `bench run` knows, and the command that runs each: gpuready itself, a script of
// adapters/, or what a variable such as TVM_BENCH_CMD says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/run/request.h"

namespace gpuready::bench {

struct AdapterEntry {
  const char* id;
  const char* display_name;
  const char* variable;  // a command that stands in for ours
  const char* script;    // of adapters/; null: gpuready itself, or none but the variable's command
  const char* cure;      // how to get it
  bool is_gpuready = false;
  const char* environment = nullptr;  // "NAME=value" that the script wants
};
std::span<const AdapterEntry> known_adapters();

// Words as a POSIX shell splits them: quotes and backslashes, and nothing is expanded.
Result<std::vector<std::string>> shell_words(std::string_view text);

// A file of adapters/, as it is embedded.
struct AdapterFile {
  const char* name;
  std::string_view text;
};
std::span<const AdapterFile> adapter_files();

struct StackCommand {
  std::string id, display_name, cure;
  std::vector<std::string> command;  // empty: unavailable
  std::vector<std::pair<std::string, std::string>> environment;
  std::string reason;     // why there is no command
  std::string variable;   // that gave the command; empty: it is ours
  bool has_gate = false;  // it waits at BENCH_GATE (adapter_run.h)
};

// The commands of these stacks, or of all known ones: the variable's first, then our own.
// `scripts`: the folder in which adapter_files() stand. A name that is not known is taken where the
// variable <NAME>_BENCH_CMD gives a command.
Result<std::vector<StackCommand>> stack_commands(std::span<const std::string> ids,
                                                 const GetVariable& get, const std::string& program,
                                                 const std::string& scripts);

// Of all known stacks, lines for a shell that export each one's variable; a stack without a command
// is a comment that says how to get one.
std::string exports_of(std::span<const StackCommand> all);

}  // namespace gpuready::bench
