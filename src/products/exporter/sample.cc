#include "exporter/sample.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "jobs/helper.h"
#include "jobs/orphans.h"
#include "value/json.h"

namespace gpuready::exporter {
namespace {

constexpr std::size_t kMostBytes = 64u << 20;
constexpr std::string_view kReplay = "replay=", kTimeout = "timeout=";

std::string last_line(std::string_view text) {
  const auto all = lines(trim(text));
  return all.empty() ? "" : ": " + printable(all.back().substr(0, 200));
}

}  // namespace

std::vector<std::string> sample_args(const SampleOrder& order) {
  std::vector<std::string> args;
  if (order.replay) args.push_back(std::string(kReplay) + *order.replay);
  if (order.timeout_s) args.push_back(fmt::format("{}{}", kTimeout, *order.timeout_s));
  return args;
}

SampleOrder sample_order(std::span<const std::string> args) {
  SampleOrder order;
  for (const std::string& arg : args) {
    if (const auto file = after_prefix(arg, kReplay)) order.replay = *file;
    if (const auto seconds = after_prefix(arg, kTimeout)) order.timeout_s = parse_double(*seconds);
  }
  return order;
}

void note_silent_files(const Recording& read, Machine& machine) {
  for (const auto& [path, answer] : read.files)
    if (const auto* failure = std::get_if<RecordedFailure>(&answer))
      if (failure->kind == ErrorKind::hung || failure->kind == ErrorKind::timed_out)
        machine.unseen.push_back({path, failure->message});
}

Result<Machine> take_sample(const std::vector<std::string>& args, std::chrono::milliseconds limit,
                            const std::atomic<bool>& cancel) {
  if (adopted_children_run())
    return fail(ErrorKind::hung, "a process of an earlier sample is still stuck in the driver");
  Job job = helper_job({kSampleMode});
  job.args.insert(job.args.end(), args.begin(), args.end());
  job.limits.time = limit;
  job.output_limit_bytes = kMostBytes;
  job.time_to_stop = std::chrono::milliseconds(200);
  const JobOutcome outcome = TRY(run_job(job, {.cancel = &cancel}));
  if (outcome.end != JobEnd::exited || outcome.exit_code != 0)
    return fail(ErrorKind::crashed,
                fmt::format("the sample {}{}",
                            outcome.end == JobEnd::exited
                                ? fmt::format("ended with exit code {}", outcome.exit_code)
                                : fmt::format("did not end: {}", to_string(outcome.end)),
                            last_line(outcome.err)));
  return value_from_json<Machine>(TRY(parse_json(outcome.channel, "the sample", kMostBytes)),
                                  "the sample");
}

}  // namespace gpuready::exporter
