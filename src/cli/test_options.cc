// The command lines of `check` and `test`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/run_tests.h"
#include "health/test.h"

namespace gpuready::cli {
namespace {

constexpr double kLongestDurationS = 7 * 24 * 3600;

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultClass kind : all_fault_classes()) names.emplace_back(to_string(kind));
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

void add_test_options(CLI::App& app, TestCommand& options, std::string default_level) {
  options.level = std::move(default_level);
  add_globals(app, options.globals, true);
  add_require_gpu(app, options.require_gpu);
  add_baseline(app, options.baseline);
  app.add_option("--level", options.level,
                 fmt::format("How much is tested: quick (about 2 s), standard (30 s), thorough "
                             "(6 min); {} if not given",
                             options.level))
      ->check(CLI::IsMember({"quick", "standard", "thorough"}));
  app.add_flag("--busy", options.busy,
               "Test GPUs that others use, too; 2 GiB or 10% stays free for them");
  app.add_option("--inject", options.inject,
                 fmt::format("Prove the tests: make this fault on the device; exit 1 ({})",
                             fmt::join(fault_names(), ", ")))
      ->check(CLI::IsMember(fault_names()))
      ->type_name("FAULT");
}

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TestCommand>();
  add_test_options(app, *options, "quick");
  app.add_flag(
      "--fitness", options->fitness,
      "Also a worker's fitness: memory, disk, CUDA version, a matrix product (RUNPOD_* variables)");
  app.add_option("--network", options->network, "With --fitness: this TCP service must answer")
      ->type_name("HOST:PORT");
  app.callback([options, &exit_code] { exit_code = run_tests("check", *options); });
}

void add_test(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TestCommand>();
  add_test_options(app, *options, "standard");
  app.add_option("--only", options->only, "Run these tests alone:" + describe_tests())
      ->delimiter(',')
      ->check(CLI::IsMember(test_names()))
      ->type_name("TEST,...");
  app.add_option("--duration", options->duration_s,
                 "Go on for this many seconds, shared equally by the tests that can")
      ->check(CLI::Range(0.001, kLongestDurationS))
      ->type_name("SECONDS");
  app.add_option("--seed", options->seed,
                 "Of all patterns, data and injected faults; random if not given")
      ->type_name("N");
  app.add_option("--faults", options->faults, "With --inject: how many faults, at different places")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_flag("--hammer", options->hammer,
               "Also repeated access in the memory test; the GPU must be yours alone");
  app.callback([options, &exit_code] { exit_code = run_tests("test", *options); });
}

}  // namespace gpuready::cli
