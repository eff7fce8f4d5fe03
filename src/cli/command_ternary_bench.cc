#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/ternary_commands.h"
#include "cli/ternary_subjects.h"
#include "report/terminal_text.h"
#include "ternary_device/bench.h"

namespace gpuready::cli {
namespace {

using namespace ternary;
using ternary::to_string;

struct Options {
  Globals globals;
  TernarySubjects subjects;
  std::vector<std::string> shapes;
};

int exit_of(const std::vector<BenchRow>& rows, const TernarySubjects& chosen) {
  bool timed = false, failed = false, missing = false;
  for (const BenchRow& row : rows) {
    timed |= row.status == CheckStatus::passed;
    failed |= row.status == CheckStatus::failed;
    const bool asked =
        row.subject.starts_with("cpu/") ? !chosen.tiers.empty() : !chosen.targets.empty();
    missing |=
        row.status == CheckStatus::timed_out || (row.status == CheckStatus::not_tested && asked);
  }
  return static_cast<int>(failed ? Exit::unhealthy : missing || !timed ? Exit::unknown : Exit::ok);
}

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

std::string operations_text(double per_s) {
  return per_s < 1e12 ? fmt::format("{:.0f} G", per_s * 1e-9)
                      : fmt::format("{:.1f} T", per_s * 1e-12);
}

std::string render(const std::vector<BenchRow>& rows, const TerminalStyle& style) {
  TerminalText out(style);
  std::vector<BenchShape> shapes;
  for (const BenchRow& row : rows)
    if (row.shape.n > 0 && std::find(shapes.begin(), shapes.end(), row.shape) == shapes.end())
      shapes.push_back(row.shape);
  for (const BenchShape& shape : shapes) {
    Table table;
    table.columns = {{"Tier or kernel"},
                     {"Device", Align::left, false, 2},
                     {"Form"},
                     {"Of"},
                     {"Least", Align::right},
                     {"Median", Align::right, false, 1},
                     {"GB/s", Align::right},
                     {"Of reading", Align::right},
                     {"Op/s", Align::right}};
    for (const BenchRow& row : rows) {
      if (!(row.shape == shape) || row.status != CheckStatus::passed) continue;
      const auto share = row.read_share();
      const bool cpu = row.subject.starts_with("cpu/");
      table.rows.push_back(
          {{cpu ? row.subject : row.subject.substr(0, row.subject.find(':')) + " " + row.kernel},
           {cpu ? std::string() : row.device},
           {row.form},
           {std::string(to_string(row.timed))},
           {time_text(row.least_us)},
           {time_text(row.median_us)},
           {fmt::format("{:.1f}", row.bytes_per_s() * 1e-9)},
           {share ? fmt::format("{:.0f}%", *share * 100) : "-"},
           {operations_text(row.operations_per_s())}});
    }
    if (table.rows.empty()) continue;
    out.heading(fmt::format("M {}, N {}, K {}", shape.m, shape.n, shape.k));
    out.table(2, table);
    out.blank();
  }
  for (const BenchRow& row : rows)
    if (row.status != CheckStatus::passed && (!style.quiet || row.status == CheckStatus::failed))
      out.paragraph(2, {out.mark(Tone::neutral) + " ", Ink::dim},
                    fmt::format("{}: {}", row.subject, row.reason));
  if (!style.quiet && !shapes.empty())
    out.paragraph(
        2, {""},
        "GB/s are of packed weights. Of reading: on a CPU, of reading as many bytes "
        "alone, with the same threads and from where the weights are; on a GPU, of "
        "reading 1 GiB of its memory. \"call\" is from and to host memory, \"device\" is "
        "on a GPU alone, with weights that its cache does not hold, \"device-values\" the "
        "same from activations that are not quantised yet.",
        Ink::dim);
  return out.take();
}

int run(Options& options) {
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  if (const auto good = check(options.subjects); !good) return complain(good.error());
  catch_interrupts();
  const TernarySubjects& chosen = options.subjects;
  BenchOptions asked;
  asked.threads = chosen.threads;
  asked.stop = &interrupted();
  std::vector<std::string> more;
  for (const std::string& text : options.shapes) {
    const auto shape = parse_bench_shape(text);
    if (!shape)
      return complain(Error{ErrorKind::bad_input,
                            fmt::format("--shape {}: MxNxK or NxK is wanted", printable(text))});
    asked.shapes.push_back(*shape);
    more.insert(more.end(), {"--shape", text});
  }
  std::vector<BenchRow> rows;
  {
    ProgressLine progress(options.globals.quiet);
    asked.progress = [&](std::string_view text) { progress.show(text); };
    if (chosen.in_process) {
      rows = bench_gpus(chosen.targets, asked);
    } else {
      if (chosen.cpu) rows = bench_cpu(chosen.tiers, asked);
      // After the CPU's: neither is to disturb the other.
      if (chosen.gpus && !interrupted()) {
        progress.show("the GPUs");
        const GpuOutcome outcome = GpuChild("bench", chosen, more).finish();
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
  const int code = exit_of(rows, chosen);
  return deliver(to_json(rows, chosen.threads, code, {GPUREADY_VERSION, now_utc()}),
                 static_cast<Exit>(code), options.globals,
                 [&](const TerminalStyle& style) { return render(rows, style); });
}

}  // namespace

void declare_ternary_bench(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  add_output(command, options->globals);
  add_subjects(command, options->subjects);
  command.add({{.name = "--shape",
                .value = &options->shapes,
                .help = "Products to time: MxNxK, or NxK for M = 1; four common ones if not given",
                .type = "LIST",
                .commas = true}});
}

}  // namespace gpuready::cli
