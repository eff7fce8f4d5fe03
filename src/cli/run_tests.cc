// Everything that check and test do: inspect, diagnose, run the tests, look again, conclude,
// report.
#include "cli/run_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "cli/health_tests.h"
#include "cli/terminal.h"
#include "doctor/diagnose.h"
#include "health/aftermath.h"
#include "health/clocks.h"
#include "health/fitness/fitness.h"
#include "health/plan/survey.h"
#include "health/samples.h"
#include "health/second_look.h"
#include "health/siblings.h"
#include "health/throttle.h"
#include "host/network.h"
#include "host/xid_listener.h"
#include "machine/gpu_use.h"
#include "machine/system/kernel_drivers.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/conclude.h"
#include "report/exit_rules.h"

namespace gpuready::cli {
namespace {

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
  else if (has_gpu_partition(machine))
    why = "programs cannot use the GPU partition that Hyper-V gives this machine";
  else if (machine.pci.empty())
    why = "the PCI bus shows no device that could be one";
  std::string software;
  for (const auto& device : machine.vulkan.devices)
    if (device.software())
      software = fmt::format(" Vulkan offers {} only, which is software.", device.name);
  const auto tested_by = [&](std::string_view executor) {
    return std::any_of(report.verdicts->begin(), report.verdicts->end(),
                       [&](const Verdict& verdict) { return verdict.executor == executor; });
  };
  std::string_view instead;
  if (tested_by("cpu"))
    instead = " The host is tested instead, by its CPU; that proves nothing about a GPU.";
  else if (tested_by("vulkan"))
    instead = " What is tested in software proves nothing about a GPU.";
  const std::string absent =
      why_bus_unread(machine) ? "" : fmt::format("No GPU here: {}.", why);  // else concluded
  const std::string note = absent + software + std::string(instead);
  if (!note.empty()) report.notes.emplace_back(trim(note));
}

// The fitness checks of the host; the GPU's are the workers' verdicts.
void add_fitness(Host& host, const TestCommand& options, const FitnessLimits& limits,
                 Report& report) {
  if (limits.skip_gpus)
    report.notes.push_back(fmt::format("No GPU was tested{}: RUNPOD_SKIP_GPU_CHECK is set to true.",
                                       limits.skip_system ? "" : " but by the benchmark"));
  if (limits.skip_system) {
    report.notes.push_back(
        "Memory, disk, network, CUDA version and the benchmark were not checked: "
        "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS is set to true.");
    return;
  }
  auto& verdicts = *report.verdicts;
  verdicts.push_back(memory_fitness(report.machine, limits));
  verdicts.push_back(disk_fitness(host.space("/"), limits));
  verdicts.push_back(cuda_version_fitness(report.machine, limits));
  if (options.network) {
    const auto timeout =
        std::chrono::milliseconds(static_cast<long>(limits.network_timeout_s * 1000));
    verdicts.push_back(
        network_fitness(*options.network, tcp_connect_ms(*options.network, timeout), limits));
  }
}

// "host:443", "[::1]:443", "::1" is an address without a port.
bool names_port(std::string_view target) {
  const auto colon = target.rfind(':');
  if (colon == target.npos || colon == 0) return false;
  if (target.find(':') != colon && target[colon - 1] != ']') return false;
  const auto port = parse_uint(target.substr(colon + 1));
  return port && *port > 0 && *port < 65536;
}

// The names of the tests to run.
std::vector<std::string> chosen_tests(const TestCommand& options) {
  if (!options.only.empty()) return options.only;
  if (options.inject) {
    const auto finders = tests_that_find(*named<FaultClass>(*options.inject));
    return {finders.begin(), finders.end()};
  }
  return tests_of(*named<Level>(options.level));
}

// All, or by their addresses those that may be asked: handles by index would wake a suspended one.
std::vector<std::string> gpus_to_watch(const Machine& machine) {
  std::vector<std::string> awake;
  bool all = true;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.vendor != Vendor::nvidia) continue;
    if (gpu.suspended)
      all = false;
    else if (gpu.pci)
      awake.push_back(gpu.pci->text());
  }
  return all ? std::vector<std::string>{} : awake;
}

