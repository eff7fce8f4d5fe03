// The whole GPU path, engine and backend, on whatever Vulkan device is here: llvmpipe at the least.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "ternary/device/gpu_backend.h"
#include "unit/device/vulkan/vulkan_fixture.h"
#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

// CUDA's driver ends the process that waits for a stream which is no more.
class StreamWatch final : public ForwardingDevice {
 public:
  StreamWatch(std::unique_ptr<Device> inner, std::vector<std::string>& told)
      : ForwardingDevice(std::move(inner)), told_(told) {}
  Result<StreamId> create_stream() override {
    auto stream = ForwardingDevice::create_stream();
    if (stream) alive_.insert(stream->value);
    return stream;
  }
  Result<void> destroy_stream(StreamId stream) override {
    if (alive_.erase(stream.value) == 0) told_.emplace_back("destroyed twice");
    return ForwardingDevice::destroy_stream(stream);
  }
  Result<void> synchronize(StreamId stream) override {
    if (stream.value != 0 && !alive_.contains(stream.value))
      told_.emplace_back("waited for after its end");
    return ForwardingDevice::synchronize(stream);
  }
  ~StreamWatch() override {
    if (!alive_.empty()) told_.emplace_back("never destroyed");
  }

 private:
  std::vector<std::string>& told_;
  std::set<std::uint64_t> alive_;
};

}  // namespace
}  // namespace gpuready

namespace gpuready::ternary {
namespace {

class VulkanBackendTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    auto made = make_vulkan_backend(uuid_);
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
  }

  Codes codes_of(Shape shape, int kind = 0) {
    Codes codes{shape,
                std::vector<std::int8_t>(static_cast<std::size_t>(shape.rows * shape.cols)),
                shape.cols,
                {}};
    for (auto& code : codes.values)
      code = static_cast<std::int8_t>(kind == 0 ? static_cast<int>(random_() % 3) - 1 : kind);
    for (std::int64_t row = 0; row < shape.rows; ++row)
      codes.scales.push_back(std::ldexp(float_in(1, 2), static_cast<int>(random_() % 40) - 20));
    return codes;
  }
  float float_in(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  template <class T>
  void expect_equal(const Codes& codes, const Activations& activations, std::int64_t rows,
                    const FloatView* values = nullptr) {
    const auto packed = PackedWeights::pack(codes);
    ASSERT_TRUE(packed);
    const auto loaded = backend_->load(*packed);
    ASSERT_TRUE(loaded) << loaded.error().message;
    std::vector<T> expected(static_cast<std::size_t>(rows * codes.shape.rows)), actual(expected);
    const auto cpu = CpuEngine::create();
    if constexpr (sizeof(T) == 2)
      ASSERT_TRUE(cpu->multiply_bf16(*packed, activations, expected));
    else
      ASSERT_TRUE(cpu->multiply(*packed, activations, expected));
    const OutputView out{std::span<T>(actual)};
    const auto done = values ? backend_->multiply(**loaded, *values, rows, out)
                             : backend_->multiply(**loaded, activations, out);
    ASSERT_TRUE(done) << done.error().message;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if constexpr (sizeof(T) == 2)
        ASSERT_EQ(actual[i], expected[i]) << i;
      else
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual[i]),
                  std::bit_cast<std::uint32_t>(expected[i]))
            << i;
  }

  std::mt19937 random_{1};
  std::unique_ptr<Backend> backend_;
};

TEST_F(VulkanBackendTest, its_stream_outlives_what_waits_for_it) {
  std::vector<std::string> told;
  auto made = make_gpu_backend(std::make_unique<StreamWatch>(open(), told));
  ASSERT_TRUE(made) << made.error().message;
  backend_ = std::move(*made);
  const Activations activations =
      *Activations::from_int8(std::vector<std::int8_t>(64, 3), 1, 64, std::vector<float>{1});
  expect_equal<float>(codes_of({32, 64}), activations, 1);
  backend_.reset();
  EXPECT_EQ(told, std::vector<std::string>{});
}

TEST_F(VulkanBackendTest, gives_the_cpus_bits_for_every_tail) {
  for (const std::int64_t rows : {1, 17, 32})
    for (const std::int64_t cols : {1, 127, 129, 700}) {
      const Codes codes = codes_of({rows, cols});
      std::vector<std::int8_t> q(static_cast<std::size_t>(3 * cols));
      for (auto& code : q) code = static_cast<std::int8_t>(random_());
      const float steps[] = {0.25f, 3e-8f, 1.1f};
      const auto activations = Activations::from_int8(q, 3, cols, steps);
      ASSERT_TRUE(activations);
      expect_equal<std::int32_t>(codes, *activations, 3);
      expect_equal<float>(codes, *activations, 3);
      expect_equal<std::uint16_t>(codes, *activations, 3);
    }
}

