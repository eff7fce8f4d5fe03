#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/nodes/hostlist.h"
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

// The nodes of --nodes, else of the topology, else of the Slurm job.
Result<fleet::FleetMap> fleet_of(const FleetSlowOptions& options, Host& host) {
  std::string list = options.nodes;
  if (list.empty() && options.topology.empty())
    list = host.environment("SLURM_JOB_NODELIST").value_or("");
  if (list.empty() && options.topology.empty())
    return fail(ErrorKind::bad_input,
                "no nodes are given: name them with --nodes or --topology, or run it in a Slurm "
                "job");
  std::vector<fleet::NodeGroup> topology;
  if (!options.topology.empty())
    topology = TRY(fleet::parse_topology(TRY(host.read_file(options.topology, 16u << 20))));
  std::vector<std::string> nodes;
  if (!list.empty()) nodes = TRY(parse_nodes(list));
  auto sorted = nodes;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(ErrorKind::bad_input, fmt::format("node {} is named twice", printable(*twice)));
  auto map = fleet::map_of(std::move(nodes), topology);
  if (map.nodes.size() < 3)
    return fail(ErrorKind::bad_input, "three nodes are needed: of two, either may be the slow one");
  return map;
}

std::string command_of(const FleetSlowOptions& options) {
  if (!options.command.empty()) return options.command;
  for (const auto& known : fleet::pair_templates())
    if (known.name == options.runner) return std::string(known.command);
  return "";
}

// Each round is kept when it has ended, so that a search goes on where it was interrupted.
Result<std::vector<fleet::PairFailure>> measure(fleet::SlowSearch& search,
                                                const FleetSlowOptions& options) {
  catch_interrupts();
  fleet::PairRunner runner{.command = command_of(options),
                           .gpus = options.gpus,
                           .time_limit = to_milliseconds(options.time_limit_s),
                           .watch = {.cancel = &interrupted()}};
  TRY(fleet::check_runner(runner));
  ProgressLine progress(options.globals.quiet);
  std::vector<fleet::PairFailure> failures;
  const auto keep = [&]() -> Result<void> {
    if (options.results.empty()) return {};
    return write_file_atomically(options.results, fleet::write_rates(search));
  };
  for (bool first = true; !interrupted(); first = false) {
    const auto pairs = fleet::next_round(search);
    if (pairs.empty()) break;
    if (first) TRY(keep());  // before anything is measured, since the file may not be writable
    const auto number = static_cast<unsigned>(search.rounds.size() + 1);
    progress.show(fmt::format("round {}: {}", number, counted(pairs.size(), "pair")));
    auto outcome = fleet::measure_round(runner, search.map, pairs, number);
    if (outcome.rates.empty()) break;  // interrupted
    search.rounds.push_back(std::move(outcome.rates));
    failures.insert(failures.end(), outcome.failures.begin(), outcome.failures.end());
    TRY(keep());
  }
  return failures;
}

// When a file was last written: its rounds are older.
std::string modified(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file ? format_utc(file->modified().time_since_epoch().count()) : "an unknown time";
}

Result<int> run_fleet_slow(const FleetSlowOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  fleet::SlowSearch search{.map = TRY(fleet_of(options, *host)),
                           .options = {.slower_by = options.slower_by_percent.value_or(0) / 100,
                                       .most_rounds = options.rounds},
                           .rounds = {}};
  if (!options.results.empty() && host->exists(options.results)) {
    auto rounds = fleet::read_rates(TRY(host->read_file(options.results, kMostBytes)), search.map);
    if (!rounds) return fail(rounds.error().kind, options.results + ", " + rounds.error().message);
    search.rounds = std::move(*rounds);
  }
  const bool measures = !options.plan && !command_of(options).empty();
  if (!measures && !options.plan && search.rounds.empty())
    return fail(ErrorKind::bad_input,
                "nothing says how to measure: give --runner or --command, or --plan and --results");
  if (measures && options.runner == "slurm" && !host->environment("SLURM_JOB_ID"))
    return fail(
        ErrorKind::bad_input,
        "--runner slurm: this is not a job of Slurm (SLURM_JOB_ID is not set), so each srun "
        "would wait for nodes of its own; start it in a job of all nodes, such as: salloc "
        "--exclusive --nodelist=NODES gpuready fleet slow --runner slurm");
  const std::size_t kept = search.rounds.size();
  const std::string kept_from = kept > 0 ? modified(options.results) : "";
  std::vector<fleet::PairFailure> failures;
  if (measures) failures = TRY(measure(search, options));

  auto findings = fleet::findings_of(search);
  findings.failures = std::move(failures);
  if (measures && kept > 0) {
    const bool none = search.rounds.size() == kept && !interrupted();
    if (none) findings.ended = fleet::SearchEnd::ended_before;
    const std::string old =
        fmt::format("{} of {} {} measured before {}", counted(kept, "round"),
                    printable(options.results), kept == 1 ? "was" : "were", kept_from);
    findings.notes.push_back(none ? "Nothing was measured now, because this search has ended: " +
                                        old + ". For a new search, remove the file or name another."
                                  : old + ".");
  }
  if (const auto pairs = fleet::next_round(search); options.plan && !pairs.empty()) {
    findings.ended = fleet::SearchEnd::planned;
    for (const auto& [a, b] : pairs)
      findings.next_round.push_back({search.map.nodes[a], search.map.nodes[b]});
  }
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
