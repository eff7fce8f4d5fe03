// Products that follow each other in one graph. Also a test's, on a GPU that the host plays.
#include <cmath>
#include <cstring>

#include "ternary_gpu.h"

namespace gpuready::ternary {

Codes random_codes(Bench& b, Shape shape, int kind) {
  Codes codes;
  codes.shape = shape;
  codes.values.resize(static_cast<std::size_t>(shape.rows * shape.cols));
  for (auto& c : codes.values)
    c = static_cast<std::int8_t>(kind <= 1 ? kind
                                           : static_cast<int>((b.random() & 0xFFFF) * 3 >> 16) - 1);
  codes.scale_block = shape.cols;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    codes.scales.push_back(static_cast<float>(b.random() >> 8) * 0x1p-20f + 1e-3f);
  return codes;
}

// Each is of the values that the one before it made, with the same room for activations and the
// same workspace: launches overlap, and none may read or write too early.
ChainCheck check_chain(Bench& b, CpuEngine& cpu, std::int64_t size, std::int64_t rows) {
  ChainCheck check;
  constexpr std::size_t kSteps = 12;
  const Shape shape{size, size};
  std::vector<PackedWeights> packed;
  std::vector<GpuWeights> weights;
  for (int i = 0; i < 2; ++i) {
    Codes codes = random_codes(b, shape, 2);
    for (float& scale : codes.scales)
      scale = std::ldexp(scale, -7);  // values neither grow nor fade
    packed.push_back(must(PackedWeights::pack(codes)));
    weights.push_back(must(b.engine.load(packed.back())));
  }
  const auto count = static_cast<std::size_t>(rows * size);
  const std::uint64_t bytes = count * sizeof(float);
  auto values = random_values(b, count);
  const auto all = must(DeviceBuffer::make(b.device, (kSteps + 1) * bytes));
  const auto workspace = must(DeviceBuffer::make(
      b.device, std::max<std::uint64_t>(b.engine.workspace_bytes(shape, rows), 256)));
  const auto activations = must(b.engine.allocate_activations(rows, size));
  must(b.device.copy_to_device(b.stream, all.address(), values.data(), bytes));
  const auto steps = [&] {
    for (std::size_t i = 0; i < kSteps; ++i)
      must(b.engine.multiply(
          b.stream, weights[i % 2], {all.address() + i * bytes, bytes}, FloatType::f32, activations,
          rows, {OutputType::f32, {all.address() + (i + 1) * bytes, bytes}}, workspace.range()));
  };
  steps();  // loads the code, which a capture forbids
  must(b.device.synchronize(b.stream));
  const std::vector<std::byte> poison(kSteps * bytes, std::byte{0xAB});
  must(b.device.copy_to_device(b.stream, all.address() + bytes, poison.data(), poison.size()));
  must(b.device.synchronize(b.stream));
  must(b.device.begin_capture(b.stream));
  steps();
  const GraphId graph = must(b.device.end_capture(b.stream));
  for (int replay = 0; replay < 3; ++replay) must(b.device.launch_graph(b.stream, graph));
  std::vector<float> actual(count), expected(count);
  for (std::size_t i = 0; i < kSteps; ++i) {
    must(b.device.copy_to_host(b.stream, actual.data(), all.address() + (i + 1) * bytes, bytes));
    must(b.device.synchronize(b.stream));
    const auto y = must(Activations::quantise(std::span<const float>(values), rows, size));
    must(cpu.multiply(packed[i % 2], y, expected));
    ++check.products;
    check.results += count;
    std::uint64_t differ = 0;
    for (std::size_t at = 0; at < count; ++at)
      differ += std::memcmp(&expected[at], &actual[at], sizeof(float)) != 0;
    if (differ != 0)
      fmt::print("WRONG: {} of {} results, step {} of a chain of {} x {}, M {}\n", differ, count, i,
                 size, size, rows);
    check.wrong += differ;
    values = expected;
  }
  must(b.device.destroy_graph(graph));
  return check;
}

}  // namespace gpuready::ternary
