// `gpuready bench adapter`: gpuready itself as a benchmark's command, spoken to by the contract.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/native/native_stack.h"
#include "bench/record/result_files.h"
#include "bench/run/adapter_files.h"
#include "bench/run/adapters.h"
#include "cli/options.h"
#include "jobs/helper.h"

namespace gpuready::cli {
namespace {

struct BenchAdapterOptions {
  std::string stack = "gpuready";
  bool environment = false;
  std::string folder;
};

// The exports of the playbook's configure script, with what we have for each.
Result<int> print_exports(const BenchAdapterOptions& options) {
  const auto host = make_live_host();
  const auto scripts =
      TRY(options.folder.empty() ? bench::place_adapters(std::string(bench::kResultsFolder), *host)
                                 : bench::adapters_in(options.folder, *host));
  const auto commands = TRY(bench::stack_commands({}, variable, helper_job({}).program, scripts));
  std::fputs(bench::exports_of(commands).c_str(), stdout);
  return static_cast<int>(Exit::ok);
}

Result<int> run_bench_adapter(const BenchAdapterOptions& options) {
  if (options.environment) return print_exports(options);
  const auto request = bench::request_from(variable);
  const auto say = [](std::string_view step) {
    std::fprintf(stderr, "gpuready: %.*s\n", static_cast<int>(step.size()), step.data());
  };
  const bench::NativeAnswer answer = bench::answer_natively(options.stack, request, say);
  std::printf("%s\n", dump_line(answer.doc).c_str());
  std::fflush(stdout);
  // A driver's own end may hang or crash, and the answer is out.
  _exit(answer.exit_code);
}

}  // namespace

void declare_bench_adapter(CommandSpec& command) {
  auto options = std::make_shared<BenchAdapterOptions>();
  command.run = [options] { return run_bench_adapter(*options); };
  command.add({
      {.name = "--stack",
       .value = &options->stack,
       .help = "gpuready: our own kernels, a reference; ternary by our ternary kernels. "
               "gpuready_cublaslt: products by cuBLASLt, as a CUDA graph or single launches, "
               "whichever is faster",
       .type = "NAME",
       .one_of = {"gpuready", "gpuready_cublaslt"}},
      {.name = "--env",
       .value = &options->environment,
       .help = "Print the exports of all adapters' commands instead, for use in another suite"},
      {.name = "--scripts",
       .value = &options->folder,
       .help = "With --env: the folder of the adapters' scripts; if not given, copies below "
               "bench-results",
       .type = "FOLDER",
       .files = Files::read},
  });
  command.footer =
      "Reads BENCH_TASK, BENCH_DEVICE, BENCH_DTYPE, BENCH_BATCH, BENCH_HIDDEN, BENCH_M, "
      "BENCH_N,\nBENCH_K, BENCH_ITERS and BENCH_WARMUP, and prints one JSON object.\nExit codes: 0 "
      "measured, or unavailable on this machine; 1 failed.";
}

}  // namespace gpuready::cli
