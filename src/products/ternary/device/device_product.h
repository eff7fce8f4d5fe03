// One product of the device-aware layer.
#pragma once

#include "ternary/device/device_state.h"

namespace gpuready::ternary::detail {

// M rows of activations, as codes or as values.
struct Input {
  const Activations* codes = nullptr;
  const FloatView* values = nullptr;
  std::int64_t rows = 0;
};

Result<void> multiply(DeviceState& state, LoadedWeights& weights, const Input& input,
                      const OutputView& out);

std::int64_t rows_that_fit_now(DeviceState& state, LoadedWeights& weights);

}  // namespace gpuready::ternary::detail
