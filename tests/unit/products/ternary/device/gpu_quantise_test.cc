#include "ternary/device/gpu_quantise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/cpu_device.h"
#include "ternary/floats.h"

namespace gpuready::ternary {
namespace {

// By the kernels' CPU versions, on a device that has three threads.
class GpuQuantiseOnCpu : public testing::Test {
 protected:
  // The bytes as a device leaves them, and the place of what is not finite.
  struct Quantised {
    std::vector<std::uint8_t> bytes;
    std::uint64_t bad = 0;
  };
  Quantised quantise(const FloatView& values, Shape shape, FormatId to, Rule rule) {
    const std::size_t size = *encoded_bytes(to, shape);
    const auto in = DeviceBuffer::make(*device_, values.bytes.size());
    // Eight bytes more, so that places of the scale and the sums are also odd words.
    const auto room = DeviceBuffer::make(*device_, size + 16);
    const auto bad = DeviceBuffer::make(*device_, 8);
    EXPECT_TRUE(in && room && bad);
    Quantised result{std::vector<std::uint8_t>(size + 16, 0xAB), 0};
    EXPECT_TRUE(
        device_->copy_to_device({}, in->address(), values.bytes.data(), values.bytes.size()));
    EXPECT_TRUE(device_->copy_to_device({}, room->address(), result.bytes.data(), size + 16));
    EXPECT_TRUE(
        enqueue_weights_quantise(*device_, {},
                                 {.values_address = in->address(),
                                  .out_address = room->address() + 4,
                                  .bad_address = bad->address(),
                                  .count = static_cast<std::uint64_t>(shape.rows * shape.cols),
                                  .value_type = static_cast<unsigned>(values.type),
                                  .block = static_cast<unsigned>(format(to).block),
                                  .absmean = rule == Rule::absmean ? 1u : 0u,
                                  .begin = 0}));
    EXPECT_TRUE(device_->copy_to_host({}, result.bytes.data(), room->address(), size + 16));
    EXPECT_TRUE(device_->copy_to_host({}, &result.bad, bad->address(), 8));
    EXPECT_TRUE(device_->synchronize({}));
    for (std::size_t i = 0; i < 16; ++i)  // nothing beside it was written
      EXPECT_EQ(result.bytes[i < 4 ? i : size + i], 0xAB);
    result.bytes.erase(result.bytes.begin(), result.bytes.begin() + 4);
    result.bytes.resize(size);
    return result;
  }

  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 3});
};

TEST_F(GpuQuantiseOnCpu, writes_the_bytes_of_the_library_by_either_rule) {
  std::mt19937 random(1);
  for (const Shape shape : {Shape{1, 64}, Shape{1, 128}, Shape{9, 128}, Shape{8, 1024},
                            Shape{65, 192}, Shape{130, 2112}})
    for (const FloatType type : {FloatType::f32, FloatType::f16, FloatType::bf16}) {
      std::vector<std::byte> values(static_cast<std::size_t>(shape.rows * shape.cols) *
                                    bytes_of(type));
      for (std::size_t i = 0; i < values.size(); i += bytes_of(type)) {
        // From subnormals on, below the greatest exponents.
        const std::uint32_t bits =
            type == FloatType::f32 ? random() & 0xBFFFFFFF : random() & 0xBFFF;
        std::memcpy(values.data() + i, &bits, bytes_of(type));
      }
      for (const FormatId to : {FormatId::i2s_x86, FormatId::i2s_arm})
        for (const Rule rule : {Rule::of_format, Rule::absmean}) {
          const auto want = ternary::quantise({type, values}, shape, to, {rule, {}});
          const bool whole_blocks = shape.rows * shape.cols % format(to).block == 0;
          ASSERT_EQ(want.has_value(), whole_blocks) << shape.rows << " x " << shape.cols;
          if (!want) continue;
          const Quantised got = quantise({type, values}, shape, to, rule);
          EXPECT_EQ(got.bytes, want->bytes) << shape.rows << " x " << shape.cols;
          EXPECT_EQ(got.bad, ~std::uint64_t{0});
        }
    }
}

TEST_F(GpuQuantiseOnCpu, tells_the_first_weight_that_is_not_finite) {
  std::vector<float> values(3 * 1024, 1.0f);
  values[2000] = std::numeric_limits<float>::infinity();
  values[2500] = std::numeric_limits<float>::quiet_NaN();
  for (const Rule rule : {Rule::of_format, Rule::absmean})
    EXPECT_EQ(quantise(std::span<const float>(values), {3, 1024}, FormatId::i2s_x86, rule).bad,
              2000u);
}

}  // namespace
}  // namespace gpuready::ternary
