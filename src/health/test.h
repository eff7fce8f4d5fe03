// What every health test is: a function from devices, options and hooks to one Verdict. It never
// fails to return one; errors are part of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "device/device.h"
#include "gpuready/verdict.h"
#include "health/fault.h"

namespace gpuready {

enum class Level { quick, standard, thorough };  // about 2 s, 30 s, 6 min
NAMES_OF(Level, "quick", "standard", "thorough");
constexpr std::string_view to_string(Level level) { return name_of(level); }

// One struct for all tests: each takes what concerns it.
struct TestOptions {
  Level level = Level::quick;                        // how much is done
  std::optional<double> duration_s = std::nullopt;   // go on for this long; absent: by level
  std::optional<std::uint64_t> seed = std::nullopt;  // of patterns and data; random when absent
  std::optional<Fault> inject = std::nullopt;        // a fault on purpose
  std::size_t max_reported = 64;                     // bad words or mismatches listed
  // Do no harm.
  std::optional<std::uint64_t> max_bytes = std::nullopt;       // take no more memory than this
  std::uint64_t reserve_free_bytes = 0;                        // leave this much of the free memory
  std::optional<std::uint64_t> max_host_bytes = std::nullopt;  // of the host's memory, likewise
  double max_launch_ms = 2000;                                 // no kernel runs (much) longer
  // Memory.
  std::uint64_t copy_traffic_bytes = 8 * GiB;  // moved to measure the copy rate; 0: not measured
  unsigned blocks_per_unit = 16;               // blocks launched per SM
  bool hammer = false;                         // repeated access; the GPU must be ours alone
  // The self-test: which test is tried, and how often.
  std::string selftest_of = {};
  std::uint64_t trials = 100;
  // Bandwidth: the other GPUs run the same now; rates are reported and not judged.
  bool all_together = false;
  // The SM clock that the driver allows; absent: not known.
  std::optional<double> max_clock_mhz = std::nullopt;
  // The GPU's link is a real one and not what a virtual machine shows.
  bool real_link = true;
  // The most that the GPU's link can be, as NVML told it.
  std::optional<int> link_generation = std::nullopt, link_width = std::nullopt;
  // Why copies with the host cannot be held to that link; absent: they can.
  std::optional<std::string> link_excuse = std::nullopt;
  // Peers: how the machine's facts connect the two, "NVLink, 18 links"; absent: not known.
  std::optional<std::string> peer_path = std::nullopt;
  std::optional<int> peer_links = std::nullopt;  // of NVLink
  // The matrix product of --fitness.
  double limit_ms = 2000;
  std::string limit_source = "default";
};

struct TestProgress {
  std::string_view phase;             // "start", "write", "verify", "fp32", ...
  std::uint64_t done = 0, total = 0;  // in the test's own unit; 0 of 0: not known yet
};

struct TestHooks {
  std::function<void(const TestProgress&)> progress = {};  // between launches
  std::function<void(const Verdict&)> partial = {};        // what is known so far
  const std::atomic<bool>* cancel = nullptr;               // looked at between launches
  bool cancelled() const { return cancel && cancel->load(); }
};

using TestFunction = Verdict (*)(std::span<Device* const> devices, const TestOptions& options,
                                 const TestHooks& hooks);

// What of a test's figures stands for it in a report, before its first rate.
struct Shown {
  bool kinds =
      false;  // the slowest rate of each kind ("write address" is of "write"), and coverage
  bool units = false;          // how many SMs did the work
  std::string_view rate = {};  // the rate of this name
};

struct HealthTest {
  std::string_view name;      // "memory"
  std::string_view summary;   // one line for --help
  std::size_t devices;        // how many it needs: 1, or 2 for a pair
  std::optional<Level> from;  // the least level that includes it; absent: only when asked for
  std::span<const std::string_view> executors;  // that it can run on
  TestFunction run;
  Shown shown = {};
};
// All tests, in the order in which they run.
std::span<const HealthTest> health_tests();
const HealthTest* find_health_test(std::string_view name);
std::vector<std::string> tests_of(Level level);  // their names

// A verdict about this device, still not_tested.
Verdict begin_verdict(std::string_view test, const Device& device, const TestOptions& options);
// The verdict for an error met before or while testing: what it says about the device, and about
// the test. `fault` is Device::fault_of(error).
VerdictStatus status_of(DeviceFault fault);
std::string reason_of(DeviceFault fault, const Error& error, std::string_view phase);
std::optional<int> error_code_of(const Error& error);  // the driver's number, where it gave one
void conclude_with_error(Verdict& verdict, const Device& device, const Error& error,
                         std::string_view phase);

Json to_json(const TestOptions& options);
Result<TestOptions> test_options_from_json(const Json& doc);

}  // namespace gpuready
