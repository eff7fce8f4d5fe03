// What every command's document says of itself, whatever else it holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "value/field.h"

namespace gpuready {

// Exit codes of every command: the one place where they are named. exit_rules.h decides which.
enum class Exit : int {
  ok = 0,
  unhealthy = 1,
  usage = 2,
  required_absent = 3,  // what --require-gpu demanded is not there
  unknown = 4,
  interrupted = 130,  // Ctrl-C, as shells expect it; what was known by then is reported
};
template <>
inline constexpr auto kNames<Exit> = std::to_array<Named<Exit>>({
    {Exit::ok, "everything requested holds"},
    {Exit::unhealthy, "something is unhealthy, or a GPU is on the bus but unusable"},
    {Exit::usage, "wrong usage or bad input"},
    {Exit::required_absent, "what was required is absent"},
    {Exit::unknown, "undetermined"},
    {Exit::interrupted, "it was interrupted"},
});
constexpr std::string_view exit_meaning(Exit exit) { return name_of(exit); }

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

// The document of a command that found `report`; value/document.h.
template <class Report>
Json to_json(const Report& report, const Envelope& envelope);

inline constexpr std::string_view kToolNames[] = {"gpuready"};
struct Tool {
  std::string_view name, version;
};
FIELDS_OF(Tool) {
  visit.about("tool", "What wrote a document.");
  FIELD(name, "Always gpuready.", {.always = true, .texts = kToolNames});
  FIELD(version, "Its version.");
}

FIELDS_OF(Envelope) {
  constexpr std::string_view kId = "^[0-9a-f]{32}$";
  visit.about("envelope", "What every document says of itself.");
  visit.derived(
      "tool", [](const T& it) { return Tool{kToolNames[0], it.tool_version}; }, "What wrote it.",
      kAlways);
  visit.hidden(&T::tool_version);
  FIELD(command, "The command that was given.");
  FIELD(created_utc, "When the document was made, UTC, as 2026-03-01T12:00:00Z.");
  FIELD(machine_id,
        "A stable name of the machine: HMAC-SHA256 of /etc/machine-id under a key of gpuready's, "
        "which does not give that id away. Absent: the machine has no id, or a recording was "
        "replayed.",
        {.pattern = kId});
  FIELD(boot_id,
        "The kernel's random id of this boot. Absent: not known, or a recording was replayed.",
        {.pattern = kId});
  FIELD(conclusion, "The result in one sentence.");
  visit("exit_code", &T::exit, "The command's exit code.", {.as_number = true});
  visit.derived(
      "exit_meaning", [](const T& it) { return exit_meaning(it.exit); }, "The exit code in words.",
      kAlways);
  FIELD(notes, "Told before the rest, such as why no GPU was tested.");
  FIELD(duration_ms, "How long the command took.", {.least = 0});
}

}  // namespace gpuready
