#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "doctor/diagnose.h"
#include "host/recording/recording.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

struct DoctorOptions {
  Globals globals;
  std::optional<int> require_gpu;
  std::optional<std::string> baseline;
  std::vector<std::string> accept;
  PolicyOptions policy;
};

Result<int> run_doctor(const DoctorOptions& options) {
  const auto start = Clock::now();
  const auto policy = TRY(policy_for(options.policy, options.globals));
  auto accept_rules = TRY(parse_accept_rules(options.accept));
  auto host = TRY(open_host(options.globals));
  auto machine = TRY(inspect_as_asked(*host, options.globals, {.full = true}));
  Report report = begin_report("doctor", std::move(machine));
  report.findings = diagnose(report.machine, {.expected_gpus = options.require_gpu});
  if (options.baseline) {
    const auto earlier = TRY(inspect_recording(*options.baseline));
    auto lost = compare_with_baseline(earlier, report.machine);
    std::move(lost.begin(), lost.end(), std::back_inserter(*report.findings));
  }
  TRY(add_accepted(policy, report, accept_rules));
  accept_findings(accept_rules, report);
  note_accepted(accept_rules, report);
  report.duration_ms = elapsed_ms(start);
  conclude(report, {.required_gpus = options.require_gpu,
                    .policy = policy,
                    .trust_named_libraries = trusts_named_libraries(*host)});
  return deliver(report, options.globals);
}

}  // namespace

void declare_doctor(CommandSpec& command) {
  auto options = std::make_shared<DoctorOptions>();
  command.run = [options] { return run_doctor(*options); };
  add_globals(command, options->globals, true);
  add_require_gpu(command, options->require_gpu);
  add_baseline(command, options->baseline);
  add_accept(command, options->accept);
  add_policy(command, options->policy);
}

}  // namespace gpuready::cli
