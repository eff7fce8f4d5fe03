#include "host/xid_listener.h"

#include "jobs/helper.h"

namespace gpuready {
namespace {

constexpr const char* kProbe = "nvml-events";
// It ends within 0.1 s; telling the samples of hours on many GPUs takes longer.
constexpr std::chrono::milliseconds kTimeToStop{3'000};
constexpr std::string_view kLastLine = "{\"end\":true}\n";
constexpr std::size_t kMostBytes = 64u << 20;

}  // namespace

Job XidListener::job(const std::vector<std::string>& only) {
  std::vector<std::string> args = {"__probe", kProbe};
  args.insert(args.end(), only.begin(), only.end());
  Job job = helper_job(std::move(args));
  job.limits.time = std::nullopt;  // as long as the tests take
  job.output_limit_bytes = kMostBytes;
  return job;
}

XidListener::XidListener(const std::vector<std::string>& only) {
  if (auto started = RunningJob::start(job(only))) child_ = std::move(*started);
}

ProbeDocument XidListener::stop() {
  if (!child_) return {};
  child_->stop();
  const Deadline until = deadline_in(kTimeToStop);
  // What comes after its last line, closing the driver, takes tens of milliseconds.
  const auto told_all = [&] { return child_->text(kChannel).ends_with(kLastLine); };
  while (!child_->finished() && !told_all() && Clock::now() < until) poll_jobs({&*child_}, until);
  child_->release();  // if it still runs, what it has written is all
  return probe_document_from_lines(child_->text(kChannel), kProbe);
}

}  // namespace gpuready
