#include "exporter/cli/sampling.h"

#include "base/clock.h"
#include "cli/options.h"
#include "exporter/sample.h"

namespace gpuready::cli {

double monotonic_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

Sampling::Sampling(SamplingOptions options) : options_(std::move(options)) {
  observed_.started_at = monotonic_seconds();
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

exporter::Observed Sampling::observed() const {
  const std::lock_guard lock(mutex_);
  return observed_;
}

exporter::Observed Sampling::first() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return observed_.answered + observed_.unanswered + observed_.failed > 0; });
  return observed_;
}

void Sampling::take() {
  auto kept = options_.read_kept();
  {
    const std::lock_guard lock(mutex_);
    observed_.kept = kept ? *kept : KeptResults{};
    const auto wrong = kept ? std::nullopt : std::optional(kept.error().message);
    if (wrong && wrong != observed_.kept_error) complain(*wrong);
    observed_.kept_error = wrong;
    observed_.asked_at = monotonic_seconds();
  }
  auto machine = exporter::take_sample(options_.sample_args, options_.limit, stop_);
  auto report = machine ? std::optional(options_.judge(std::move(*machine))) : std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto before = observed_.silence;
  if (report)
    note_sample(observed_, std::move(*report), monotonic_seconds());
  else
    note_failure(observed_, machine.error().message, monotonic_seconds());
  if (observed_.silence != before && !stop_)
    complain(observed_.silence.value_or("the driver answers again"));
  changed_.notify_all();
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
