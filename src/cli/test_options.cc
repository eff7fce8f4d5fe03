// The command lines of `check` and `test`.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/run_tests.h"
#include "health/test.h"
#include "value/names.h"

namespace gpuready::cli {
namespace {

constexpr double kLongestDurationS = 7 * 24 * 3600;

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultClass kind : all_fault_classes()) names.emplace_back(to_string(kind));
  return names;
}

std::vector<std::string> obligation_names() {
  std::vector<std::string> names;
  for (const auto& entry : kNames<ObligationKind>) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> test_names() {
  std::vector<std::string> names;
  for (const HealthTest& test : health_tests())
    if (test.from) names.emplace_back(test.name);
  return names;
}

// "memory (every address and bit ...), compute (...)": what --only takes.
std::string describe_tests() {
  std::string text;
  for (const HealthTest& test : health_tests())
    if (test.from)
      text += fmt::format("{}\n  {}: {} (from level {})", text.empty() ? "" : ";", test.name,
                          test.summary, to_string(*test.from));
  return text;
}

}  // namespace

void add_test_options(CommandSpec& command, TestCommand& options, std::string default_level) {
  options.default_level = std::move(default_level);
  add_globals(command, options.globals, true);
  add_require_gpu(command, options.require_gpu);
  add_baseline(command, options.baseline);
  add_accept(command, options.accept);
  add_policy(command, options.policy);
  command.add({
      device_option(options.globals),
      {.name = "--level",
       .value = &options.level,
       .help = fmt::format("Extent of the tests: quick (about 2 s), standard (30 s), thorough (6 "
                           "min) (default: {})",
                           options.default_level),
       .one_of = {"quick", "standard", "thorough"}},
      {.name = "--require",
       .value = &options.require,
       .help = "These obligations must be judged, whatever hides them; else exit with 4",
       .type = "OBLIGATION,...",
       .one_of = obligation_names(),
       .commas = true},
      state_option(options.state),
      {.name = "--wait",
       .value = &options.wait_s,
       .help =
           "If something is wrong at first, inspect again for up to this time: a driver settles "
           "after boot",
       .range = Range{0, 3600},
       .seconds = true},
      {.name = "--busy",
       .value = &options.busy,
       .help = "Also test GPUs that others use; 2 GiB or 10% stays free for them"},
      {.name = "--inject",
       .value = &options.inject,
       .help = "Prove the tests: inject this fault on the device; exit with 1",
       .type = "FAULT",
       .one_of = fault_names()},
  });
}

void declare_check(CommandSpec& command) {
  auto options = std::make_shared<TestCommand>();
  command.run = [options] { return run_tests("check", *options); };
  add_test_options(command, *options, "quick");
  command.add({
      {.name = "--fitness",
       .value = &options->fitness,
       .help = "Also check a worker's memory, disk, CUDA version and matrix product (RUNPOD_* "
               "variables)"},
      {.name = "--network",
       .value = &options->network,
       .help = "This TCP service must answer, too",
       .type = "HOST:PORT",
       .needs = "--fitness"},
  });
}

void declare_test(CommandSpec& command) {
  auto options = std::make_shared<TestCommand>();
  command.run = [options] { return run_tests("test", *options); };
  add_test_options(command, *options, "standard");
  command.add({
      {.name = "--only",
       .value = &options->only,
       .help = "Run only these tests:" + describe_tests(),
       .type = "TEST,...",
       .one_of = test_names(),
       .commas = true},
      {.name = "--duration",
       .value = &options->duration_s,
       .help = "Run for this time, divided equally among tests that can repeat",
       .range = Range{0.001, kLongestDurationS},
       .seconds = true},
      {.name = "--seed",
       .value = &options->seed,
       .help = "Seed of all patterns, data and injected faults (default: random)",
       .type = "N"},
      {.name = "--faults",
       .value = &options->faults,
       .help = "Number of faults, at different places",
       .type = "N",
       .range = Range{1, 4096},
       .needs = "--inject"},
      {.name = "--hammer",
       .value = &options->hammer,
       .help = "Also repeated access in the memory test; no one else may use the GPU"},
  });
}

}  // namespace gpuready::cli
