// Ternary weights through the C++ library: quantises 3 x 256 weights, packs them, multiplies one
// row of activations on the CPU, and then the same on the best device of this machine.
//   find_package(gpuready), link gpuready::ternary_device (gpuready::ternary for the CPU alone)
#include <cstdio>
#include <vector>

#include "gpuready/ternary_device.h"

namespace ternary = gpuready::ternary;

static int failed(const ternary::Error& error) {
  std::printf("%s\n", error.message.c_str());
  return 1;
}

int main() {
  constexpr ternary::Shape kShape{3, 256};
  std::vector<float> values(3 * 256);
  for (int i = 0; i < 3 * 256; ++i) values[i] = 0.5f * static_cast<float>(i % 3 - 1);
  std::vector<std::int8_t> row(256);
  for (int i = 0; i < 256; ++i) row[i] = static_cast<std::int8_t>(i / 2);

  // A file format's bytes, then the layout that kernels read.
  const auto encoded =
      ternary::quantise(std::span<const float>(values), kShape, ternary::FormatId::tq2_0);
  if (!encoded) return failed(encoded.error());
  const auto packed = ternary::PackedWeights::pack(*encoded);
  if (!packed) return failed(packed.error());
  const auto activations = ternary::Activations::from_int8(row, 1, 256);
  if (!activations) return failed(activations.error());

  const auto cpu = ternary::CpuEngine::create();
  if (!cpu) return failed(cpu.error());
  std::vector<std::int32_t> out(3);
  if (const auto done = cpu->multiply(*packed, *activations, std::span(out)); !done)
    return failed(done.error());
  std::printf("CPU, %s: %d %d %d\n", ternary::to_string(cpu->tier()).data(), out[0], out[1],
              out[2]);

  const auto engine = ternary::DeviceEngine::create();
  if (!engine) return failed(engine.error());
  const auto weights = engine->load(*packed);
  if (!weights) return failed(weights.error());
  if (const auto done = engine->multiply(*weights, *activations, std::span(out)); !done)
    return failed(done.error());
  std::printf("%s, %s: %d %d %d\n", engine->device_id().c_str(), engine->active_kernel().c_str(),
              out[0], out[1], out[2]);
  for (const auto& fallback : engine->fallbacks()) std::printf("fallback: %s\n", fallback.c_str());
  std::printf("%s\n", engine->stats().summary().c_str());
  return 0;
}
