// How much every SM does in a clock cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "health/sealed_results.h"
#include "kernels/rate_kernel.h"

namespace gpuready {

class SpeedMeter {
 public:
  static Result<SpeedMeter> make(Device& device);
  // One launch on all SMs; `idle` is the fault (rate_params.h).
  Result<std::vector<RateRecord>> run(std::uint64_t idle);
  std::uint64_t nonce() const { return nonce_; }  // of the last launch
  static constexpr std::uint64_t kRounds = 64;    // 131,072 cycles at 128 multiply-adds a cycle
  static double per_cycle(const RateRecord& record);

 private:
  SpeedMeter(Device& device, SealedResults records, LaunchShape shape, std::uint64_t nonce)
      : device_(&device), records_(std::move(records)), shape_(shape), nonce_(nonce) {}
  Device* device_;
  SealedResults records_;
  LaunchShape shape_;
  std::uint64_t nonce_;
};

}  // namespace gpuready
