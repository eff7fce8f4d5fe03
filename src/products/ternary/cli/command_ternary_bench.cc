#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "ternary/cli/ternary_commands.h"
#include "ternary/cli/ternary_subjects.h"
#include "ternary/report/bench_report.h"
#include "ternary/report/exit_rules.h"
#include "ternary/suite/bench.h"

namespace gpuready::cli {
namespace {

using namespace ternary;

struct TernaryBenchOptions {
  Globals globals;
  TernarySubjects subjects;
  std::vector<std::string> shapes;
};

Result<int> run_ternary_bench(TernaryBenchOptions& options) {
  TRY(check(options.subjects));
  catch_interrupts();
  const auto start = Clock::now();
  const TernarySubjects& chosen = options.subjects;
  BenchOptions asked;
  asked.threads = chosen.threads;
  asked.stop = &interrupted();
  std::vector<std::string> more;
  for (const std::string& text : options.shapes) {
    const auto shape = parse_bench_shape(text);
    if (!shape)
      return complain(Error{ErrorKind::bad_input,
                            fmt::format("--shape {}: expected MxNxK or NxK, each from 1 to 4194304",
                                        printable(text))});
    asked.shapes.push_back(*shape);
    more.insert(more.end(), {"--shape", text});
  }
  TernaryTimes times{chosen.threads, {}};
  auto& rows = times.rows;
  {
    ProgressLine progress(options.globals.quiet);
    asked.progress = [&](std::string_view text) { progress.show(text); };
    if (chosen.in_process) {
      rows = bench_gpus(chosen.targets, asked);
    } else {
      if (chosen.cpu) rows = bench_cpu(chosen.tiers, asked);
      // After the CPU's: neither is to disturb the other.
      if (chosen.gpus) {
        progress.show("the GPUs");
        GpuOutcome outcome;
        outcome.reason = kInterrupted;
        if (!interrupted()) outcome = GpuChild("bench", chosen, more).finish();
        auto theirs = outcome.document ? read_bench_rows(*outcome.document) : std::nullopt;
        if (!theirs) {
          BenchRow lost;
          lost.subject = "gpu";
          lost.status = outcome.crashed     ? CheckStatus::failed
                        : outcome.timed_out ? CheckStatus::timed_out
                                            : CheckStatus::not_tested;
          lost.reason = outcome.reason;
          theirs.emplace({std::move(lost)});
        }
        rows.insert(rows.end(), theirs->begin(), theirs->end());
      }
    }
  }
  Envelope envelope = begin_envelope("ternary bench");
  envelope.exit = exit_of(BenchOutcome{rows, !chosen.tiers.empty(), !chosen.targets.empty()});
  return deliver_report(envelope, times, start, options.globals);
}

}  // namespace

void declare_ternary_bench(CommandSpec& command) {
  auto options = std::make_shared<TernaryBenchOptions>();
  command.run = [options] { return run_ternary_bench(*options); };
  add_output(command, options->globals);
  add_subjects(command, options->subjects);
  command.add({{.name = "--shape",
                .value = &options->shapes,
                .help = "Products to time: MxNxK, or NxK for M = 1 (default: four common shapes)",
                .type = "LIST",
                .commas = true}});
}

}  // namespace gpuready::cli
