#include <memory>

#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/exchange/export.h"
#include "cli/options.h"

namespace gpuready::cli {
namespace {

struct BenchExportOptions {
  std::string folder{bench::kResultsFolder}, runs{"latest"}, format{"csv"}, out{"-"};
};

struct ExportFormat {
  const char* name;
  bool one_run;  // its files hold one
  std::string (*write)(const std::vector<bench::RunRecord>& runs);
};
constexpr ExportFormat kFormats[] = {
    {"csv", false, [](const auto& runs) { return bench::to_csv(runs); }},
    {"google-benchmark", true,
     [](const auto& runs) { return dump(bench::to_google_benchmark(runs.front())); }},
    {"pyc", true, [](const auto& runs) { return dump(bench::to_pyc_suite(runs.front())); }},
};

Result<int> run_bench_export(const BenchExportOptions& options) {
  const auto host = make_live_host();
  const auto runs = TRY(bench::find_runs(*host, options.folder, options.runs));
  for (const auto& format : kFormats) {
    if (options.format != format.name) continue;
    if (format.one_run && runs.size() != 1)
      return complain({ErrorKind::bad_input,
                       fmt::format("{} is {} runs, and a file of {} holds one: name one by its id",
                                   options.runs, runs.size(), format.name),
                       0});
    TRY(write_file(options.out, format.write(runs)));
  }
  return 0;
}

}  // namespace

void declare_bench_export(CommandSpec& command) {
  auto options = std::make_shared<BenchExportOptions>();
  command.run = [options] { return run_bench_export(*options); };
  Option format{.name = "--format", .value = &options->format, .help = "Default: csv"};
  for (const auto& each : kFormats) format.one_of.emplace_back(each.name);
  command.add({reported_runs_option(options->runs),
               std::move(format),
               {.name = "--out",
                .value = &options->out,
                .help = "The output file (default: standard output)",
                .type = "FILE",
                .files = Files::written},
               results_option(options->folder)});
  command.footer =
      "Exit codes: 0 written; 2 wrong usage, bad input, or the output cannot be written.";
}

}  // namespace gpuready::cli
