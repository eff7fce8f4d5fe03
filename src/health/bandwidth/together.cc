#include "health/bandwidth/together.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/clock.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlot{125};
constexpr int kSlots = 3, kCycles = 2;
constexpr double kLeastOfSlot = 0.6;  // a slot of which less is left when joined does not count

// One way on one stream, timed by its own events.
struct Direction {
  DeviceStream stream;
  StreamTimer timer;
  static Result<Direction> make(Device& device) {
    auto stream = DeviceStream::make(device);
    if (!stream) return std::unexpected(stream.error());
    auto timer = StreamTimer::make(device, stream->id());
    if (!timer) return std::unexpected(timer.error());
    return Direction{std::move(*stream), std::move(*timer)};
  }
};

}  // namespace

SharedSlot slot_at(Clock::time_point time) {
  const auto ticks = std::chrono::duration_cast<milliseconds>(time.time_since_epoch());
  return static_cast<SharedSlot>(ticks / kSlot % kSlots);
}

Clock::time_point end_of_slot(Clock::time_point time) {
  const auto ticks = std::chrono::duration_cast<milliseconds>(time.time_since_epoch());
  return Clock::time_point(kSlot * (ticks / kSlot + 1));
}

Result<BothWays> copy_both_ways(Device& device, const HostBuffer& host, DeviceAddress buffer,
                                std::uint64_t bytes, double ms) {
  const std::uint64_t half = bytes / 2 / 16 * 16;
  auto in = Direction::make(device), out = Direction::make(device);
  if (!in) return std::unexpected(in.error());
  if (!out) return std::unexpected(out.error());
  auto* memory = static_cast<unsigned char*>(host.data());
  const auto copies = [&](int count) -> Result<BothWays> {
    const auto start = Clock::now();
    if (auto done = in->timer.start(); !done) return std::unexpected(done.error());
    if (auto done = out->timer.start(); !done) return std::unexpected(done.error());
    for (int i = 0; i < count; ++i) {
      if (auto done = device.copy_to_device(in->stream.id(), buffer, memory, half); !done)
        return std::unexpected(done.error());
      if (auto done = device.copy_to_host(out->stream.id(), memory + half, buffer + half, half);
          !done)
        return std::unexpected(done.error());
    }
    auto in_ms = in->timer.stop_ms();
    if (!in_ms) return std::unexpected(in_ms.error());
    auto out_ms = out->timer.stop_ms();
    if (!out_ms) return std::unexpected(out_ms.error());
    const double seconds = elapsed_ms(start) / 1e3;
    const double one_way = static_cast<double>(half) * count;
    return BothWays{2 * one_way / std::max(seconds, 1e-9), one_way / std::max(*in_ms / 1e3, 1e-9),
                    one_way / std::max(*out_ms / 1e3, 1e-9)};
  };
  auto warm = copies(1);
  if (!warm) return warm;
  const double one_ms = static_cast<double>(2 * half) / std::max(warm->rate, 1.0) * 1e3;
  return copies(static_cast<int>(std::clamp(std::ceil(ms / std::max(one_ms, 1e-3)), 1.0, 4096.0)));
}

Result<void> measure_together(Device& device, const HostBuffer& host, DeviceAddress buffer,
                              std::uint64_t bytes, const TestHooks& hooks, Verdict& verdict) {
  constexpr std::array<const char*, kSlots> kNames = {"h2d_together_rate", "d2h_together_rate",
                                                      "both_ways_together_rate"};
  std::array<double, kSlots> slowest{};
  const std::uint64_t half = bytes / 2 / 16 * 16;
  auto in = DeviceStream::make(device), out = DeviceStream::make(device);
  if (!in) return std::unexpected(in.error());
  if (!out) return std::unexpected(out.error());
  auto* memory = static_cast<unsigned char*>(host.data());

  constexpr int kMostTries = 4 * kSlots * kCycles;  // where one copy takes longer than a slot
  for (int tries = 0, counted = 0; counted < kSlots * kCycles && tries < kMostTries; ++tries) {
    if (hooks.cancelled()) return {};
    if (hooks.progress)
      hooks.progress({"all together", static_cast<std::uint64_t>(counted), kSlots * kCycles});
    const auto start = Clock::now();
    const auto end = end_of_slot(start);
    const SharedSlot slot = slot_at(start);
    double copied = 0;
    while (Clock::now() < end) {
      if (slot != SharedSlot::to_host) {
        if (auto done = device.copy_to_device(in->id(), buffer, memory, half); !done) return done;
        copied += static_cast<double>(half);
      }
      if (slot != SharedSlot::to_device) {
        if (auto done = device.copy_to_host(out->id(), memory + half, buffer + half, half); !done)
          return done;
        copied += static_cast<double>(half);
      }
      if (auto done = device.synchronize(in->id()); !done) return done;
      if (auto done = device.synchronize(out->id()); !done) return done;
    }
    if (end - start < kSlot * kLeastOfSlot || copied == 0) continue;
    ++counted;
    const double rate = copied / (elapsed_ms(start) / 1e3);
    double& least = slowest[static_cast<std::size_t>(slot)];
    least = least == 0 ? rate : std::min(least, rate);
  }
  for (std::size_t i = 0; i < slowest.size(); ++i)
    if (slowest[i] > 0) verdict.metrics.push_back({kNames[i], slowest[i], "B/s", {}, {}});
  return {};
}

}  // namespace gpuready
