// What every command's document says of itself, whatever else it holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace gpuready {

// Exit codes of every command: the one place where they are named. exit_rules.h decides which.
enum class Exit : int {
  ok = 0,               // all that was asked holds
  unhealthy = 1,        // something is unhealthy, or a GPU is on the bus but unusable
  usage = 2,            // wrong usage or bad input
  required_absent = 3,  // what --require-gpu demanded is not there
  unknown = 4,          // it could not be found out
  interrupted = 130,    // Ctrl-C, as shells expect it; what was known by then is reported
};
std::string_view exit_meaning(Exit exit);

struct Envelope {
  std::string command;  // "check", "ternary verify"
  std::string tool_version;
  std::string created_utc;
  std::optional<std::string> machine_id;  // host/machine_id.h; absent of a replay
  std::optional<std::string> boot_id;
  std::optional<std::string> conclusion;  // one sentence, e.g. "2 of 2 GPUs are ready for work."
  std::vector<std::string> notes;         // told before the rest, e.g. why no GPU was tested
  Exit exit = Exit::ok;
  double duration_ms = 0;
};

// A document with these fields; the command adds its own beside them. `schema` is "gpuready.report"
// and so on, and schema/ describes it.
Json begin_document(std::string_view schema, const Envelope& envelope);

}  // namespace gpuready
