// What every command shares: the global options, the host that they select, and how results leave.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "host/host.h"
#include "host/storage.h"
#include "machine/inspect.h"
#include "report/policy.h"
#include "report/report.h"

namespace gpuready::cli {

struct Globals {
  std::optional<std::string> json;  // "-" is standard output
  std::optional<std::string> replay, fake, html, markdown, prometheus, junit;
  std::vector<std::string> devices;  // words of gpus_named(), or executors
  std::optional<double> timeout_s;
  bool quiet = false, no_color = false, github = false;
};

// --expect and --policy, or the machine's own policy.
struct PolicyOptions {
  std::optional<std::string> file;
  std::vector<std::string> expect;
};
// `exits`: the command's exit code says whether the machine has it.
void add_policy(CommandSpec& command, PolicyOptions& options, bool exits = true);
// `own`: the machine's own, which only root may have written.
Result<Policy> read_policy(const std::string& path, bool own);
// Of a recording the machine's own policy says nothing.
Result<Policy> policy_for(const PolicyOptions& options, const Globals& globals);
// What the policy accepts today is added to `rules`; what it accepted once is noted.
Result<void> add_accepted(const Policy& policy, Report& report, std::vector<AcceptRule>& rules);

// --require-gpu[=N]: 1 when no number is given.
void add_require_gpu(CommandSpec& command, std::optional<int>& count);
// --baseline FILE: an earlier recording to compare with.
void add_baseline(CommandSpec& command, std::optional<std::string>& file);

// --accept ID[@DEVICE],...: findings that do not count.
void add_accept(CommandSpec& command, std::vector<std::string>& rules);

// Adds the options that every command takes. `reports`: also --html, --md, --prom, --junit
// and --github.
void add_globals(CommandSpec& command, Globals& globals, bool reports);

// --quiet and --no-color.
void add_style(CommandSpec& command, Globals& globals);
// --replay, --html and --md.
Option replay_option(std::optional<std::string>& file,
                     std::string help =
                         "Use a recording or a "
                         "machine script instead of this machine",
                     const char* excludes = nullptr);
Option html_option(std::optional<std::string>& file);
Option markdown_option(std::optional<std::string>& file, std::string_view what = "Markdown");
// --valid: how long `what` counts.
Option valid_option(double& seconds, std::string_view what);

// --timeout, and --device, which commands that test have.
Option timeout_option(Globals& globals);
Option device_option(Globals& globals);
Option fake_option(Globals& globals);

// The live host, or the one that --replay names.
Result<std::unique_ptr<Host>> open_host(const Globals& globals);

// What a time limit in seconds is to those who wait.
inline std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

// inspect() with the fakes and the time limit that the options and the environment ask for.
Result<Machine> inspect_as_asked(Host& host, const Globals& globals, InspectOptions options);

// The values of --device, with a name that fits no other GPU for each GPU that they mean. An error
// if one means none.
Result<std::vector<std::string>> unique_devices(const std::vector<std::string>& words,
                                                const Machine& machine);

// --driver and --cuda: digits and dots.
Result<std::optional<Version>> version_option(const char* option,
                                              const std::optional<std::string>& text);

// The machine of a recording, for --baseline.
Result<Machine> inspect_recording(const std::string& path);

// What a document of `command` says of itself: version, time, and this machine and boot.
Envelope begin_envelope(std::string command);
// Starts a report of `command` about `machine`; a machine of a recording is not this one.
Report begin_report(std::string command, Machine machine);

// The same file, by whatever links.
bool same_file(const std::string& a, const std::string& b);
// What a command cannot write, told before any work: where it reads, a folder, a model, a place
// that refuses, two outputs in one file.
std::optional<Error> check_files(const CommandSpec& command);

// Writes the report wherever it was asked for and returns its exit code; 2 when a file cannot be
// written and the report is not of something unhealthy. A reader that closes its pipe early is not
// a failure. The terminal report goes to standard output unless that carries JSON.
int deliver(Report& report, const Globals& globals);
// Any other document, and how a terminal shows it. After Ctrl-C the envelope says so.
struct Delivery {
  Envelope& envelope;
  std::function<Json()> json;
  std::function<std::string(const TerminalStyle&)> terminal;
  std::function<std::string()> html = {}, markdown = {}, prometheus = {}, junit = {};
};
int deliver(const Delivery& delivery, const Globals& globals);
// Annotations to standard error, and the Markdown to the end of the step's summary; whether that
// could be written.
bool write_for_github(const Report& report);
// Only --json, --quiet and --no-color.
void add_output(CommandSpec& command, Globals& globals);

// Writes the whole file or leaves what was there. Devices and pipes are written to as they are, and
// so is an open descriptor: "-", /dev/stdout, /dev/stderr, /dev/fd/N.
Result<void> write_file(const std::string& path, std::string_view content,
                        Storage& storage = live_storage());

// Writes to standard output. False: it could not, and has said why. A reader that has gone does not
// count as a failure.
bool print(std::string_view text);

// Where `path` is a file of this machine that the command has read, such as /etc/os-release.
std::optional<Error> refuse_what_was_read(const std::string& path);

// "gpuready: <message>" to standard error.
void complain(std::string_view message);
int complain(const Error& error, Exit exit = Exit::usage);

}  // namespace gpuready::cli
