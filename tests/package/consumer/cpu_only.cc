// Links the CPU's library alone: that it needs no other of ours is what this tests.
#include <cstdio>

#include "gpuready/ternary.h"

int main() {
  using namespace gpuready::ternary;
  const auto packed = PackedWeights::pack(Codes{{1, 3}, {1, 0, -1}, 0, {1}});
  const std::int8_t row[] = {9, 100, 3};
  const auto activations = Activations::from_int8(row, 1, 3);
  const auto engine = CpuEngine::create();
  std::int32_t out[1] = {0};
  if (!packed || !activations || !engine ||
      !engine->multiply(*packed, *activations, std::span(out)))
    return 1;
  std::printf("%s: %d\n", to_string(engine->tier()).data(), out[0]);
  return 0;
}
