// `slurm health`, `prolog` and `epilog`: look, decide, tell Slurm.
#include <memory>
#include <thread>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/run_tests.h"
#include "host/machine_id.h"
#include "slurm/cli/look_child.h"
#include "slurm/cli/slurm_commands.h"
#include "slurm/cli/slurm_node.h"
#include "slurm/record_file.h"
#include "slurm/report/exit_rules.h"
#include "slurm/settle.h"

namespace gpuready::cli {
namespace {

constexpr const char* kFolder = "/var/lib/gpuready";
constexpr std::chrono::milliseconds kPause{1'000};  // between two looks
constexpr std::chrono::milliseconds kTestLimit{10'000};

struct HookOptions {
  Globals globals;
  SlurmNodeOptions slurm;
  std::string folder = kFolder;
  bool dry_run = false, rehearse = false, adopt = false, strict = false, test = false;
};

slurm::Seen look_now(const HookOptions& options, bool full) {
  return look_in_child({.full = full, .replay = options.globals.replay});
}

std::string results_path(const HookOptions& options) { return options.folder + "/results.json"; }

StatusReport kept_results(Host& host, const HookOptions& options) {
  if (options.globals.replay) return {};  // those of this machine are about other GPUs
  auto kept = read_status(host, results_path(options), kDefaultValidSeconds);
  if (kept) return *std::move(kept);
  complain(kept.error());
  return {};
}

std::optional<std::string> test_now(const HookOptions& options, const slurm::JobGpus& gpus) {
  Job job = node_job(slurm::test_args(gpus, results_path(options)));
  job.limits.time = kTestLimit;
  return slurm::why_no_result(run_job(job));
}

void settle_now(Host& host, const HookOptions& options, SlurmHookReport& report,
                slurm::Situation situation, std::vector<std::uint32_t> left) {
  auto settled = slurm::settle(
      host, live_storage(),
      {.node = report.node,
       .record_path = slurm::record_path(options.folder, report.node),
       .slurm = {.scontrol = options.slurm.scontrol.value_or(""), .conf = options.slurm.conf},
       .done = report.done,
       .left = std::move(left)},
      std::move(situation));
  report.was = std::move(settled.was);
  report.decision = std::move(settled.decision);
  report.slurm_error = std::move(settled.slurm_error);
  for (const std::string& complaint : settled.complaints) complain(complaint);
}

Result<SlurmHookReport> begin_hook(Host& host, const HookOptions& options, const char* hook) {
  const bool replays = options.globals.replay.has_value();
  return SlurmHookReport{.hook = hook,
                         .node = TRY(slurm::node_name(host, options.slurm.node)),
                         .rehearsed = replays,
                         .done = slurm::carries_out(options.dry_run, replays, options.rehearse),
                         .strict = options.strict};
}

slurm::Situation situation_of(const HookOptions& options, const SlurmHookReport& report,
                              const slurm::Seen& seen, Host& host) {
  return {.causes = report.causes,
          .determined = !report.unknown,
          .looked_unix_seconds = seen.unix_seconds,
          .boot_id = boot_id(host),
          .adopt = options.adopt,
          .rehearses = report.rehearsed};
}

int deliver_hook(SlurmHookReport& report, Clock::time_point start, const Globals& globals) {
  Envelope envelope = begin_envelope("slurm " + report.hook);
  envelope.exit = exit_of(report);
  envelope.conclusion = conclusion(report);
  return deliver_report(envelope, report, start, globals);
}

Result<int> run_health(const HookOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  SlurmHookReport report = TRY(begin_hook(*host, options, "health"));
  const slurm::Seen seen = look_now(options, true);
  const StatusReport kept = kept_results(*host, options);
  const auto record = slurm::read_record(*host, slurm::record_path(options.folder, report.node));
  report.unknown = seen.unknown;
  report.causes = slurm::causes_of_health(seen, kept, record.value_or(std::nullopt));
  if (report.rehearsed) report.causes = slurm::rehearsed(std::move(report.causes));
  slurm::Situation situation = situation_of(options, report, seen, *host);
  situation.kept = kept;
  situation.may_resume = true;
  settle_now(*host, options, report, std::move(situation), {});
  return deliver_hook(report, start, options.globals);
}

Result<int> run_job_hook(const HookOptions& options, const char* hook) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  SlurmHookReport report = TRY(begin_hook(*host, options, hook));
  const auto job = slurm::job_variables(*host);
  report.job = job.id;
  if (!job.gpus) {
    report.decision.why = "the job has no GPU here";
    return deliver_hook(report, start, options.globals);
  }
  const auto looked = slurm::look_at_job(
      *host, job, std::string_view(hook) == "epilog", [&] { return look_now(options, false); },
      [] { std::this_thread::sleep_for(kPause); });
  const auto judge = [&] {
    return slurm::judge_job(looked, job,
                            looked.seen.look ? kept_results(*host, options) : StatusReport{});
  };
  auto judged = judge();
  if (options.test && judged.may_test) {
    auto unknown = test_now(options, judged.gpus);
    judged = judge();
    judged.unknown = std::move(unknown);
  }
  for (const slurm::LookedGpu* gpu : judged.gpus.gpus) report.gpus.push_back(gpu->index);
  report.unknown = std::move(judged.unknown);
  report.causes = std::move(judged.causes);
  if (report.rehearsed) report.causes = slurm::rehearsed(std::move(report.causes));
  if (report.causes.empty())
    report.decision.why = "nothing is wrong with the job's GPUs";
  else
    settle_now(*host, options, report, situation_of(options, report, looked.seen, *host),
               looked.left);
  return deliver_hook(report, start, options.globals);
}

void add_hook_options(CommandSpec& command, HookOptions& options) {
  add_node(command, options.slurm);
  add_scontrol(command, options.slurm);
  command.add({
      {.name = "--folder",
       .value = &options.folder,
       .help = "Where check keeps its results, and slurm what it did (default: /var/lib/gpuready)",
       .type = "FOLDER",
       .files = Files::read},
      {.name = "--dry-run",
       .value = &options.dry_run,
       .help = "Show the decision; tell Slurm nothing"},
      replay_option(options.globals.replay,
                    "Look at a recording or a machine script instead of this machine; shows the "
                    "decision only"),
      {.name = "--rehearse",
       .value = &options.rehearse,
       .help = "With --replay: carry the decision out on this node, with \"rehearsal\" in its "
               "reason, to try how drain and resume work here",
       .needs = "--replay"},
  });
  add_output(command, options.globals);
}

}  // namespace

void declare_slurm_health(CommandSpec& command) {
  auto options = std::make_shared<HookOptions>();
  command.run = [options] { return run_health(*options); };
  add_hook_options(command, *options);
  command.add({{.name = "--adopt",
                .value = &options->adopt,
                .help = "On nodes without a disk: resume a node whose reason reads as gpuready's "
                        "though its record is lost, after a test of this boot has passed"}});
  command.footer =
      "Takes at most 45 s, whatever the drivers and Slurm do. Docs: docs/slurm.md.\nExit codes: 0 "
      "nothing is wrong; 1 something is, and the node is drained unless another user or program "
      "gave "
      "it its reason; 2 wrong usage; 4 not known, or Slurm did not answer.";
}

void declare_slurm_prolog(CommandSpec& command) {
  auto options = std::make_shared<HookOptions>();
  command.run = [options] { return run_job_hook(*options, "prolog"); };
  add_hook_options(command, *options);
  command.add({{.name = "--fail-unknown",
                .value = &options->strict,
                .help = "Fail also if it is not known whether the job's GPUs are fit"},
               {.name = "--test",
                .value = &options->test,
                .help = "Also run check on the job's GPUs, if they are idle and have passed a test "
                        "in this boot"}});
  command.footer =
      "Looks only at the GPUs of SLURM_JOB_GPUS; runs nothing on them without --test.\nExit codes: "
      "0 the job "
      "may start; 1 one of its GPUs is bad: Slurm drains the node and starts the job elsewhere; 2 "
      "wrong usage.";
}

void declare_slurm_epilog(CommandSpec& command) {
  auto options = std::make_shared<HookOptions>();
  command.run = [options] { return run_job_hook(*options, "epilog"); };
  add_hook_options(command, *options);
  command.footer =
      "Looks only at the GPUs of SLURM_JOB_GPUS: errors, and processes of the job that still use "
      "them.\nExit codes: 0 nothing is wrong, or the node is drained for it; 1 something is wrong, "
      "and Slurm did not drain the node; 2 wrong usage.";
}

}  // namespace gpuready::cli
