// `gpuready exporter`: metrics of every GPU over HTTP, sampled passively.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/options.h"
#include "cli/product.h"
#include "cli/run_tests.h"
#include "cli/terminal.h"
#include "doctor/diagnose.h"
#include "exporter/cli/sampling.h"
#include "exporter/http_server.h"
#include "exporter/report/page.h"
#include "exporter/sample.h"
#include "jobs/parent_watch.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/conclude.h"
#include "value/json.h"

namespace gpuready::cli {
namespace {

// A backstop: each question that a sample asks of a driver has a deadline of its own.
constexpr std::chrono::minutes kLongestSample{20};

struct ExporterCommand {
  Globals globals;
  PolicyOptions policy;
  std::vector<std::string> accept;
  std::string listen = "127.0.0.1:9836", state = kKeptResultsFile;
  double interval_s = 5, valid_s = kDefaultValidSeconds;
  bool dcgm_names = false, once = false;
};

// ---- the child that takes a sample: the machine as JSON on descriptor 3
Result<Machine> sample_machine(const Globals& globals) {
  const auto host = TRY(open_host(globals));
  Recording read;
  Machine machine = TRY(inspect_as_asked(*make_recording_host(*host, read), globals,
                                         {.kernel_log = true, .counters = true}));
  exporter::note_silent_files(read, machine);
  return machine;
}

int run_sample(std::span<const std::string> args) {
  if (::fcntl(kChannelDescriptor, F_GETFD) < 0) return static_cast<int>(Exit::usage);
  end_with_parent();
  const auto order = exporter::sample_order(args);
  Globals globals;
  globals.replay = order.replay, globals.timeout_s = order.timeout_s;
  const auto machine = sample_machine(globals);
  if (!machine) return complain(machine.error());
  const auto written =
      write_file(fmt::format("/dev/fd/{}", kChannelDescriptor), to_json(*machine).dump());
  return written ? 0 : complain(written.error());
}

// ---- the server
Report judge(Machine machine, const Policy& policy, std::vector<AcceptRule> rules) {
  Report report = begin_report("doctor", std::move(machine));  // and concluded as one of doctor
  report.findings = diagnose(report.machine, {});
  if (const auto added = add_accepted(policy, report, rules); !added)
    report.notes.push_back(added.error().message);  // of a GPU that is not here
  accept_findings(rules, report);
  const bool trusts = trusts_named_libraries(*make_live_host());
  conclude(report, {.policy = policy, .trust_named_libraries = trusts});
  report.command = "exporter";
  return report;
}

std::string page_of(const exporter::Observed& seen, const ExporterCommand& options,
                    MetricsFormat format) {
  const exporter::Moment moment{monotonic_seconds(),
                                present_now(*make_live_host(), options.valid_s)};
  return page(seen, moment, {format, options.dcgm_names});
}

exporter::HttpAnswer answer(std::string_view path, std::string_view accept,
                            const ExporterCommand& options, const Sampling& sampling) {
  const auto seen = sampling.observed();
  return exporter::answer(path, accept,
                          exporter::readiness(*seen, monotonic_seconds(), options.interval_s),
                          [&](MetricsFormat format) { return page_of(*seen, options, format); });
}

int print_once(const ExporterCommand& options, SamplingOptions sampling) {
  const auto seen = Sampling(std::move(sampling)).first();
  const auto written = write_file("-", page_of(*seen, options, MetricsFormat::prometheus));
  if (!written) return complain(written.error());
  return static_cast<int>(seen->silence ? Exit::unknown : Exit::ok);
}

Result<int> run_exporter(const ExporterCommand& options) {
  const auto address = TRY(exporter::parse_listen_address(options.listen));
  const auto policy = TRY(policy_for(options.policy, options.globals));
  const auto rules = TRY(parse_accept_rules(options.accept));
  TRY(check_named_libraries(*make_live_host()));
  // What the user named is refused at once; what changes later shows in the metrics.
  if (options.globals.replay) TRY(open_host(options.globals));
  if (options.state != kKeptResultsFile) TRY(read_kept_results(*make_live_host(), options.state));
  SamplingOptions sampling{
      .sample_args = exporter::sample_args({options.globals.replay, options.globals.timeout_s}),
      .interval = to_milliseconds(options.interval_s),
      .limit = kLongestSample,
      .judge = [&](Machine machine) { return judge(std::move(machine), policy, rules); },
      .read_kept =
          [&] { return kept_of_seen_machine(*make_live_host(), options.globals, options.state); }};
  if (options.once) return print_once(options, std::move(sampling));
  auto server = TRY(exporter::HttpServer::listen(address));
  catch_interrupts();
  const Sampling samples(std::move(sampling));
  complain(fmt::format("serving metrics on {}", server.address()));
  server.serve([&](std::string_view path,
                   std::string_view accept) { return answer(path, accept, options, samples); },
               interrupted());
  return static_cast<int>(Exit::ok);
}

void declare_exporter(CommandSpec& command) {
  auto options = std::make_shared<ExporterCommand>();
  command.run = [options] { return run_exporter(*options); };
  command.add({{.name = "--listen",
                .value = &options->listen,
                .help = "Where to answer HTTP, or unix:PATH (default: 127.0.0.1:9836)",
                .type = "ADDRESS:PORT"},
               {.name = "--interval",
                .value = &options->interval_s,
                .help = "Time between the starts of two samples (default: 5s)",
                .range = Range{1, 3600},
                .seconds = true},
               {.name = "--once",
                .value = &options->once,
                .help = "Take one sample, print the page and end"},
               {.name = "--dcgm-names",
                .value = &options->dcgm_names,
                .help = "Also serve the metrics of NVIDIA's dcgm-exporter, under its names"},
               replay_option(options->globals.replay,
                             "Read this recording or machine script for each sample instead of "
                             "this machine"),
               timeout_option(options->globals)});
  add_kept_results(command, options->state, options->valid_s);
  add_accept(command, options->accept);
  add_policy(command, options->policy, false);
  command.footer =
      "Exit codes: 0 stopped by SIGTERM or SIGINT, or --once printed a page; 2 wrong usage, or the "
      "address cannot be used; 4 with --once: the driver did not answer.";
}

constexpr OwnMode kModes[] = {{exporter::kSampleMode, run_sample}};

}  // namespace

extern const Product exporter_product;
const Product exporter_product = {
    .command = {"exporter", "Serve metrics of every GPU over HTTP, even while its driver hangs",
                declare_exporter,
                "exporter  # http://127.0.0.1:9836/metrics\n"
                "exporter --once  # print the page\n"
                "exporter --listen unix:/run/gpuready/exporter.sock --dcgm-names"},
    .modes = kModes,
};

}  // namespace gpuready::cli
