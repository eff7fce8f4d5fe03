// The rates that a GPU keeps while all others of the machine copy as well.
#include "health/bandwidth/together.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "health/bandwidth/run.h"

namespace gpuready {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlot{125}, kNap{20};
constexpr int kCycles = 2;
constexpr std::uint64_t kMostBytes = 256 * MiB;

struct Slot {
  SharedSlot kind;
  const char* metric;
  bool in, out;
};
constexpr std::array<Slot, kSharedSlots> kSlots = {{
    {SharedSlot::to_device, "h2d_together_rate", true, false},
    {SharedSlot::to_host, "d2h_together_rate", false, true},
    {SharedSlot::both_ways, "both_ways_together_rate", true, true},
}};

}  // namespace

Clock::time_point next_slot(SharedSlot kind, Clock::time_point now) {
  const auto slots = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()) / kSlot + 1;
  const auto ahead = (static_cast<int>(kind) + kSharedSlots - slots % kSharedSlots) % kSharedSlots;
  return Clock::time_point(kSlot * (slots + ahead));
}

// A transfer for each kind of slot. Copies begin with the slot and take what they take; of two
// slots of a kind the slower counts: that in which most others took part.
Result<bool> BandwidthTest::together() {
  const auto in = TRY(DeviceStream::make(device_)), out = TRY(DeviceStream::make(device_));
  const std::uint64_t bytes = std::min(half_bytes(), kMostBytes);
  for (std::uint64_t number = 0; const Slot& slot : kSlots) {
    begin_transfer(kCycles);
    std::vector<Lane> lanes;
    for (int cycle = 0; cycle < kCycles; ++cycle) {
      if (!report(number++, kSharedSlots * kCycles)) return interrupted();
      lanes.clear();
      if (slot.in) lanes.push_back(lane_in(bytes));
      if (slot.out) lanes.push_back(lane_out(bytes));
      const bool good = TRY(copy_checked(lanes, [&]() -> Result<void> {
        const auto begin = next_slot(slot.kind, Clock::now());
        while (Clock::now() < begin && !hooks_.cancelled())
          std::this_thread::sleep_until(std::min(begin, Clock::now() + kNap));
        const auto start = Clock::now();
        if (slot.in) TRY(copy_in(in.id(), bytes));
        if (slot.out) TRY(copy_out(out.id(), bytes));
        TRY(device_.synchronize(in.id()));
        TRY(device_.synchronize(out.id()));
        const double rate = static_cast<double>(bytes) * static_cast<double>(lanes.size()) /
                            (std::max(elapsed_ms(start), 1e-6) / 1e3);
        const Metric* before = find_metric(slot.metric);
        set_metric(slot.metric, before ? std::min(before->value, rate) : rate, "B/s");
        return {};
      }));
      if (!good) return false;
    }
  }
  return true;
}

}  // namespace gpuready