PlanOptions plan_options(const TestCommand& options, const Machine& machine,
                         const std::optional<FitnessLimits>& fitness) {
  PlanOptions plan;
  plan.survey.busy = options.busy;
  plan.survey.devices = options.globals.devices;
  plan.tests = chosen_tests(options);
  plan.named = !options.only.empty() || options.inject;
  TestOptions& test = plan.survey.test;
  test.level = *named<Level>(options.level);
  test.seed = options.seed;
  test.hammer = options.hammer;
  if (options.duration_s)
    test.duration_s = *options.duration_s / static_cast<double>(plan.tests.size());
  if (options.inject)
    test.inject = Fault{*named<FaultClass>(*options.inject), options.seed.value_or(random_u64()),
                        options.faults};
  if (!fitness) return plan;
  if (fitness->skip_gpus) plan.tests.clear();
  test.limit_ms = fitness->benchmark_limit_s * 1000;
  test.limit_source = "RUNPOD_GPU_BENCHMARK_TIMEOUT";
  // A worker without a GPU has no product to be judged by.
  if (!machine.gpus.empty() && !fitness->skip_system) plan.tests.push_back("benchmark");
  return plan;
}

Asked asked_of(const TestCommand& options, const Policy& policy,
               const std::vector<AcceptRule>& rules) {
  Asked asked{.level = *named<Level>(options.level),
              .busy = options.busy,
              .required = policy.require,
              .accepted = accepted_obligations(rules)};
  if (!options.only.empty() || options.inject) asked.tests = chosen_tests(options);
  for (const std::string& name : options.require)
    asked.required.push_back(*named<ObligationKind>(name));
  return asked;
}

// After a boot the driver may still be starting: what is wrong then is looked at again.
Result<Machine> inspect_settled(Host& host, const TestCommand& options) {
  constexpr auto kPause = std::chrono::seconds(5);
  const auto until = deadline_in(to_milliseconds(options.wait_s));
  while (true) {
    auto machine = TRY(inspect_as_asked(host, options.globals, {.full = true}));
    const auto now = Clock::now();
    if (machine.source != "live" || now >= until) return machine;
    const auto findings = diagnose(machine, {.expected_gpus = options.require_gpu});
    if (std::ranges::none_of(
            findings, [](const Finding& finding) { return finding.severity == Severity::error; }))
      return machine;
    std::this_thread::sleep_until(std::min(now + kPause, until));
  }
}

// Of a GPU that is for display only: another that --device names says nothing about it.
bool asks_for_compute(const TestCommand& options, const Report& report) {
  const auto& names = options.globals.devices;
  if (names.empty()) return report.command == "test" || options.fitness;
  return std::ranges::any_of(report.machine.gpus, [&](const Gpu& gpu) {
    return names_gpu(names, gpu) && access_to(report.machine, gpu).use == GpuUse::display_only;
  });
}

}  // namespace

bool proves_something(const Report& report) {
  return report.machine.source == "live" && report.machine.fakes.empty() &&
         !report.by_named_libraries && !hides_gpus(report.machine.visibility);
}

RunExtent extent_of(const TestCommand& options) {
  return {*named<Level>(options.level), options.only.empty() && !options.busy,
          options.duration_s.value_or(0), options.hammer};
}

