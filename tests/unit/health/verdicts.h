// What tests of health tests share: fake GPUs to run them on, in a child, and looks into a verdict.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/units.h"
#include "device/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/hip/hip_device.h"
#include "unit/device/hip/hip_fixture.h"
#include "value/json.h"

namespace gpuready {

inline bool says(const Verdict& verdict, std::string_view part) {
  return verdict.reason.find(part) != std::string::npos;
}
inline const Metric* find_metric(const Verdict& verdict, std::string_view name) {
  for (const Metric& metric : verdict.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}
// -1: it is not there.
inline double metric(const Verdict& verdict, std::string_view name) {
  const Metric* found = find_metric(verdict, name);
  return found ? found->value : -1;
}

inline std::unique_ptr<Device> cpu_with(std::uint64_t memory_bytes) {
  return make_cpu_device(
      {.threads = 2, .memory_free_bytes = memory_bytes, .memory_total_bytes = memory_bytes});
}

// What a child wrote of its verdict.
inline Verdict verdict_of(const std::string& text) {
  auto doc = parse_json(text, "child");
  auto verdict = doc ? value_from_json<Verdict>(*doc, "child") : std::unexpected(doc.error());
  EXPECT_TRUE(verdict) << text;
  return verdict.value_or(Verdict{});
}

using TestOfDevice = std::function<Verdict(Device&)>;
inline std::string run_and_tell(const Result<std::unique_ptr<Device>>& device,
                                const TestOfDevice& test) {
  return device ? dump_line(to_json(test(**device))) : "not opened: " + device.error().message;
}
inline Verdict on_fake_cuda(const std::string& fake, const TestOfDevice& test) {
  return verdict_of(
      in_child(fake, [&] { return run_and_tell(open_cuda_device(kFakeGpu0), test); }));
}
inline Verdict on_fake_hip(const std::string& fake, const TestOfDevice& test) {
  return verdict_of(
      in_hip_child(fake, [&] { return run_and_tell(open_hip_device(kFakeHipGpu0), test); }));
}

}  // namespace gpuready
