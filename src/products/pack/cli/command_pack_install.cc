#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_machine.h"
#include "pack/cli/pack_options.h"
#include "pack/report/exit_rules.h"
#include "pack/report/install_report.h"

namespace gpuready::cli {
namespace {

std::vector<std::string> files_of_report(const std::string& path) {
  return {path, path + ".minisig"};
}

struct PackInstallOptions {
  Globals globals;
  MachineOptions machine;
  std::string from;
  std::optional<std::string> key, to, variant, report, report_key, password_file;
  bool dry_run = false, no_load_test = false, verify = false;
  double wait = kUsualWaitSeconds;
  double fetch_time = std::chrono::duration<double>(pack::kUsualFetchLimit).count();
};

InstallReport ended(const Error& error, const PackInstallOptions& options) {
  InstallReport report;
  report.from = options.from;
  report.outcome.error = error;
  return report;
}

InstallReport install(const PackInstallOptions& options) {
  const auto host = make_live_host();
  pack::BestOptions best;
  if (options.key) {
    const auto key = pack::read_public_key(*host, *options.key);
    if (!key) return ended(key.error(), options);
    best.key = *key;
  }
  const auto machine = machine_for(options.machine);
  if (!machine) return ended(machine.error(), options);
  catch_interrupts();
  OriginOptions limits;
  limits.cancel = &interrupted();
  const auto origin = pack::open_origin(*host, options.from, limits);
  if (!origin) return ended(origin.error(), options);
  best.to = options.to;
  best.variant = options.variant;
  // A machine that is not this one cannot be tried.
  best.load_test = !options.no_load_test && options.machine.is_this_one();
  best.how.dry_run = options.dry_run;
  best.how.always_test = options.report.has_value();
  best.how.verify = options.verify;
  best.how.cancel = &interrupted();
  best.how.fetch_limit = std::chrono::seconds(static_cast<std::int64_t>(options.fetch_time));
  best.how.wait = lock_wait(options.wait, options.globals.quiet);
  ProgressLine line(options.globals.quiet);
  best.how.progress = [&, start = Clock::now()](auto step, auto done, auto total) {
    line.show(progress_text(step, done, total, elapsed_ms(start)));
  };
  return pack::install_best(*host, **origin, *machine, best);
}

// Nothing is installed yet: what would keep the report from being written, and the key that signs.
Result<std::optional<pack::SecretKey>> prepare_report(const PackInstallOptions& options) {
  if (!options.report) return std::nullopt;
  if (options.dry_run || options.no_load_test || !options.machine.is_this_one())
    return fail(ErrorKind::bad_input,
                "--report says what loaded on this machine: it does not go with --dry-run, "
                "--no-load-test, --gpu or --replay");
  TRY(pack::check_report_place(*options.report, options.report_key.has_value()));
  if (!options.report_key) return std::nullopt;
  const auto host = make_live_host();
  return TRY(read_secret_key(*host, *options.report_key, options.password_file));
}

Result<int> run_pack_install(const PackInstallOptions& options) {
  const auto start = Clock::now();
  const auto key = TRY(prepare_report(options));
  const auto report = install(options);
  Envelope envelope = begin_envelope("pack install");
  conclude(report, envelope);
  envelope.notes = report.notes;
  if (options.report) {
    const auto told =
        pack::write_report(*options.report, report.load_report, key, envelope.tool_version);
    envelope.notes.push_back(told ? *told : printable(told.error().message));
    // The installation succeeded and is reported anyway.
    if (!told && envelope.exit == Exit::ok) envelope.exit = exit_of_error(told.error());
  }
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_pack_install(CommandSpec& command) {
  auto options = std::make_shared<PackInstallOptions>();
  command.run = [options] { return run_pack_install(*options); };
  command.add({
      release_option(options->from),
      key_option(options->key),
      {.name = "--variant",
       .value = &options->variant,
       .help = "Install this variant on any machine",
       .type = "NAME"},
      place_option(options->to),
      {.name = "--dry-run",
       .value = &options->dry_run,
       .help = "Report what would be downloaded; write nothing"},
      {.name = "--no-load-test",
       .value = &options->no_load_test,
       .help = "Skip the test that loads the libraries"},
      {.name = "--verify",
       .value = &options->verify,
       .help = "Hash every installed file, also those whose size and time are unchanged"},
      {.name = "--report",
       .value = &options->report,
       .help = "Write to FILE what was loaded, and how: a proof for pack publish",
       .type = "FILE",
       .files = Files::written,
       .files_of = files_of_report},
      {.name = "--report-key",
       .value = &options->report_key,
       .help = "Sign the report with this private key; writes FILE.minisig",
       .type = "KEYFILE",
       .needs = "--report",
       .files = Files::read},
      password_option(options->password_file),
      wait_option(options->wait),
      {.name = "--fetch-time",
       .value = &options->fetch_time,
       .help = "How long the download may take; what came is kept (default: 12 h)",
       .range = Range{1, 864000},
       .seconds = true},
  });
  add_machine_options(command, options->machine);
  command.add({free_memory_option(options->machine)});
  add_output(command, options->globals);
  command.footer =
      "If a variant cannot be downloaded or does not load, the CPU variant replaces it, with "
      "the\nreason. Exit codes: 0 installed, or installed already, or the release has nothing for "
      "this\nmachine; 1 not trusted (signature, hash, expiry, an older version) or it does not "
      "load:\nnothing was changed; 2 wrong usage; 4 not reachable, no room, or another gpuready "
      "process\nholds the package's lock.";
}

}  // namespace gpuready::cli
