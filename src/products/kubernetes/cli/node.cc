#include <cstdlib>

#include "cli/run_tests.h"
#include "doctor/diagnose.h"
#include "kubernetes/cli/kubernetes_commands.h"
#include "kubernetes/driver_root.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/conclude.h"

namespace gpuready::cli {
void add_node_options(CommandSpec& command, NodeOptions& options) {
  options.valid_s = kDefaultValidSeconds;
  command.add({replay_option(options.globals.replay),
               timeout_option(options.globals),
               {.name = "--driver-root",
                .value = &options.driver_root,
                .help = "Where the driver's container has its root, such as /run/nvidia/driver",
                .type = "FOLDER",
                .files = Files::read}});
  add_kept_results(command, options.state, options.valid_s);
  add_accept(command, options.accept);
  add_policy(command, options.policy, false);
}

Result<Report> look_at_node(const NodeOptions& options) {
  const auto policy = TRY(policy_for(options.policy, options.globals));
  auto rules = TRY(parse_accept_rules(options.accept));
  if (options.driver_root) {  // as variables name it, and as such it is marked
    const auto nvml = TRY(kubernetes::nvml_below(*make_live_host(), *options.driver_root));
    ::setenv("GPUREADY_LIBNVML", nvml.c_str(), 1);
    ::setenv("GPUREADY_TRUST_NAMED_LIBRARIES", "1", 1);
  }
  const auto host = TRY(open_host(options.globals));
  Globals globals = options.globals;
  const auto gpus = TRY(inspect_as_asked(*host, globals, {.libraries = false})).gpus.size();
  globals.timeout_s = kubernetes::look_seconds(globals.timeout_s, gpus);
  Report report = begin_report(
      "doctor", TRY(inspect_as_asked(*host, globals, {.kernel_log = true, .counters = true})));
  report.findings = diagnose(report.machine, {});
  TRY(add_accepted(policy, report, rules));
  accept_findings(rules, report);
  conclude(report,
           {.policy = policy, .trust_named_libraries = trusts_named_libraries(*make_live_host())});
  return report;
}

Result<StatusReport> status_of_node(const NodeOptions& options) {
  const auto host = make_live_host();
  return status_of(TRY(kept_of_seen_machine(*host, options.globals, options.state)),
                   present_now(*host, options.valid_s));
}

Result<kubernetes::JudgedNode> judge_node(const NodeOptions& options) {
  auto status = status_of_node(options);
  return kubernetes::judge_node(look_at_node(options), std::move(status), options.driver_root);
}

}  // namespace gpuready::cli
