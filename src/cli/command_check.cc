#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <iterator>
#include <memory>
#include <optional>

#include "base/random.h"
#include "cli/commands.h"
#include "cli/health_tests.h"
#include "cli/options.h"
#include "doctor/diagnose.h"
#include "health/aftermath.h"
#include "health/fitness.h"
#include "host/network.h"
#include "host/xid_listener.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  std::optional<int> require_gpu;
  std::optional<std::string> baseline, network, inject;
  std::string level = "quick";
  bool busy = false, fitness = false;
};

void append(std::vector<Finding>& findings, std::vector<Finding> more) {
  std::move(more.begin(), more.end(), std::back_inserter(findings));
}

// Says first, and why, when there is no GPU to test.
void note_absence(Report& report) {
  const Machine& machine = report.machine;
  if (!machine.fakes.empty() || machine.source != "live") return;
  for (const auto& gpu : machine.gpus)
    if (!gpu.faked) return;
  std::string why = "no display or compute controller of a GPU vendor is on the PCI bus";
  if (machine.system.wsl2)
    why = "/dev/dxg shows no GPU that the drivers here know";
  else if (machine.pci.empty())
    why = "the PCI bus shows no device that could be one";
  std::string software;
  for (const auto& device : machine.vulkan.devices)
    if (device.software())
      software = fmt::format(" Vulkan offers {} only, which is software.", device.name);
  report.notes.push_back(
      fmt::format("No GPU here: {}.{} Host memory is tested instead, by the CPU; that proves "
                  "nothing about a GPU.",
                  why, software));
}

// The fitness checks of the host; the GPU's are the workers' verdicts.
Result<void> add_fitness(Host& host, const Options& options, Report& report) {
  const auto limits = fitness_limits(host);
  if (!limits) return std::unexpected(limits.error());
  auto& verdicts = *report.verdicts;
  verdicts.push_back(memory_fitness(report.machine, *limits));
  verdicts.push_back(disk_fitness(host.space("/"), *limits));
  verdicts.push_back(cuda_version_fitness(report.machine, *limits));
  if (options.network) {
    const auto timeout =
        std::chrono::milliseconds(static_cast<long>(limits->network_timeout_s * 1000));
    verdicts.push_back(
        network_fitness(*options.network, tcp_connect_ms(*options.network, timeout), *limits));
  }
  return {};
}

Result<PlanOptions> plan_options(Host& host, const Options& options) {
  PlanOptions plan;
  plan.busy = options.busy;
  plan.devices = options.globals.devices;
  plan.test.level = *level_from(options.level);
  if (options.inject) plan.test.inject = Fault{*fault_class_from(*options.inject), random_u64()};
  if (options.fitness) {
    const auto limits = fitness_limits(host);
    if (!limits) return std::unexpected(limits.error());
    plan.test.limit_ms = limits->benchmark_limit_s * 1000;
    plan.test.limit_source = "RUNPOD_GPU_BENCHMARK_TIMEOUT";
    plan.tests = tests_of(plan.test.level);
    plan.tests.push_back("benchmark");
  }
  return plan;
}

int run(const Options& options) {
  const auto start = Clock::now();
  auto host = open_host(options.globals);
  if (!host) return complain(host.error());
  auto machine = inspect_as_asked(**host, options.globals, {.full = true});
  if (!machine) return complain(machine.error());
  if (const auto unknown = unknown_device(options.globals.devices, *machine))
    return complain(*unknown);

  Report report = begin_report("check", std::move(*machine));
  report.findings = diagnose(report.machine, {.expected_gpus = options.require_gpu});
  if (options.baseline) {
    const auto earlier = inspect_recording(*options.baseline);
    if (!earlier) return complain(earlier.error());
    append(*report.findings, compare_with_baseline(*earlier, report.machine));
  }
  note_absence(report);

  const auto tests = plan_options(**host, options);
  if (!tests) return complain(tests.error());
  const bool listens = report.machine.source == "live" && report.machine.fakes.empty() &&
                       report.machine.nvidia.nvml_start && report.machine.nvidia.nvml_start->ok();
  std::optional<XidListener> listener;
  if (listens) listener.emplace();
  report.verdicts = run_health_tests(report.machine, *tests, options.globals.quiet);
  if (report.machine.source == "live" && !report.machine.gpus.empty() &&
      report.machine.fakes.empty()) {
    Machine after = inspect(**host, {.kernel_log = true, .counters = true});
    if (listener) add_heard_xids(listener->stop(), report.machine, after);
    append(*report.findings, compare_before_and_after(report.machine, after));
    apply_memory_xids(report.machine, after, *report.verdicts);
  }
  if (options.fitness)
    if (const auto added = add_fitness(**host, options, report); !added)
      return complain(added.error());

  report.duration_ms = elapsed_ms(start);
  conclude(report, {.required_gpus = options.require_gpu, .devices = options.globals.devices});
  return deliver(report, options.globals);
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  add_globals(app, options->globals, true);
  add_require_gpu(app, options->require_gpu);
  add_baseline(app, options->baseline);
  app.add_option("--level", options->level,
                 "How much is tested: quick (one memory pass and its complement)")
      ->check(CLI::IsMember({"quick", "standard", "thorough"}));
  app.add_flag("--busy", options->busy,
               "Test GPUs that others use, too; 2 GiB or 10% stays free for them");
  app.add_flag(
      "--fitness", options->fitness,
      "Also a worker's fitness: memory, disk, CUDA version, a matrix product (RUNPOD_* variables)");
  app.add_option("--network", options->network, "With --fitness: this TCP service must answer")
      ->type_name("HOST:PORT");
  app.add_option("--inject", options->inject,
                 "Prove the test: flip a random bit on the device; exit 1")
      ->check(CLI::IsMember({"bitflip", "stuck", "dropped-write", "alias", "coupling"}))
      ->type_name("FAULT");
  app.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace gpuready::cli