TEST_F(VulkanBackendTest, holds_the_greatest_sums) {
  for (const int weight : {-1, 1})
    for (const int q : {-128, 127}) {
      const std::vector<std::int8_t> row(32768, static_cast<std::int8_t>(q));
      expect_equal<std::int32_t>(codes_of({2, 32768}, weight),
                                 *Activations::from_int8(row, 1, 32768), 1);
    }
}

TEST_F(VulkanBackendTest, quantises_activations_as_the_cpu_does) {
  // Ordinary values, subnormals, halves between codes, and a row of zeros.
  for (const float scale : {1.0f, 1e-38f, 127.0f, 0.0f}) {
    constexpr std::int64_t kRows = 2, kCols = 333;
    std::vector<float> values(kRows * kCols);
    for (auto& x : values)
      x = scale == 127.0f ? std::round(float_in(-254, 254)) / 2 : scale * float_in(-1, 1);
    const FloatView view{std::span<const float>(values)};
    const auto activations = Activations::quantise(view, kRows, kCols);
    ASSERT_TRUE(activations);
    Codes codes = codes_of({20, kCols});
    codes.scales.assign(20, 0.75f);
    expect_equal<std::int32_t>(codes, *activations, kRows, &view);
    expect_equal<float>(codes, *activations, kRows, &view);
  }
}

TEST_F(VulkanBackendTest, takes_halves_of_both_kinds) {
  for (const FloatType type : {FloatType::f16, FloatType::bf16}) {
    std::vector<std::uint16_t> bits(3 * 77);
    for (auto& b : bits) {
      b = static_cast<std::uint16_t>(random_());
      const unsigned exponents = type == FloatType::f16 ? 0x7C00 : 0x7F80;
      if ((b & exponents) == exponents) b = 0x1234;  // finite ones alone
    }
    // bf16 has numbers whose rows' steps overflow with a scale.
    if (type == FloatType::bf16)
      for (auto& b : bits) b &= 0xBFFF;
    const FloatView view(type, std::as_bytes(std::span(bits)));
    const auto activations = Activations::quantise(view, 3, 77);
    ASSERT_TRUE(activations);
    expect_equal<float>(codes_of({18, 77}), *activations, 3, &view);
  }
}

TEST_F(VulkanBackendTest, tells_what_is_not_finite_and_writes_nothing) {
  const auto loaded = backend_->load(*PackedWeights::pack(codes_of({4, 9})));
  ASSERT_TRUE(loaded);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(18, 1.0f), out(8, 42.0f);
    values[13] = bad;
    const auto done = backend_->multiply(**loaded, FloatView(std::span<const float>(values)), 2,
                                         OutputView(std::span<float>(out)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::not_finite);
    EXPECT_NE(done.error().message.find("activation 4 of row 1"), std::string::npos);
    EXPECT_EQ(out, std::vector<float>(8, 42.0f));
  }
}

TEST_F(VulkanBackendTest, tells_a_step_times_a_scale_that_overflows_as_the_cpu_does) {
  Codes codes = codes_of({2, 4});
  codes.scales.assign(2, 1e10f);
  const auto packed = PackedWeights::pack(codes);
  const auto loaded = backend_->load(*packed);
  const std::vector<float> values(4, 3e38f);
  std::vector<float> out(2);
  const auto done = backend_->multiply(**loaded, FloatView(std::span<const float>(values)), 1,
                                       OutputView(std::span<float>(out)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::not_finite);
}

TEST_F(VulkanBackendTest, refuses_wrong_sizes) {
  const auto loaded = backend_->load(*PackedWeights::pack(codes_of({4, 9})));
  std::vector<float> values(9), out(3);
  const FloatView view{std::span<const float>(values)};
  EXPECT_EQ(backend_->multiply(**loaded, view, 1, std::span<float>(out)).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(backend_->multiply(**loaded, view, 2, std::span<float>(out)).error().kind,
            ErrorKind::wrong_size);
  out.resize(4);
  const auto other = Activations::from_int8(std::vector<std::int8_t>(8), 1, 8);
  EXPECT_EQ(backend_->multiply(**loaded, *other, std::span<float>(out)).error().kind,
            ErrorKind::wrong_size);
}

TEST_F(VulkanBackendTest, tells_itself_apart) {
  EXPECT_EQ(backend_->info().kind, BackendKind::vulkan);
  EXPECT_EQ(backend_->info().id, "vulkan:" + uuid_);
  EXPECT_EQ(backend_->kernel_for({16, 128}, 1), "vulkan-gemv");
  EXPECT_GT(backend_->workspace_bytes({16, 128}, 1), 0u);
}

}  // namespace
}  // namespace gpuready::ternary
