#include "health/event_timer.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"
#include "device/cuda/cuda_device.h"
#include "health/bandwidth/test_bandwidth.h"
#include "health/memory/test_memory.h"
#include "unit/device/in_child.h"
#include "unit/health/forwarding_device.h"
#include "unit/health/verdicts.h"

namespace gpuready {
namespace {

Verdict on_fake(const std::string& fake, const std::function<Verdict(Device&)>& test) {
  return verdict_of(in_child("memory=64MiB" + fake, [&]() -> std::string {
    auto device = open_cuda_device(kFakeGpu0);
    return device ? dump_line(to_json(test(**device))) : "not opened: " + device.error().message;
  }));
}

Verdict memory_on(const std::string& fake) {
  return on_fake(fake, [](Device& device) {
    TestOptions options;
    options.max_bytes = 4 * MiB;
    return test_memory(device, options);
  });
}

TEST(EventTimes, HonestOnesAreBelieved) { EXPECT_EQ(memory_on("").status, VerdictStatus::passed); }

TEST(EventTimes, ScaledOnesEndTheTestWithoutAVerdictOnTheGpu) {
  for (const char* factor : {"0.1", "0.5", "2"}) {
    const Verdict memory = memory_on(std::string(",times=") + factor);
    EXPECT_EQ(memory.status, VerdictStatus::inconclusive) << factor;
    EXPECT_TRUE(says(memory, kTimesContradict)) << memory.reason;
    const Verdict bandwidth = on_fake(std::string(",times=") + factor, [](Device& device) {
      return test_bandwidth(device, TestOptions{}, TestHooks{});
    });
    EXPECT_EQ(bandwidth.status, VerdictStatus::inconclusive) << factor;
    EXPECT_TRUE(says(bandwidth, kTimesContradict)) << bandwidth.reason;
  }
}

// A driver whose events tell `share` of the time, from the Nth on.
class OddClock final : public ForwardingDevice {
 public:
  OddClock(double share, int from) : ForwardingDevice(1, MiB), share_(share), from_(from) {
    info_ = inner_->info();
    info_.executor = "cuda";
  }
  const DeviceInfo& info() const override { return info_; }
  Result<double> elapsed_ms(EventId a, EventId b) override {
    const double ms = TRY(inner_->elapsed_ms(a, b));
    return ++asked_ >= from_ ? ms * share_ : ms;
  }

 private:
  DeviceInfo info_;
  double share_;
  int from_, asked_ = 0;
};

Result<double> ten_ms_on(Device& device) {
  auto timer = TRY(EventTimer::make(device, StreamId{}));
  TRY(timer.start());
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return timer.stop_ms();
}

// Beyond those of the known wait with which a timer begins, too.
TEST(EventTimes, EachStretchIsHeldToTheWallTime) {
  constexpr int kAfterTheKnownWait = 2;
  OddClock honest(1, 1), fast(0.5, kAfterTheKnownWait), slow(2, kAfterTheKnownWait);
  EXPECT_TRUE(ten_ms_on(honest));
  for (OddClock* odd : {&fast, &slow}) {
    const auto told = ten_ms_on(*odd);
    ASSERT_FALSE(told);
    EXPECT_TRUE(contains(told.error().message, kTimesContradict)) << told.error().message;
  }
}

// The host was kept from looking: the events are right.
TEST(EventTimes, AWallTimeThatTheHostLostIsNotHeldAgainstThem) {
  struct Late final : ForwardingDevice {
    Late() : ForwardingDevice(1, MiB), told(inner_->info()) { told.executor = "cuda"; }
    const DeviceInfo& info() const override { return told; }
    Result<double> elapsed_ms(EventId a, EventId b) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return inner_->elapsed_ms(a, b);
    }
    DeviceInfo told;
  } late;
  EXPECT_TRUE(ten_ms_on(late));
}

}  // namespace
}  // namespace gpuready
