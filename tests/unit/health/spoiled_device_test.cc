// A fault of a call is made in one call, and all others reach the device unchanged.
#include "health/spoiled_device.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/units.h"
#include "kernels/record_kernel.h"
#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

constexpr int kCalls = 5;

// The CPU, which only counts launches.
class CountingDevice final : public ForwardingDevice {
 public:
  CountingDevice() : ForwardingDevice(1, MiB) {}
  Result<void> launch(StreamId, const Kernel&, const LaunchShape&, const void*,
                      std::size_t) override {
    ++launches;
    return {};
  }
  static inline int launches;
};

// Passes whatever happens, and reports the launches and the changed bits of its last run.
Verdict make_calls(Device& device, const TestOptions& options, const TestHooks&) {
  EXPECT_FALSE(options.inject) << "the test does not know of it";
  CountingDevice::launches = 0;
  int changed_bits = 0;
  auto buffer = DeviceBuffer::make(device, sizeof(std::uint64_t));
  EXPECT_TRUE(buffer);
  for (std::uint64_t word = 1; buffer && word <= kCalls; ++word) {
    EXPECT_TRUE(device.launch({}, kRecord, {}, nullptr, 0));
    std::uint64_t read = 0;
    EXPECT_TRUE(device.copy_to_device({}, buffer->address(), &word, sizeof word));
    EXPECT_TRUE(device.copy_to_host({}, &read, buffer->address(), sizeof read));
    EXPECT_TRUE(device.synchronize({}));
    changed_bits += std::popcount(read ^ word);
  }
  Verdict verdict;
  verdict.status = VerdictStatus::passed;
  verdict.metrics = {{"launches", static_cast<double>(CountingDevice::launches), "1", {}, {}},
                     {"changed_bits", static_cast<double>(changed_bits), "1", {}, {}}};
  return verdict;
}

TEST(SpoiledDevice, ExactlyOneCallOfItsKindIsSpoiledWhateverTheSeed) {
  CountingDevice device;
  struct Row {
    FaultClass kind;
    int launches, changed_bits;
  };
  for (const auto& [kind, launches, changed_bits] :
       std::initializer_list<Row>{{FaultClass::lost_launch, kCalls - 1, 0},
                                  {FaultClass::result_copy, kCalls, 1},
                                  {FaultClass::operand_copy, kCalls, 1}})
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      TestOptions options;
      options.inject = Fault{kind, seed};
      const Verdict v = test_on_spoiled_device(make_calls, device, options, {});
      ASSERT_EQ(v.status, VerdictStatus::passed) << v.reason;
      ASSERT_EQ(v.injected_fault, to_string(kind));
      ASSERT_EQ(v.metrics.at(0).value, launches) << to_string(kind) << " " << seed;
      ASSERT_EQ(v.metrics.at(1).value, changed_bits) << to_string(kind) << " " << seed;
    }
}

}  // namespace
}  // namespace gpuready
