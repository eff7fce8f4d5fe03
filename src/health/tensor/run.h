// One form of the tensor test on one device: launches of this many chains on every SM at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "health/event_timer.h"
#include "health/sealed_results.h"
#include "health/tensor/data.h"

namespace gpuready {

// Chains in the shortest launch: enough to time an SM by.
inline constexpr unsigned kLeastTensorChains = 64;

// A fault on purpose, as the kernels take it; made only on the SM with this %smid.
struct TensorFault {
  TensorFaultKind kind = kTensorFaultNone;
  std::uint64_t unit = 0;
  unsigned thread = 0, chain = 0, element = 0;
  std::uint32_t bits = 0;  // flipped, or those of the NaN
};

struct TensorLaunch {
  double ms = 0;
  std::uint64_t good = 0, bad = 0;  // folds, as the device counted them
  std::vector<TensorUnit> units;    // one a block
  std::vector<TensorMismatch> mismatches;
};

class TensorRunner {
 public:
  // One block on each of the device's units.
  static Result<TensorRunner> make(Device& device, std::shared_ptr<const TensorCase> data);

  // `chains` is rounded up to a multiple of 8 and is what each warp group or warp does.
  Result<TensorLaunch> launch(std::uint64_t chains, const TensorFault& fault = {});

  const TensorForm& form() const { return data_->form(); }
  const TensorCase& data() const { return *data_; }
  static std::uint64_t rounded(std::uint64_t chains);
  // The folds that a launch of this many chains must count as good.
  std::uint64_t predicted(std::uint64_t chains) const;
  double operations(std::uint64_t chains) const;

 private:
  TensorRunner(Device& device, std::shared_ptr<const TensorCase> data, DeviceBuffer image,
               SealedResults results, EventTimer timer, LaunchShape shape);
  Device* device_;
  std::shared_ptr<const TensorCase> data_;
  DeviceBuffer image_;
  SealedResults results_;
  EventTimer timer_;
  LaunchShape shape_;
  std::vector<std::uint8_t> host_;  // as much of the results as blocks fill
};

}  // namespace gpuready
