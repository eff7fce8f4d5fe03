#include "fleet/slow/pair_runner.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/characters.h"
#include "base/text.h"
#include "fleet/slow/rates_text.h"

namespace gpuready::fleet {
namespace {

// A process a node drives all its GPUs. Text instead of -J FILE: every process makes such a file,
// on its own node. NVLS is off, as in all that gpuready starts with NCCL.
constexpr PairTemplate kTemplates[] = {
    {"slurm",
     "NCCL_NVLS_ENABLE=0 srun --overlap --nodes=2 --ntasks=2 --ntasks-per-node=1 "
     "--nodelist={a},{b} all_reduce_perf -b 1G -e 1G -g {gpus}"},
    {"mpi",
     "mpirun -np 2 --host {a}:1,{b}:1 -x NCCL_NVLS_ENABLE=0 all_reduce_perf -b 1G -e 1G -g {gpus}"},
};

constexpr std::size_t kMostOutput = 1u << 20;  // bytes

std::string expand(std::string_view command, const std::string& a, const std::string& b,
                   unsigned gpus) {
  std::string text;
  while (!command.empty()) {
    const std::size_t open = std::min(command.find('{'), command.size());
    text += command.substr(0, open);
    command.remove_prefix(open);
    bool known = false;
    for (const auto& [word, value] : {std::pair<std::string_view, std::string>{"{a}", a},
                                      {"{b}", b},
                                      {"{gpus}", fmt::format("{}", gpus)}})
      if (command.starts_with(word)) {
        text += value;
        command.remove_prefix(word.size());
        known = true;
        break;
      }
    if (!known && !command.empty()) {
      text += command.front();
      command.remove_prefix(1);
    }
  }
  return text;
}

// What nccl-tests says of its failure; else the last line with words, as mpirun draws a rule below.
std::string_view last_words(const JobOutcome& outcome) {
  for (const std::string_view line : lines(outcome.out))
    if (contains(line, "Test CUDA failure") || contains(line, "Test NCCL failure"))
      return trim(line);
  const auto said = lines(outcome.err.empty() ? outcome.out : outcome.err);
  const auto last = std::ranges::find_if(said.rbegin(), said.rend(), [](std::string_view line) {
    return std::ranges::any_of(line, is_letter_or_digit);
  });
  return last == said.rend() ? "" : trim(*last);
}

Result<double> rate_of(const Result<JobOutcome>& outcome) {
  if (!outcome) return std::unexpected(outcome.error());
  if (has_wrong_values(outcome->out)) return rate_in(outcome->out);  // however it ended
  if (outcome->end != JobEnd::exited)
    return fail(ErrorKind::timed_out, fmt::format("it {} after {:.0f} s", to_string(outcome->end),
                                                  outcome->duration_ms / 1000));
  if (outcome->exit_code != 0) {
    const auto said = last_words(*outcome);
    return fail(ErrorKind::io, fmt::format("exit code {}{}{}", outcome->exit_code,
                                           said.empty() ? "" : ": ", printable(said)));
  }
  if (outcome->truncated)
    return fail(ErrorKind::too_large, fmt::format("it wrote more than {} MiB, so its rate may be "
                                                  "missing from what was kept",
                                                  kMostOutput >> 20));
  return rate_in(outcome->out);
}

// Each job has two pipes, and a fleet has hundreds of pairs.
void allow_pipes(std::size_t pairs) {
  rlimit limit{};
  const auto need = static_cast<rlim_t>(4 * pairs + 64);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need) return;
  limit.rlim_cur = std::min(need, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::span<const PairTemplate> pair_templates() { return kTemplates; }

Result<std::string> command_of(const RunnerChoice& choice, std::size_t rounds_so_far) {
  if (choice.plan) return "";
  std::string command = choice.command;
  for (const PairTemplate& known : kTemplates)
    if (command.empty() && known.name == choice.runner) command = known.command;
  if (command.empty() && rounds_so_far == 0)
    return fail(ErrorKind::bad_input,
                "nothing says how to measure: give --runner or --command, or --plan and --results");
  if (choice.runner == "slurm" && !choice.in_slurm_job)
    return fail(
        ErrorKind::bad_input,
        "--runner slurm: this is not a job of Slurm (SLURM_JOB_ID is not set), so each srun "
        "would wait for nodes of its own; start it in a job of all nodes, such as: salloc "
        "--exclusive --nodelist=NODES gpuready fleet slow --runner slurm");
  return command;
}

Result<void> check_runner(const PairRunner& runner) {
  if (!contains(runner.command, "{a}") || !contains(runner.command, "{b}"))
    return fail(ErrorKind::bad_input,
                "the command does not say where {a} and {b}, the nodes of a pair, go");
  return {};
}

RoundOutcome measure_round(const PairRunner& runner, const FleetMap& map,
                           const std::vector<IndexPair>& pairs, unsigned round) {
  allow_pipes(pairs.size());
  std::vector<Job> jobs;
  for (const auto& [a, b] : pairs) {
    Job job;
    job.program = "/bin/sh";
    job.args = {"-c", expand(runner.command, map.nodes[a], map.nodes[b], runner.gpus)};
    job.limits.time = runner.time_limit;
    job.output_limit_bytes = kMostOutput;
    jobs.push_back(std::move(job));
  }
  const auto outcomes = run_jobs(jobs, {.watch = runner.watch});
  RoundOutcome result;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& outcome = outcomes[i];
    if (outcome ? outcome->end == JobEnd::cancelled : outcome.error().kind == ErrorKind::cancelled)
      continue;
    const auto& [a, b] = pairs[i];
    const auto rate = rate_of(outcome);
    result.rates.push_back({.a = a,
                            .b = b,
                            .rate = rate ? std::optional(*rate) : std::nullopt,
                            .wrong_values = outcome && has_wrong_values(outcome->out)});
    if (!rate) result.failures.push_back({round, map.nodes[a], map.nodes[b], rate.error().message});
  }
  return result;
}

Result<std::vector<PairFailure>> measure_rounds(
    const PairRunner& runner, SlowSearch& search, const std::function<Result<void>()>& keep,
    const std::function<void(std::size_t pairs, unsigned round)>& begins) {
  TRY(check_runner(runner));
  const auto cancelled = [&] { return runner.watch.cancel != nullptr && *runner.watch.cancel; };
  std::vector<PairFailure> failures;
  for (bool first = true; !cancelled(); first = false) {
    const auto pairs = next_round(search);
    if (pairs.empty()) break;
    if (first) TRY(keep());  // what it writes to may not be writable
    const auto number = static_cast<unsigned>(search.rounds.size() + 1);
    begins(pairs.size(), number);
    auto outcome = measure_round(runner, search.map, pairs, number);
    if (outcome.rates.empty()) break;  // cancelled
    search.rounds.push_back(std::move(outcome.rates));
    failures.insert(failures.end(), outcome.failures.begin(), outcome.failures.end());
    TRY(keep());
  }
  return failures;
}

}  // namespace gpuready::fleet
