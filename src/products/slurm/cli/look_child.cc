#include "slurm/cli/look_child.h"

#include <cstdio>
#include <ctime>

#include "cli/options.h"
#include "doctor/diagnose.h"
#include "jobs/helper.h"
#include "jobs/parent_watch.h"
#include "machine/system/named_libraries.h"
#include "report/accept.h"
#include "report/conclude.h"

namespace gpuready::cli {
namespace {

using std::chrono::milliseconds;

// Slurm kills a health check after 60 s, before it has drained anything. 45 s are ours: these, and
// two requests to Slurm. A probe that hangs ends before its child does, so that it is named.
constexpr milliseconds kFullLimit{28'000}, kFullProbes{20'000};
constexpr milliseconds kQuickLimit{12'000}, kQuickProbes{8'000};
constexpr const char* kFull = "full";
constexpr const char* kQuick = "quick";

Result<Report> look_as_doctor(const LookOrder& order) {
  Globals globals;
  globals.replay = order.replay;
  const auto policy = TRY(policy_for({}, globals));
  std::vector<AcceptRule> accept_rules;
  auto host = TRY(open_host(globals));
  InspectOptions options;
  options.full = order.full;
  options.kernel_log = options.counters = true;
  options.most_probe_timeout = order.full ? kFullProbes : kQuickProbes;
  auto machine = TRY(inspect_as_asked(*host, globals, options));
  Report report = begin_report("slurm", std::move(machine));
  report.findings = diagnose(report.machine);
  TRY(add_accepted(policy, report, accept_rules));
  accept_findings(accept_rules, report);
  conclude(report, {.policy = policy, .trust_named_libraries = trusts_named_libraries(*host)});
  return report;
}

}  // namespace

int run_slurm_look(std::span<const std::string> args) {
  end_with_parent();
  if (args.empty()) return static_cast<int>(Exit::usage);
  LookOrder order{.full = args[0] == kFull};
  if (args.size() > 1) order.replay = args[1];
  const auto report = look_as_doctor(order);
  if (!report) {
    std::fputs(report.error().message.c_str(), stderr);
    return static_cast<int>(Exit::unknown);
  }
  std::fputs(slurm::look_text(slurm::look_of(*report)).c_str(), stdout);
  return 0;
}

Job node_job(std::vector<std::string> args) {
  Job job = helper_job(std::move(args));
  for (const std::string& name : hiding_variables()) job.env.emplace_back(name, std::nullopt);
  return job;
}

slurm::Seen look_in_child(const LookOrder& order) {
  const auto start = std::time(nullptr);
  std::vector<std::string> args = {kSlurmLook, order.full ? kFull : kQuick};
  if (order.replay) args.push_back(*order.replay);
  Job job = node_job(std::move(args));
  const milliseconds limit = order.full ? kFullLimit : kQuickLimit;
  job.limits.time = limit;
  job.time_to_stop = milliseconds(100);
  return slurm::seen_by_child(run_job(job), limit, start);
}

}  // namespace gpuready::cli
