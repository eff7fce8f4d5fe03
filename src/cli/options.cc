#include "cli/options.h"

#include <fmt/format.h>

#include <unistd.h>

#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "health/plan/choose_executor.h"
#include "health/plan/survey.h"
#include "host/machine_id.h"
#include "host/recording/recording.h"
#include "jobs/trusted_path.h"
#include "machine/fake.h"
#include "machine/gpu_choice.h"
#include "machine/system/named_libraries.h"

namespace gpuready::cli {

void add_output(CommandSpec& command, Globals& globals) {
  command.add({{.name = "--json",
                .value = &globals.json,
                .help = "Write JSON to standard output, or to FILE",
                .type = "FILE",
                .if_bare = "-",
                .files = Files::report}});
  add_style(command, globals);
}

void add_style(CommandSpec& command, Globals& globals) {
  command.add({
      {.name = "--quiet,-q",
       .value = &globals.quiet,
       .help = "Print only the conclusion and problems"},
      {.name = "--no-color,--no-colour",
       .value = &globals.no_color,
       .help = "No colour, even on a terminal"},
  });
}

Option replay_option(std::optional<std::string>& file, std::string help, const char* excludes) {
  return {.name = "--replay",
          .value = &file,
          .help = std::move(help),
          .type = "FILE",
          .excludes = excludes,
          .files = Files::read};
}

Option html_option(std::optional<std::string>& file) {
  return {.name = "--html",
          .value = &file,
          .help = "Write one self-contained HTML page",
          .type = "FILE",
          .files = Files::report};
}

Option markdown_option(std::optional<std::string>& file, std::string_view what) {
  return {.name = "--md",
          .value = &file,
          .help = fmt::format("Write {}", what),
          .type = "FILE",
          .files = Files::report};
}

Option valid_option(double& seconds, std::string_view what) {
  constexpr double kLongestS = 366 * 24 * 3600;
  return {.name = "--valid",
          .value = &seconds,
          .help = fmt::format("How long {} counts (default: 25h)", what),
          .range = Range{1, kLongestS},
          .seconds = true};
}

Option timeout_option(Globals& globals) {
  return {.name = "--timeout",
          .value = &globals.timeout_s,
          .help = "How long a driver may take to answer",
          .range = Range{0.1, 86400},
          .seconds = true};
}

Option device_option(Globals& globals) {
  return {.name = "--device",
          .value = &globals.devices,
          .help = fmt::format("Only these GPUs: {}; or cpu; or all GPUs through cuda, hip (not "
                              "verified on hardware) or vulkan",
                              kGpuWords),
          .type = "LIST",
          .such_as = {"cpu", "cuda", "hip", "vulkan"},
          .commas = true};
}

Option fake_option(Globals& globals) {
  return {.name = "--fake",
          .value = &globals.fake,
          .help = "Simulate backends for tests: cuda,metal,rocm,vulkan,webgpu,gpu or none",
          .type = "SPEC",
          .such_as = {"cuda", "metal", "rocm", "vulkan", "webgpu", "gpu", "none"}};
}

void add_globals(CommandSpec& command, Globals& globals, bool reports) {
  add_output(command, globals);
  command.add({
      replay_option(globals.replay),
      fake_option(globals),
      timeout_option(globals),
  });
  if (!reports) return;
  command.add({
      html_option(globals.html),
      markdown_option(globals.markdown),
      {.name = "--prom",
       .value = &globals.prometheus,
       .help = "Write metrics for Prometheus' textfile collector",
       .type = "FILE",
       .files = Files::report},
      {.name = "--junit",
       .value = &globals.junit,
       .help = "Write JUnit's XML for CI systems",
       .type = "FILE",
       .files = Files::report},
      {.name = "--github",
       .value = &globals.github,
       .help = "In GitHub Actions: annotate the run, and add the report to the step's summary"},
  });
}

// One that is missing is wrong usage, and no GPU that is absent.
static Result<std::unique_ptr<Host>> open_recording(const std::string& path) {
  auto recording = load_recording(path);
  if (recording) return make_recorded_host(std::move(*recording));
  return fail(ErrorKind::bad_input, recording.error().message, recording.error().code);
}

Result<std::unique_ptr<Host>> open_host(const Globals& globals) {
  return globals.replay ? open_recording(*globals.replay) : make_live_host();
}

Result<Machine> inspect_as_asked(Host& host, const Globals& globals, InspectOptions options) {
  const auto fakes = TRY(choose_fakes(host, globals.fake, true));
  if (fakes.empty() && (options.full || options.libraries))
    if (const auto there = check_named_libraries(host); !there)
      return std::unexpected(there.error());
  options.fakes = fakes;
  options.is_gpuready = true;
  if (globals.timeout_s) options.probe_timeout = to_milliseconds(*globals.timeout_s);
  return inspect(host, options);
}

Result<std::vector<std::string>> unique_devices(const std::vector<std::string>& words,
                                                const Machine& machine) {
  std::vector<std::string> devices;
  for (const auto& word : words) {
    if (is_executor_name(word)) {
      devices.push_back(word);
      continue;
    }
    for (const Gpu* gpu : TRY(gpus_named(machine, "--device", word)))
      devices.push_back(unique_name(*gpu));
  }
  return devices;
}

Result<std::optional<Version>> version_option(const char* option,
                                              const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  auto version = parse_version(*text);
  if (!version)
    return fail(
        ErrorKind::bad_input,
        fmt::format("{} {}: a version is digits and dots, such as {}", option, printable(*text),
                    option == std::string_view("--driver") ? "550 or 535.104.05" : "12.4"));
  return version;
}

Result<Machine> inspect_recording(const std::string& path) {
  return inspect(*TRY(open_recording(path)), {.full = true});
}

void add_require_gpu(CommandSpec& command, std::optional<int>& count) {
  command.add({{.name = "--require-gpu",
                .value = &count,
                .help = "Exit with 3 unless N usable GPUs are present",
                .type = "N",
                .range = Range{1, 1024},
                .if_bare = "1"}});
}

void add_policy(CommandSpec& command, PolicyOptions& options, bool exits) {
  command.add({{.name = "--expect",
                .value = &options.expect,
                .help = exits ? "Exit with 3 unless these usable GPUs are present, as in 8xH100"
                              : "Also judge whether these usable GPUs are present, as in 8xH100",
                .type = "COUNTxMODEL,...",
                .commas = true},
               {.name = "--policy",
                .value = &options.file,
                .help = "What the machine must have (default: /etc/gpuready/policy.toml)",
                .type = "FILE",
                .files = Files::read}});
}

Result<Policy> read_policy(const std::string& path, bool own) {
  if (own) TRY(check_own_file(path));
  const auto host = make_live_host();
  return parse_policy(TRY(host->read_file(path, kMostPolicyBytes)), path);
}

Result<Policy> policy_for(const PolicyOptions& options, const Globals& globals) {
  Policy policy;
  const bool live = !globals.replay && !globals.fake;
  if (options.file)
    policy = TRY(read_policy(*options.file, false));
  else if (live && ::access(kPolicyFile, F_OK) == 0)
    policy = TRY(read_policy(kPolicyFile, true));
  if (options.expect.empty()) return policy;
  policy.gpus = TRY(parse_expected(options.expect));
  if (policy.source.empty()) policy.source = "--expect";
  return policy;
}

Result<void> add_accepted(const Policy& policy, Report& report, std::vector<AcceptRule>& rules) {
  for (AcceptRule& rule : rules) rule = TRY(on_machine(std::move(rule), report.machine));
  const auto now = report.machine.system.unix_seconds.value_or(std::time(nullptr));
  for (AcceptRule& rule : accepted_on(policy, now)) {
    auto here = on_machine(std::move(rule), report.machine);
    // The GPU that it is about may be the one that is gone.
    if (here)
      rules.push_back(std::move(*here));
    else
      report.notes.push_back(fmt::format("{}: {}.", policy.source, here.error().message));
  }
  for (const std::string& text : expired_on(policy, now))
    report.notes.push_back(fmt::format("{}: no longer accepted: {}.", policy.source, text));
  return {};
}

void add_baseline(CommandSpec& command, std::optional<std::string>& file) {
  command.add({{.name = "--baseline",
                .value = &file,
                .help = "Compare with an earlier recording and report what was lost",
                .type = "FILE",
                .files = Files::read}});
}

void add_accept(CommandSpec& command, std::vector<std::string>& rules) {
  command.add({{.name = "--accept",
                .value = &rules,
                .help = "Do not count these findings or degraded obligations; the report lists "
                        "them as accepted",
                .type = "NAME[@DEVICE],...",
                .such_as = acceptable_names(),
                .commas = true}});
}

Envelope begin_envelope(std::string command) {
  Envelope envelope;
  envelope.command = std::move(command);
  envelope.tool_version = GPUREADY_VERSION;
  envelope.created_utc = format_utc(std::time(nullptr));
  const auto host = make_live_host();
  envelope.machine_id = machine_id(*host);
  envelope.boot_id = boot_id(*host);
  return envelope;
}

Report begin_report(std::string command, Machine machine) {
  Report report;
  static_cast<Envelope&>(report) = begin_envelope(std::move(command));
  if (machine.source != "live") report.machine_id = report.boot_id = std::nullopt;
  report.machine = std::move(machine);
  return report;
}

}  // namespace gpuready::cli
