#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/gpu_test_result.h"
#include "cli/health_tests.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "machine/system/named_libraries.h"

namespace gpuready::cli {
namespace {

// Enough to touch every memory channel of any GPU, and little enough to end within a second.
constexpr std::uint64_t kBytesPerGpu = 1 * GiB;

// The caller gives up after RUNPOD_GPU_TEST_TIMEOUT seconds, 30 where it is not set, and then knows
// nothing. The answer comes before that, also when a driver hangs: a third of the time is for
// finding the GPUs, the rest for testing them, and a second for writing.
constexpr const char* kTimeoutVariable = "RUNPOD_GPU_TEST_TIMEOUT";
constexpr double kDefaultTimeoutS = 30, kLeastTimeoutS = 4, kTimeToAnswerMs = 1000;

std::chrono::milliseconds milliseconds(double count) {
  return std::chrono::milliseconds(static_cast<long>(count));
}

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

bool any_failed(const std::vector<Verdict>& verdicts) {
  return std::ranges::any_of(
      verdicts, [](const Verdict& verdict) { return verdict.status == VerdictStatus::failed; });
}

void write_result(const GpuTestResult& result) {
  const std::string text = gpu_test_text(result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int run_gpu_test(GpuTestOptions options) {
  const auto start = Clock::now();
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  const auto timeout_s = caller_timeout_s(**host);
  if (!timeout_s) return complain(timeout_s.error());
  if (!options.globals.timeout_s) options.globals.timeout_s = *timeout_s / 3;
  const auto machine = inspect_as_asked(**host, options.globals, {.full = true});
  if (!machine) {
    const auto identity = (*host)->identity();  // the caller reads standard output only
    write_result(
        gpu_test_without_answer(identity ? identity->kernel_release : "", machine.error().message));
    return complain(machine.error());
  }

  PlanOptions tests;
  tests.tests = {"memory"};
  // Handlers load their models before this is asked: what they leave free is tested.
  tests.survey.busy = true;
  tests.survey.half_of_free = true;
  tests.survey.test.max_bytes = kBytesPerGpu;
  std::vector<Verdict> verdicts;
  if (!machine->gpus.empty())
    verdicts = run_health_tests(
        *machine, tests, true, start,
        WorkerLimits::within(milliseconds(*timeout_s * 1e3 - kTimeToAnswerMs - elapsed_ms(start))));

  const auto result = gpu_test_result(*machine, verdicts, trusts_named_libraries(**host));
  write_result(result);
  if (interrupted() && !any_failed(verdicts)) {
    complain("interrupted");
    return static_cast<int>(Exit::interrupted);
  }
  return static_cast<int>(gpu_test_passed(result) ? Exit::ok : Exit::unhealthy);
}

}  // namespace

void declare_gpu_test(CommandSpec& command) {
  auto options = std::make_shared<GpuTestOptions>();
  command.run = [options] { return run_gpu_test(*options); };
  command.footer =
      "Tests every GPU that is assigned to this container, in at most half of its free "
      "memory.\nAnswers within RUNPOD_GPU_TEST_TIMEOUT seconds (default: 30).\nExit codes: 0 every "
      "GPU passed; 1 otherwise.";
  command.add({
      replay_option(options->globals.replay,
                    "Use a recording instead of this machine (nothing is tested)"),
      {.name = "--fake",
       .value = &options->globals.fake,
       .help = "Simulate backends for tests",
       .type = "SPEC"},
      timeout_option(options->globals),
  });
}

}  // namespace gpuready::cli
