// The self-test: does a test find what it must find? One fault class (or none) and one test, tried
// many times on one device, in a child.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "health/test.h"

namespace gpuready {

// TestOptions: `selftest_of` names the test, `inject` the class (its seed starts the series of
// places; absent: clean runs, which must all pass), `trials` how many. The verdict passes when
// every trial ended as it must; its metrics are "trials", "detected" and, where the test tells
// places, "placed" (trials in which exactly the injected places were reported).
Verdict self_test(std::span<Device* const> devices, const TestOptions& options,
                  const TestHooks& hooks);

// What is tried: each class with each test that must find it, a thousand faults in one pass over
// the whole memory, and clean runs of each test.
struct SelfTestCase {
  std::string_view test;
  std::optional<FaultClass> fault = std::nullopt;  // absent: clean
  std::uint64_t faults = 1;                        // injected in each trial
};
std::vector<SelfTestCase> self_test_cases();
// The options of a case; `trials` is how often the ordinary ones are tried.
TestOptions self_test_options(const SelfTestCase& tried, std::uint64_t trials, std::uint64_t seed);

}  // namespace gpuready
