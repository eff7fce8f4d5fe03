#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "fleet/cli/fleet_commands.h"
#include "fleet/report/exit_rules.h"
#include "fleet/report/slow_fields.h"
#include "fleet/report/slow_report.h"
#include "fleet/slow/pair_runner.h"
#include "fleet/slow/rates_text.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"
#include "report/text_layout.h"

namespace gpuready::cli {
namespace {

constexpr std::size_t kMostBytes = 256u << 20;  // of a file of rates

struct FleetSlowOptions {
  Globals globals;
  std::string nodes, topology, runner, command, results;
  std::optional<double> slower_by_percent;
  unsigned gpus = 8, rounds = 16;
  double time_limit_s = 180;
  bool plan = false;
};

// Each round is kept when it has ended.
Result<std::vector<fleet::PairFailure>> measure(fleet::SlowSearch& search, std::string command,
                                                const FleetSlowOptions& options) {
  catch_interrupts();
  const fleet::PairRunner runner{.command = std::move(command),
                                 .gpus = options.gpus,
                                 .time_limit = to_milliseconds(options.time_limit_s),
                                 .watch = {.cancel = &interrupted()}};
  ProgressLine progress(options.globals.quiet);
  return fleet::measure_rounds(
      runner, search,
      [&]() -> Result<void> {
        if (options.results.empty()) return {};
        return write_file_atomically(options.results, fleet::write_rates(search));
      },
      [&](std::size_t pairs, unsigned round) {
        progress.show(fmt::format("round {}: {}", round, counted(pairs, "pair")));
      });
}

// When a file was last written: its rounds are older.
std::string modified(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file ? format_utc(file->modified().time_since_epoch().count()) : "an unknown time";
}

Result<int> run_fleet_slow(const FleetSlowOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  std::optional<std::string> topology;
  if (!options.topology.empty()) topology = TRY(host->read_file(options.topology, 16u << 20));
  fleet::SlowSearch search{
      .map = TRY(fleet::fleet_of(options.nodes, topology,
                                 host->environment("SLURM_JOB_NODELIST").value_or(""))),
      .options = {.slower_by = options.slower_by_percent.value_or(0) / 100,
                  .most_rounds = options.rounds},
      .rounds = {}};
  if (host->exists(options.results)) {
    auto rounds = fleet::read_rates(TRY(host->read_file(options.results, kMostBytes)), search.map);
    if (!rounds) return fail(rounds.error().kind, options.results + ", " + rounds.error().message);
    search.rounds = std::move(*rounds);
  }
  auto command =
      TRY(fleet::command_of({.command = options.command,
                             .runner = options.runner,
                             .plan = options.plan,
                             .in_slurm_job = host->environment("SLURM_JOB_ID").has_value()},
                            search.rounds.size()));
  const bool measures = !command.empty();
  KeptRounds kept{.rounds = search.rounds.size(), .file = options.results};
  if (kept.rounds > 0) kept.before = modified(options.results);
  std::vector<fleet::PairFailure> failures;
  if (measures) failures = TRY(measure(search, std::move(command), options));

  auto findings = fleet::findings_of(search);
  findings.failures = std::move(failures);
  kept.interrupted = interrupted();
  if (measures) note_kept_rounds(findings, kept);
  if (options.plan) fleet::add_plan(findings, search);
  Envelope envelope = begin_envelope("fleet slow");
  envelope.conclusion = conclusion_of(findings);
  envelope.notes = findings.notes;
  envelope.exit = exit_of(findings);
  return deliver_report(envelope, findings, start, options.globals);
}

}  // namespace

void declare_fleet_slow(CommandSpec& command) {
  auto options = std::make_shared<FleetSlowOptions>();
  command.run = [options] { return run_fleet_slow(*options); };
  add_output(command, options->globals);
  Option runner{
      .name = "--runner",
      .value = &options->runner,
      .help = "Measure each pair by nccl-tests' all_reduce_perf, started by srun or mpirun"};
  for (const auto& known : fleet::pair_templates()) runner.one_of.emplace_back(known.name);
  command.add({
      markdown_option(options->globals.markdown),
      {.name = "--nodes",
       .value = &options->nodes,
       .help = "The nodes, such as n[1-64]; if not given, those of the topology, or of the Slurm "
               "job",
       .type = "LIST"},
      {.name = "--topology",
       .value = &options->topology,
       .help = "Groups of nodes, such as leaf switches, as in Slurm's topology.conf",
       .type = "FILE",
       .files = Files::read},
      runner,
      {.name = "--command",
       .value = &options->command,
       .help = "Measure each pair by this shell command, in which {a} and {b} are the nodes; the "
               "last number that it prints is the rate",
       .type = "COMMAND",
       .excludes = "--runner"},
      {.name = "--gpus",
       .value = &options->gpus,
       .help = "GPUs of each node, {gpus} in the command (default: 8)",
       .range = Range{1, 64}},
      {.name = "--pair-timeout",
       .value = &options->time_limit_s,
       .help = "How long a pair may take (default: 180s)",
       .range = Range{0.1, 86400},
       .seconds = true},
      {.name = "--rounds",
       .value = &options->rounds,
       .help = "Measure no more rounds than this (default: 16)",
       .range = Range{1, 1000}},
      {.name = "--slower-by",
       .value = &options->slower_by_percent,
       .help = "By how many percent a slow part is slower (default: learned from the fleet)",
       .range = Range{1, 90}},
      {.name = "--results",
       .value = &options->results,
       .help = "Keep the rates in this file. If it exists, the search continues after them: name a "
               "new file for a new search",
       .type = "FILE",
       .files = Files::written},
      {.name = "--plan",
       .value = &options->plan,
       .help = "Print the pairs of the next round and measure nothing",
       .excludes = "--runner"},
  });
  command.footer =
      "Exit codes: 0 no part is slow, and each node and pair answered; or the plan is made; 1 a "
      "node, "
      "group\nor link is slow, or nccl-tests found wrong values twice; 2 wrong usage or bad input; "
      "4 a "
      "node or pair\ndid not answer, nccl-tests found wrong values once, the measurements do not "
      "decide, or nothing was\nmeasured because the search of --results had ended; 130 "
      "interrupted: "
      "what was measured by then\ncounts.";
}

}  // namespace gpuready::cli
