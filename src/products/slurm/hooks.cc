#include "slurm/hooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gpuready::slurm {
namespace {

constexpr int kLooksForLeftovers = 6;

std::optional<std::uint64_t> user_of(Host& host, std::uint32_t pid) {
  const auto status = host.read_text(fmt::format("/proc/{}/status", pid)).value_or("");
  for (const auto line : lines(status))
    if (const auto ids = after_prefix(line, "Uid:"))
      if (const auto words = split(*ids, " \t"); !words.empty()) return parse_uint(words[0]);
  return std::nullopt;
}

}  // namespace

Seen seen_by_child(const Result<JobOutcome>& outcome, std::chrono::milliseconds limit,
                   std::int64_t unix_seconds) {
  Seen seen{.unix_seconds = unix_seconds};
  if (!outcome) {
    seen.unknown = outcome.error().message;
  } else if (outcome->end == JobEnd::timed_out || outcome->end == JobEnd::hung) {
    seen.no_answer = Cause{
        "no-answer",
        fmt::format(
            "the drivers gave no answer within {} s{}",
            std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
            outcome->waits_in.empty() ? "" : fmt::format(" (it waits in {})", outcome->waits_in)),
        Action::reboot, Level::quick};
  } else if (outcome->end != JobEnd::exited || outcome->exit_code != 0) {
    seen.unknown = fmt::format("the look at the GPUs failed: {}",
                               outcome->err.empty() ? to_string(outcome->end) : trim(outcome->err));
  } else if (auto look = parse_look(outcome->out); !look) {
    seen.unknown = look.error().message;
  } else {
    if (look->exit == Exit::unknown) seen.unknown = look->conclusion;
    seen.look = *std::move(look);
  }
  return seen;
}

std::vector<Cause> causes_of_health(const Seen& seen, const StatusReport& kept,
                                    const std::optional<Record>& record) {
  auto causes = causes_of_node(seen.look.value_or(Look{}), kept,
                               record ? record->pids : std::vector<std::uint32_t>{});
  if (seen.no_answer) causes.insert(causes.begin(), *seen.no_answer);
  return causes;
}

JobVariables job_variables(Host& host) {
  JobVariables job{host.environment("SLURM_JOB_ID"), host.environment("SLURM_JOB_UID"),
                   host.environment("SLURM_JOB_GPUS")};
  if (job.gpus && job.gpus->empty()) job.gpus.reset();
  return job;
}

std::vector<std::uint32_t> left_by(Host& host, const JobGpus& gpus, const JobVariables& job) {
  std::vector<std::uint32_t> left;
  const auto user = job.uid ? parse_uint(*job.uid) : std::nullopt;
  if (!user || *user == 0) return left;
  for (const LookedGpu* gpu : gpus.gpus)
    for (const std::uint32_t pid : gpu->pids)
      if (std::ranges::find(left, pid) == left.end() && user_of(host, pid) == user)
        left.push_back(pid);
  return left;
}

JobLook look_at_job(Host& host, const JobVariables& job, bool after,
                    const std::function<Seen()>& look, const std::function<void()>& pause) {
  JobLook looked;
  for (int looks = 0; looks < kLooksForLeftovers; ++looks) {
    if (looks > 0) pause();
    Seen seen = look();
    const bool blind = !seen.look;
    if (blind) seen.look = std::move(looked.seen.look);  // what an earlier look has shown stays
    looked.seen = std::move(seen);
    if (blind || !after) break;
    looked.left = left_by(host, job_gpus(*looked.seen.look, job.gpus.value_or("")), job);
    if (looked.left.empty()) break;
  }
  return looked;
}

JudgedJob judge_job(const JobLook& looked, const JobVariables& job, const StatusReport& kept) {
  const Seen& seen = looked.seen;
  JudgedJob judged;
  if (seen.look) {
    judged.gpus = job_gpus(*seen.look, job.gpus.value_or(""));
    judged.causes = causes_of_job(*seen.look, kept, judged.gpus);
  }
  judged.unknown = seen.unknown ? seen.unknown : judged.gpus.unknown;
  if (seen.no_answer) judged.unknown = seen.no_answer->text;  // the health check judges the node
  judged.may_test = !judged.unknown && judged.causes.empty() && test_is_short(judged.gpus, kept);
  for (const std::uint32_t pid : looked.left)
    judged.causes.push_back({"leftover",
                             fmt::format("process {} of job {} still uses its GPU", pid,
                                         printable(job.id.value_or("?"))),
                             Action::check_again,
                             {}});
  return judged;
}

std::vector<std::string> test_args(const JobGpus& gpus, const std::string& results) {
  std::vector<std::string> uuids;
  for (const LookedGpu* gpu : gpus.gpus) uuids.push_back(gpu->uuid.value_or(""));
  return {"check", "--quiet", "--device", join(uuids, ","), "--state", results};
}

std::optional<std::string> why_no_result(const Result<JobOutcome>& outcome) {
  if (!outcome) return outcome.error().message;
  if (outcome->end == JobEnd::exited && outcome->exit_code <= 1) return std::nullopt;
  return fmt::format("the test {}: {}", to_string(outcome->end), trim(outcome->err));
}

}  // namespace gpuready::slurm
