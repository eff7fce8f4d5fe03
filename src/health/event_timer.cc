#include "health/event_timer.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace gpuready {
namespace {

constexpr std::chrono::milliseconds kKnownWait{2};
constexpr double kResolutionMs = 0.02;  // of the events, many times over

// Those of other executors are not a driver's.
bool is_judged(const Device& device) {
  const auto& executor = device.info().executor;
  return executor == "cuda" || executor == "hip";
}

Result<void> within(double told_ms, double least_ms, double most_ms) {
  constexpr double kMost = 1 + EventTimer::kTolerance, kLeast = 1 - EventTimer::kTolerance;
  if (told_ms >= least_ms * kLeast - kResolutionMs && told_ms <= most_ms * kMost + kResolutionMs)
    return {};
  const std::string took = least_ms > 0 ? fmt::format("{:.4g} to {:.4g}", least_ms, most_ms)
                                        : fmt::format("at most {:.4g}", most_ms);
  return fail(ErrorKind::unsupported, fmt::format("{}: {:.4g} ms told for what took {} ms",
                                                  kTimesContradict, told_ms, took));
}

}  // namespace

Result<EventTimer> EventTimer::make(Device& device, StreamId stream) {
  EventTimer timer(device, stream, TRY(StreamTimer::make(device, stream)));
  if (is_judged(device)) TRY(timer.time_a_known_wait());
  return timer;
}

Result<void> EventTimer::time_a_known_wait() {
  TRY(device_->synchronize(stream_));
  const auto before = Clock::now();
  TRY(timer_.start());
  TRY(device_->synchronize(stream_));
  const auto began = Clock::now();
  std::this_thread::sleep_for(kKnownWait);
  const double least_ms = elapsed_ms(began);
  const double told_ms = TRY(timer_.stop_ms());
  return within(told_ms, least_ms, elapsed_ms(before));
}

Result<void> EventTimer::start() {
  start_ = Clock::now();
  return timer_.start();
}

Result<double> EventTimer::stop_ms() {
  const double told_ms = TRY(timer_.stop_ms());
  if (!is_judged(*device_)) return told_ms;
  const double wall_ms = elapsed_ms(start_);
  TRY(within(told_ms, 0, wall_ms));
  if (wall_ms >= kLongMs && told_ms < kLeastShare * wall_ms && known_waits_left_ > 0) {
    --known_waits_left_;
    TRY(time_a_known_wait());
  }
  return told_ms;
}

}  // namespace gpuready
