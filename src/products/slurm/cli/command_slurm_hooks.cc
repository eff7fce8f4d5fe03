// `slurm health`, `prolog` and `epilog`: look, decide, tell Slurm.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <thread>

#include "base/characters.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/run_tests.h"
#include "host/atomic_file.h"
#include "host/machine_id.h"
#include "jobs/helper.h"
#include "slurm/cli/look_child.h"
#include "slurm/cli/slurm_commands.h"
#include "slurm/cli/slurm_node.h"
#include "slurm/record_file.h"
#include "slurm/report/exit_rules.h"
#include "slurm/scontrol.h"

namespace gpuready::cli {
namespace {

using slurm::Act;

constexpr const char* kFolder = "/var/lib/gpuready";
constexpr std::uint32_t kMode = 0644;
constexpr std::chrono::milliseconds kLockPatience{2'000}, kPause{1'000};
constexpr std::chrono::milliseconds kTestLimit{10'000};
constexpr int kLooksForLeftovers = 6;

struct HookOptions {
  Globals globals;
  SlurmNodeOptions slurm;
  std::string folder = kFolder;
  bool dry_run = false, rehearse = false, adopt = false, strict = false, test = false;
};

// The job as Slurm's variables describe it.
struct JobVariables {
  std::optional<std::string> id, gpus, uid;
};

struct Seen {
  std::optional<slurm::Look> look = {};  // absent: none
  std::optional<slurm::Cause> no_answer = {};
  std::optional<std::string> unknown = {};
  std::int64_t unix_seconds = 0;  // when the look began
};

Seen look_now(const HookOptions& options, bool full) {
  Seen seen{.unix_seconds = std::time(nullptr)};
  auto looked = look_in_child({.full = full, .replay = options.globals.replay});
  if (!looked) {
    seen.unknown = looked.error().message;
  } else if (const auto* none = std::get_if<slurm::NoAnswer>(&*looked)) {
    seen.no_answer = slurm::cause_of(*none);
  } else {
    seen.look = std::get<slurm::Look>(*std::move(looked));
    if (seen.look->exit == Exit::unknown) seen.unknown = seen.look->conclusion;
  }
  return seen;
}

std::string results_path(const HookOptions& options) { return options.folder + "/results.json"; }

StatusReport kept_results(Host& host, const HookOptions& options) {
  if (options.globals.replay) return {};  // those of this machine are about other GPUs
  auto kept = read_status(host, results_path(options), kDefaultValidSeconds);
  if (kept) return *std::move(kept);
  complain(kept.error());
  return {};
}

std::string record_path(const HookOptions& options, const std::string& node) {
  std::string name;
  for (const char c : node) name += is_letter_or_digit(c) ? c : '-';
  return fmt::format("{}/slurm-{}.json", options.folder, name);
}

std::optional<slurm::Record> read_record(Host& host, const std::string& path) {
  const auto text = host.read_own_file(path);
  if (!text) {
    if (text.error().kind != ErrorKind::not_found) complain(text.error());
    return std::nullopt;
  }
  auto record = slurm::parse_record(*text, path);
  if (record) return *std::move(record);
  complain(record.error());
  return std::nullopt;
}

void write_record(const std::string& path, const slurm::Record& record) {
  if (const auto written = write_file_atomically(path, slurm::record_text(record), {.mode = kMode});
      !written)
    complain(
        fmt::format("{}; without it this node is not resumed by itself", written.error().message));
}

// Processes of the job's user that still compute on its GPUs; those of root may be daemons.
std::vector<std::uint32_t> left_by(Host& host, const slurm::JobGpus& gpus,
                                   const JobVariables& job) {
  std::vector<std::uint32_t> left;
  const auto user = job.uid ? parse_uint(*job.uid) : std::nullopt;
  if (!user || *user == 0) return left;
  for (const slurm::LookedGpu* gpu : gpus.gpus)
    for (const std::uint32_t pid : gpu->pids) {
      const auto status = host.read_text(fmt::format("/proc/{}/status", pid)).value_or("");
      for (const auto line : lines(status))
        if (const auto ids = after_prefix(line, "Uid:"))
          if (const auto words = split(*ids, " \t"); !words.empty() && parse_uint(words[0]) == user)
            left.push_back(pid);
    }
  return left;
}

// `check` on these GPUs, which keeps what it finds. Why it has no result; nothing: it has one.
std::optional<std::string> test_now(const HookOptions& options, const slurm::JobGpus& gpus) {
  std::vector<std::string> uuids;
  for (const slurm::LookedGpu* gpu : gpus.gpus) uuids.push_back(*gpu->uuid);
  Job job = node_job(
      {"check", "--quiet", "--device", join(uuids, ","), "--state", results_path(options)});
  job.limits.time = kTestLimit;
  const auto outcome = run_job(job);
  if (!outcome) return outcome.error().message;
  const bool decided = outcome->end == JobEnd::exited && outcome->exit_code <= 1;
  if (decided) return std::nullopt;
  return fmt::format("the test {}: {}", to_string(outcome->end), trim(outcome->err));
}

// Asks Slurm, decides, and carries it out.
void settle(Host& host, const HookOptions& options, SlurmHookReport& report,
            slurm::Situation situation, const std::vector<std::uint32_t>& left) {
  const std::string path = record_path(options, report.node);
  std::unique_ptr<Storage::Lock> lock;
  if (report.done) {
    auto held = wait_for_lock(path + ".lock", kLockPatience);
    if (!held && held.error().kind == ErrorKind::busy) {
      report.slurm_error = held.error().message;
      return;
    }
    if (held) lock = *std::move(held);  // a folder that is missing costs the record only
  }
  situation.record = read_record(host, path);
  if (!slurm::must_ask(situation.causes, situation.record, options.adopt)) {
    report.decision.why = report.unknown ? "nothing is known to be wrong" : "nothing is wrong";
    return;
  }
  const auto note = [&](const Error& error) { report.slurm_error = error.message; };
  slurm::Slurm slurm{.scontrol = options.slurm.scontrol.value_or(""), .conf = options.slurm.conf};
  if (slurm.scontrol.empty()) {
    auto found = slurm::find_scontrol(host);
    if (!found) return note(found.error());
    slurm.scontrol = *std::move(found);
  }
  auto node = slurm::show_node(host, slurm, report.node);
  if (!node) return note(node.error());
  report.was = *node;
  situation.node = *std::move(node);
  report.decision = slurm::decide(situation);
  if (!report.done) return;
  const auto after = slurm::record_after(situation, report.decision, std::time(nullptr), left);
  const bool changed = after && (!situation.record || slurm::record_text(*after) !=
                                                          slurm::record_text(*situation.record));
  // A drain is written down first: without the record it would be a stranger's. A resume only
  // when it is done.
  if (changed && report.decision.act != Act::resume) write_record(path, *after);
  Result<void> told;
  if (report.decision.act == Act::drain)
    told = slurm::drain_node(host, slurm, report.node, report.decision.reason);
  else if (report.decision.act == Act::resume)
    told = slurm::resume_node(host, slurm, report.node);
  if (!told) return note(told.error());
  if (changed && report.decision.act == Act::resume) write_record(path, *after);
}

Result<SlurmHookReport> begin_hook(Host& host, const HookOptions& options, const char* hook) {
  SlurmHookReport report{.hook = hook, .node = TRY(node_name(host, options.slurm))};
  report.rehearsed = options.globals.replay.has_value();
  report.done = !options.dry_run && (!options.globals.replay || options.rehearse);
  report.strict = options.strict;
  return report;
}

slurm::Situation situation_of(const HookOptions& options, const SlurmHookReport& report,
                              const Seen& seen, Host& host) {
  slurm::Situation situation;
  situation.causes = report.causes;
  situation.determined = !report.unknown;
  situation.looked_unix_seconds = seen.unix_seconds;
  situation.boot_id = boot_id(host);
  situation.adopt = options.adopt;
  situation.rehearses = report.rehearsed;
  return situation;
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
  const Seen seen = look_now(options, true);
  const StatusReport kept = kept_results(*host, options);
  const auto record = read_record(*host, record_path(options, report.node));
  report.unknown = seen.unknown;
  if (seen.no_answer) report.causes = {*seen.no_answer};
  // What tests have found counts also while nothing can be seen.
  for (auto& cause : slurm::causes_of_node(seen.look.value_or(slurm::Look{}), kept,
                                           record ? record->pids : std::vector<std::uint32_t>{}))
    report.causes.push_back(std::move(cause));
  if (report.rehearsed) report.causes = slurm::rehearsed(std::move(report.causes));
  slurm::Situation situation = situation_of(options, report, seen, *host);
  situation.kept = kept;
  situation.may_resume = true;
  settle(*host, options, report, std::move(situation), {});
  return deliver_hook(report, start, options.globals);
}

Result<int> run_job_hook(const HookOptions& options, const char* hook) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  SlurmHookReport report = TRY(begin_hook(*host, options, hook));
  const JobVariables job{host->environment("SLURM_JOB_ID"), host->environment("SLURM_JOB_GPUS"),
                         host->environment("SLURM_JOB_UID")};
  report.job = job.id;
  if (!job.gpus || job.gpus->empty()) {
    report.decision.why = "the job has no GPU here";
    return deliver_hook(report, start, options.globals);
  }
  const bool after = std::string_view(hook) == "epilog";
  Seen seen;
  slurm::JobGpus gpus;
  std::vector<std::uint32_t> left;
  for (int looks = 0; looks < kLooksForLeftovers; ++looks) {  // processes take time to end
    if (looks > 0) std::this_thread::sleep_for(kPause);
    seen = look_now(options, false);
    if (!seen.look) break;
    gpus = slurm::job_gpus(*seen.look, *job.gpus);
    left = after ? left_by(*host, gpus, job) : std::vector<std::uint32_t>{};
    if (left.empty()) break;
  }
  report.unknown = seen.unknown ? seen.unknown : gpus.unknown;
  if (seen.no_answer) report.unknown = seen.no_answer->text;  // the health check judges the node
  for (const slurm::LookedGpu* gpu : gpus.gpus) report.gpus.push_back(gpu->index);
  if (seen.look) {
    auto kept = kept_results(*host, options);
    report.causes = slurm::causes_of_job(*seen.look, kept, gpus);
    if (options.test && !report.unknown && report.causes.empty() &&
        slurm::test_is_short(gpus, kept)) {
      report.unknown = test_now(options, gpus);
      report.causes = slurm::causes_of_job(*seen.look, kept_results(*host, options), gpus);
    }
  }
  for (const std::uint32_t pid : left)
    report.causes.push_back({"leftover",
                             fmt::format("process {} of job {} still uses its GPU", pid,
                                         printable(job.id.value_or("?"))),
                             Action::check_again,
                             {}});
  if (report.rehearsed) report.causes = slurm::rehearsed(std::move(report.causes));
  if (report.causes.empty())
    report.decision.why = "nothing is wrong with the job's GPUs";
  else
    settle(*host, options, report, situation_of(options, report, seen, *host), left);
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
