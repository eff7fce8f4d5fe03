#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/gpu_test_result.h"
#include "cli/options.h"
#include "cli/run_tests.h"
#include "cli/terminal.h"
#include "doctor/diagnose.h"
#include "machine/system/named_libraries.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

// Enough to touch every memory channel of any GPU, and little enough to end within a second.
constexpr std::uint64_t kBytesPerGpu = 1 * GiB;

// The caller gives up after RUNPOD_GPU_TEST_TIMEOUT seconds, 30 where it is not set, and then knows
// nothing. The answer comes before that, also when a driver hangs: a third of the time is for
// finding the GPUs, the rest for testing them, and a second for writing.
constexpr const char* kTimeoutVariable = "RUNPOD_GPU_TEST_TIMEOUT";
constexpr double kDefaultTimeoutS = 30, kLeastTimeoutS = 4, kTimeToAnswerS = 1;

struct GpuTestOptions {
  Globals globals;
};

Result<double> caller_timeout_s(Host& host) {
  const auto text = host.environment(kTimeoutVariable);
  if (!text || text->empty()) return kDefaultTimeoutS;
  const auto seconds = parse_double(*text);
  if (!seconds || *seconds < kLeastTimeoutS || *seconds > 86'400)
    return fail(ErrorKind::bad_input,
                fmt::format("{}={}: not a number of seconds from {} to 86400", kTimeoutVariable,
                            printable(*text), kLeastTimeoutS));
  return *seconds;
}

bool write_result(const GpuTestResult& result) { return print(gpu_test_text(result)); }

Result<int> run_gpu_test(GpuTestOptions options) {
  const auto start = Clock::now();
  auto host = TRY(open_host(options.globals));
  const auto timeout_s = TRY(caller_timeout_s(*host));
  if (!options.globals.timeout_s) options.globals.timeout_s = timeout_s / 3;
  const auto machine = inspect_as_asked(*host, options.globals, {.full = true});
  if (!machine) {
    const auto identity = host->identity();  // the caller reads standard output only
    write_result(
        gpu_test_without_answer(identity ? identity->kernel_release : "", machine.error().message));
    return complain(machine.error());
  }

  Report report = begin_report("gpu-test", *machine);
  report.findings =
      diagnose(report.machine, {.expected_gpus = std::nullopt, .compute_asked = true});
  const auto at = [&](double share) { return to_milliseconds(timeout_s * share - kTimeToAnswerS); };
  TestRun run{.plan = {}, .quiet = true, .start = start, .no_look_after = start + at(2.0 / 3)};
  run.plan.tests = tests_of(Level::quick);
  // Handlers load their models before this is asked: what they leave free is tested.
  run.plan.survey.busy = true;
  run.plan.survey.half_of_free = true;
  run.plan.survey.test.max_bytes = kBytesPerGpu;
  const auto left =
      at(1) - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  run.probe_timeout = to_milliseconds(*options.globals.timeout_s);
  run.limits = WorkerLimits::within(left / run.plan.tests.size());  // should each of them hang
  run_and_judge(*host, report, run);
  conclude(report, {.test_gpus = true, .asked = {.level = Level::quick, .busy = true}});

  const auto result = gpu_test_result(report, trusts_named_libraries(*host));
  const bool written = write_result(result);
  if (interrupted() && report.exit != Exit::unhealthy) {
    complain("interrupted");
    return static_cast<int>(Exit::interrupted);
  }
  if (!gpu_test_passed(result)) return static_cast<int>(Exit::unhealthy);
  return static_cast<int>(written ? Exit::ok : Exit::usage);
}

}  // namespace

void declare_gpu_test(CommandSpec& command) {
  auto options = std::make_shared<GpuTestOptions>();
  command.run = [options] { return run_gpu_test(*options); };
  command.footer =
      "Judges every GPU that is assigned to this container as `check` does, in at most half of its "
      "free memory.\nAnswers within RUNPOD_GPU_TEST_TIMEOUT seconds (default: 30).\nExit codes: 0 "
      "every "
      "GPU passed; 1 otherwise.";
  command.add({
      replay_option(options->globals.replay,
                    "Use a recording instead of this machine (nothing is tested)"),
      fake_option(options->globals),
      timeout_option(options->globals),
  });
}

}  // namespace gpuready::cli