void run_and_judge(Host& host, Report& report, const TestRun& run) {
  const Machine& machine = report.machine;
  const bool live = machine.source == "live" && machine.fakes.empty();
  const bool all_sleep = std::ranges::all_of(
      machine.gpus, [](const Gpu& gpu) { return gpu.vendor != Vendor::nvidia || gpu.suspended; });
  const bool listens =
      !all_sleep && live && machine.nvidia.nvml_start && machine.nvidia.nvml_start->ok();
  const auto look = [&](InspectOptions options = {}) {
    options.probe_timeout = run.probe_timeout;
    return inspect(host, options);
  };
  std::optional<XidListener> listener;
  if (listens) listener.emplace(gpus_to_watch(machine));
  report.verdicts.emplace();
  if (!run.plan.tests.empty())
    report.verdicts = run_health_tests(machine, run.plan, run.quiet, run.start, run.limits,
                                       [&] { return look(); });
  note_absence(report);
  std::optional<ProbeDocument> heard;
  if (listener) heard = listener->stop();
  report.samples =
      heard ? samples_from(*heard, machine, *report.verdicts, run.start) : not_sampled(machine);
  if (report.samples) {
    explain_low_figures(machine, *report.samples, *report.verdicts);
    auto clocks = judge_clocks(machine, *report.samples, *report.verdicts);
    std::move(clocks.begin(), clocks.end(), std::back_inserter(*report.verdicts));
  }
  // Others may have begun to use a GPU in the middle of its test.
  if (live && !run.plan.survey.busy && !interrupted() &&
      std::ranges::any_of(*report.verdicts, may_be_others_work)) {
    const Machine now = look_until(
        [&] { return inspect(host, {}); },
        [&](const Machine& again) { return !others_use_what_failed(again, *report.verdicts); });
    excuse_busy(now, elapsed_ms(run.start), *report.verdicts);
    if (report.samples) excuse_shared(machine, *report.samples, *report.verdicts);
  }
  append(*report.findings,
         compare_siblings(machine, *report.verdicts,
                          report.samples && !run.plan.survey.busy
                              ? shared_gpus(machine, *report.samples, *report.verdicts)
                              : std::vector<int>{}));
  if (live && !machine.gpus.empty() && Clock::now() < run.no_look_after) {
    InspectOptions counters;
    counters.kernel_log = counters.counters = true;
    // Whoever interrupts waits for the answer.
    Machine after = interrupted() ? machine : look(counters);
    if (heard) add_heard_xids(*heard, machine, after);
    append(*report.findings, compare_before_and_after(machine, after, elapsed_ms(run.start) / 1e3));
    apply_memory_xids(machine, after, *report.verdicts);
  }
}

Result<int> run_tests(std::string command, TestCommand options) {
  const auto start = Clock::now();
  const auto policy = TRY(policy_for(options.policy, options.globals));
  if (options.level.empty())
    options.level = policy.level ? name_of(*policy.level) : options.default_level;
  if (options.network && !names_port(*options.network))
    return complain(Error{ErrorKind::bad_input,
                          fmt::format("--network {}: a port is missing, as in {}:443",
                                      printable(*options.network), printable(*options.network))});
  auto accept_rules = TRY(parse_accept_rules(options.accept));
  // Known before the test, as a place that cannot be written is.
  if (options.state) TRY(read_kept_results(*make_live_host(), *options.state));
  auto host = TRY(open_host(options.globals));
  auto machine = TRY(inspect_settled(*host, options));
  options.globals.devices = TRY(unique_devices(options.globals.devices, machine));

  Report report = begin_report(std::move(command), std::move(machine));
  report.findings = diagnose(report.machine, {.expected_gpus = options.require_gpu,
                                              .compute_asked = asks_for_compute(options, report)});
  if (options.baseline) {
    const auto earlier = TRY(inspect_recording(*options.baseline));
    append(*report.findings, compare_with_baseline(earlier, report.machine));
  }
  std::optional<FitnessLimits> fitness;
  if (options.fitness) {
    fitness = TRY(fitness_limits(*host));
  }
  TRY(add_accepted(policy, report, accept_rules));
  accept_findings(accept_rules, report);
  PlanOptions tests = plan_options(options, report.machine, fitness);
  for (const Gpu& gpu : report.machine.gpus)
    if (is_set_aside(report, gpu)) tests.survey.leave_out.push_back(gpu.index);
  TestRun run{.plan = tests, .quiet = options.globals.quiet, .start = start};
  if (options.globals.timeout_s) run.probe_timeout = to_milliseconds(*options.globals.timeout_s);
  run_and_judge(*host, report, run);
  accept_findings(accept_rules, report);
  note_accepted(accept_rules, report);
  if (fitness) add_fitness(*host, options, *fitness, report);

  report.duration_ms = elapsed_ms(start);
  conclude(report, {.required_gpus = options.require_gpu,
                    .devices = options.globals.devices,
                    .test_gpus = !tests.tests.empty(),  // a worker may have none to test
                    .asked = asked_of(options, policy, accept_rules),
                    .policy = policy,
                    .trust_named_libraries = trusts_named_libraries(*host)});
  const bool kept = proves_something(report) && !options.inject && !interrupted();
  const auto keeping =
      kept ? keep_results(options.state, report, extent_of(options)) : Result<void>();
  if (!keeping) complain(keeping.error());
  const int exit = deliver(report, options.globals);
  return !keeping && options.state && exit == 0 ? static_cast<int>(Exit::usage) : exit;
}

}  // namespace gpuready::cli
