// What the health tests keep while they run, and how every one of them comes to its verdict.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "health/test.h"

namespace gpuready {

// What a test does at quick, standard and thorough.
template <class T>
using ByLevel = std::array<T, 3>;
template <class T>
constexpr const T& at_level(const ByLevel<T>& all, Level level) {
  return all[static_cast<std::size_t>(level)];
}

// What a test may take of the device's free memory.
struct MemoryShare {
  DeviceMemory memory;
  std::uint64_t target_bytes = 0;  // after what is left to others; 0: nothing may be taken
  std::uint64_t take_bytes = 0;    // after what launches themselves need, too
};
Result<MemoryShare> memory_share(Device& device, const TestOptions& options);

class TestRun {
 public:
  TestRun(std::string_view test, Device& device, const TestOptions& options,
          const TestHooks& hooks);
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;
  virtual ~TestRun() = default;

  // An error on the way concludes the test, unless it had failed before.
  Verdict run();

 protected:
  // Where a step's result is a bool, false ends the test; the verdict is then set.
  virtual Result<void> steps() = 0;
  virtual void finish() {}

  // Always false, as the step's result. What failed first stays the reason.
  bool set(VerdictStatus status, std::string reason);
  bool failed() const { return verdict_.status == VerdictStatus::failed; }
  bool interrupted();  // sets the verdict
  // False when cancelled.
  bool report(std::uint64_t done, std::uint64_t total) const;
  bool begin(std::string_view phase);  // the next of steps whose number is not known

  Metric* find_metric(std::string_view name);
  void set_metric(std::string_view name, double value, std::string_view unit);
  void add_rate(std::string_view name, double bytes_per_s);  // the best stays; 0: not measured

  Device& device_;
  const TestOptions& options_;
  const TestHooks& hooks_;
  Verdict verdict_;
  Clock::time_point start_;
  std::string phase_ = "start";

 private:
  std::uint64_t steps_begun_ = 0;
};

}  // namespace gpuready
