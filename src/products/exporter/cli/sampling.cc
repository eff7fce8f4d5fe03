#include "exporter/cli/sampling.h"

#include "base/clock.h"
#include "cli/options.h"
#include "exporter/sample.h"

namespace gpuready::cli {

double monotonic_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

Sampling::Sampling(SamplingOptions options) : options_(std::move(options)) {
  exporter::Observed nothing;
  nothing.started_at = monotonic_seconds();
  publish(std::move(nothing));
  thread_ = std::thread([this] { run(); });
}

Sampling::~Sampling() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Sampling::Snapshot Sampling::observed() const {
  const std::lock_guard lock(mutex_);
  return observed_;
}

Sampling::Snapshot Sampling::first() {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return observed_->answered + observed_->unanswered + observed_->failed > 0; });
  return observed_;
}

// A reader waits for a pointer only, and the last reader frees what was replaced.
void Sampling::publish(exporter::Observed observed) {
  auto snapshot = std::make_shared<const exporter::Observed>(std::move(observed));
  {
    const std::lock_guard lock(mutex_);
    observed_.swap(snapshot);
  }
  changed_.notify_all();
}

void Sampling::take() {
  exporter::Observed seen = *observed();
  auto kept = options_.read_kept();
  const auto wrong = kept ? std::nullopt : std::optional(kept.error().message);
  if (wrong && wrong != seen.kept_error) complain(*wrong);
  seen.kept_error = wrong;
  seen.kept = std::move(kept).value_or(KeptResults{});
  seen.asked_at = monotonic_seconds();
  publish(seen);
  auto machine = exporter::take_sample(options_.sample_args, options_.limit, stop_);
  const auto before = seen.silence;
  if (machine)
    note_sample(seen, options_.judge(std::move(*machine)), monotonic_seconds());
  else
    note_failure(seen, machine.error().message, monotonic_seconds());
  if (seen.silence != before && !stop_) complain(seen.silence.value_or("the driver answers again"));
  publish(std::move(seen));
}

void Sampling::run() {
  while (!stop_) {
    const auto next = Clock::now() + options_.interval;
    take();
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, next, [&] { return stop_.load(); });
  }
}

}  // namespace gpuready::cli
