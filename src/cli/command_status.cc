// `gpuready status`, and the file that check and test keep for it.
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <memory>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/run_tests.h"
#include "cli/terminal.h"
#include "host/atomic_file.h"
#include "host/lock_wait.h"
#include "host/machine_id.h"
#include "machine/system/named_libraries.h"
#include "report/exit_rules.h"
#include "report/fields.h"
#include "report/kept_results.h"

namespace gpuready::cli {
namespace {

constexpr std::uint32_t kMode = 0644;
constexpr std::chrono::milliseconds kPatience{5'000};

// Without it check and test keep nothing.
std::string kept_folder() { return folder_of(kKeptResultsFile); }

struct StatusCommand {
  Globals globals;
  std::string file = kKeptResultsFile;
  double valid_s = kDefaultValidSeconds;
};

Result<int> run_status(const StatusCommand& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  Envelope envelope = begin_envelope("status");
  const StatusReport report = TRY(read_status(*host, options.file, options.valid_s));
  envelope.exit = exit_of(report.standing);
  envelope.conclusion = report.line;
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

Result<std::unique_ptr<Storage::Lock>> wait_for_lock(const std::string& path,
                                                     std::chrono::milliseconds patience) {
  const auto deadline = deadline_in(patience);
  return lock_when_free([&] { return live_storage().lock(path); },
                        [&] { return Clock::now() < deadline && !interrupted(); });
}

Result<KeptResults> read_kept_results(Host& host, const std::string& path) {
  const auto text = host.read_own_file(path);
  if (text) return parse_kept_results(*text, path);
  if (text.error().kind == ErrorKind::not_found) return KeptResults{};
  return std::unexpected(text.error());
}

Result<KeptResults> kept_of_seen_machine(Host& host, const Globals& globals,
                                         const std::string& path) {
  if (globals.replay && path == kKeptResultsFile) return KeptResults{};
  return read_kept_results(host, path);
}

Result<KeptResults> kept_before(Host& host, const std::string& path, bool named) {
  auto before = read_kept_results(host, path);
  if (before || before.error().kind != ErrorKind::bad_input || named) return before;
  complain(before.error());  // or no test would count until somebody deletes ours
  return KeptResults{};
}

Present present_now(Host& host, double valid_s) {
  const auto nvidia = host.read_text("/sys/module/nvidia/version");
  return {.unix_seconds = std::time(nullptr),
          .valid_seconds = static_cast<std::int64_t>(valid_s),
          .machine_id = machine_id(host),
          .boot_id = boot_id(host),
          .driver_version = driver_versions(nvidia ? find_version(*nvidia) : std::nullopt,
                                            host.read_text("/sys/module/amdgpu/version"))};
}

Result<StatusReport> read_status(Host& host, const std::string& file, double valid_s) {
  StatusReport report = status_of(TRY(read_kept_results(host, file)), present_now(host, valid_s));
  if (file == kKeptResultsFile && report.results.empty() && !host.exists(kept_folder()))
    report.line = fmt::format("never tested: run mkdir {}, then gpuready check", kept_folder());
  return report;
}

void add_kept_results(CommandSpec& command, std::string& file, double& valid_s) {
  command.add({{.name = "--state",
                .value = &file,
                .help = "Where check and test kept their results (default: "
                        "/var/lib/gpuready/results.json)",
                .type = "FILE",
                .files = Files::read},
               valid_option(valid_s, "a good result")});
}

Option state_option(std::optional<std::string>& file) {
  return {.name = "--state",
          .value = &file,
          .help =
              "Keep the result for `gpuready status` in this file (default: in "
              "/var/lib/gpuready, if that folder exists and can be written)",
          .type = "FILE",
          .files = Files::kept};
}

Result<void> keep_results(const std::optional<std::string>& file, const Report& report,
                          const RunExtent& extent) {
  const std::string path = file.value_or(kKeptResultsFile);
  if (!file && ::access(kept_folder().c_str(), W_OK | X_OK) != 0) return {};
  if (const auto& named = report.machine.named_libraries;
      path == kKeptResultsFile && !named.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not kept, because it is about this machine's driver, and {} was "
                            "asked instead; name another file with --state",
                            path, named_libraries_text(named)));
  const auto lock = TRY(wait_for_lock(path + ".lock", kPatience));
  auto before = TRY(kept_before(*make_live_host(), path, file.has_value()));
  const KeptResults kept = keep(std::move(before), report, extent);
  return write_file_atomically(path, kept_results_text(kept), {.mode = kMode});
}

void declare_status(CommandSpec& command) {
  auto options = std::make_shared<StatusCommand>();
  command.run = [options] { return run_status(*options); };
  add_output(command, options->globals);
  add_kept_results(command, options->file, options->valid_s);
  command.footer =
      "Exit codes: 0 good; 1 bad; 2 the file cannot be read; 3 a GPU that was here, or what was "
      "required, is absent; 4 never tested, tested too long "
      "ago, before the latest boot or with another driver, or bad then and not tested again.";
}

}  // namespace gpuready::cli
