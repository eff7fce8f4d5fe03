#include "ternary/device/gpu_engine.h"

#include <gtest/gtest.h>

#include <optional>

#include "device/cpu_device.h"
#include "unit/device/vulkan/vulkan_fixture.h"

namespace gpuready::ternary {
namespace {

TEST(GpuEngine, is_not_to_be_had_on_the_cpu) {
  const auto device = make_cpu_device({.threads = 1});
  const auto engine = GpuEngine::create(*device);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::no_device);
}

TEST(GpuEngine, tells_that_an_executor_has_no_graphs) {
  const auto device = make_cpu_device({.threads = 1});
  const auto begun = device->begin_capture({});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().kind, gpuready::ErrorKind::unsupported);
  EXPECT_FALSE(device->end_capture({}));
  EXPECT_FALSE(device->launch_graph({}, {}));
  EXPECT_FALSE(device->destroy_graph({}));
}

class GpuEngineTest : public VulkanTest {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped()) return;
    device_ = open();
    auto made = GpuEngine::create(*device_);
    ASSERT_TRUE(made) << made.error().message;
    engine_.emplace(std::move(*made));
  }
  GpuWeights load(Shape shape, float scale) {
    Codes codes{shape,
                std::vector<std::int8_t>(static_cast<std::size_t>(shape.rows * shape.cols), 1),
                0,
                {scale}};
    return std::move(*engine_->load(codes));
  }

  std::unique_ptr<Device> device_;
  std::optional<GpuEngine> engine_;
};

TEST_F(GpuEngineTest, runs_several_products_in_the_order_given) {
  const GpuWeights first = load({3, 40}, 1), second = load({5, 40}, 0.5f);
  const auto room = engine_->allocate_activations(2, 40);
  ASSERT_TRUE(room);
  const std::vector<std::int8_t> q(80, 2);
  ASSERT_TRUE(engine_->upload({}, *Activations::from_int8(q, 2, 40), *room));
  auto out = DeviceBuffer::make(*device_, 16 * 4);
  ASSERT_TRUE(out);
  const GpuEngine::Product products[] = {
      {&first, &*room, 2, {OutputType::f32, {out->address(), 24}}, {}},
      {&second, &*room, 2, {OutputType::f32, {out->address() + 24, 40}}, {}}};
  ASSERT_TRUE(engine_->multiply({}, products));
  std::vector<float> host(16);
  ASSERT_TRUE(device_->copy_to_host({}, host.data(), out->address(), 64));
  ASSERT_TRUE(device_->synchronize({}));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(host[i], i < 6 ? 80 : 40) << i;
}

TEST_F(GpuEngineTest, multiplies_stacked_weights_in_one_product) {
  const auto packed = [](std::int64_t rows, std::int8_t weight, float scale) {
    return *PackedWeights::pack(
        {{rows, 40},
         std::vector<std::int8_t>(static_cast<std::size_t>(rows * 40), weight),
         0,
         {scale}});
  };
  const PackedWeights q = packed(32, 1, 1), k = packed(16, -1, 1), v = packed(5, 1, 0.5f);
  const PackedWeights* const all[] = {&q, &k, &v};
  const auto weights = engine_->load(all);
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(weights->shape(), (Shape{53, 40}));
  const auto room = engine_->allocate_activations(1, 40);
  const auto out = DeviceBuffer::make(*device_, 53 * 4);
  ASSERT_TRUE(room && out);
  ASSERT_TRUE(
      engine_->upload({}, *Activations::from_int8(std::vector<std::int8_t>(40, 2), 1, 40), *room));
  ASSERT_TRUE(engine_->multiply({}, *weights, *room, 1, {OutputType::f32, {out->address(), 212}}));
  std::vector<float> host(53);
  ASSERT_TRUE(device_->copy_to_host({}, host.data(), out->address(), 212));
  ASSERT_TRUE(device_->synchronize({}));
  for (std::size_t i = 0; i < 53; ++i) EXPECT_EQ(host[i], i < 32 ? 80 : i < 48 ? -80 : 40) << i;

  const PackedWeights* const uneven[] = {&v, &q};
  const PackedWeights wide = *PackedWeights::pack({{1, 41}, std::vector<std::int8_t>(41), 0, {1}});
  const PackedWeights* const other[] = {&q, &wide};
  EXPECT_EQ(engine_->load(uneven).error().kind, ErrorKind::wrong_size);
  EXPECT_EQ(engine_->load(other).error().kind, ErrorKind::wrong_size);
  EXPECT_EQ(engine_->load(std::span<const PackedWeights* const>()).error().kind,
            ErrorKind::wrong_size);
}

TEST_F(GpuEngineTest, multiplies_values_as_it_does_once_they_are_quantised) {
  const GpuWeights weights = load({5, 40}, 0.5f);
  const auto room = engine_->allocate_activations(2, 40);
  ASSERT_TRUE(room);
  std::vector<float> values(80);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 20.25f;
  const auto in = DeviceBuffer::make(*device_, 320), out = DeviceBuffer::make(*device_, 40);
  ASSERT_TRUE(in && out);
  ASSERT_TRUE(device_->copy_to_device({}, in->address(), values.data(), 320));
  const auto result = [&] {
    std::vector<float> host(10);
    EXPECT_TRUE(device_->copy_to_host({}, host.data(), out->address(), 40));
    EXPECT_TRUE(device_->synchronize({}));
    return host;
  };
  const GpuOutput place{OutputType::f32, {out->address(), 40}};
  ASSERT_TRUE(engine_->quantise({}, in->range(), FloatType::f32, 2, *room));
  ASSERT_TRUE(engine_->multiply({}, weights, *room, 2, place));
  const auto expected = result();
  const std::vector<float> none(10, 0);
  ASSERT_TRUE(device_->copy_to_device({}, out->address(), none.data(), 40));
  ASSERT_TRUE(engine_->multiply({}, weights, in->range(), FloatType::f32, *room, 2, place));
  EXPECT_EQ(result(), expected);
  EXPECT_NE(expected, none);
  EXPECT_TRUE(engine_->check({}, *room, 2, &weights));

  const auto kind = [&](AddressRange from, GpuOutput to) {
    const auto done = engine_->multiply({}, weights, from, FloatType::f32, *room, 2, to);
    return done ? std::optional<ErrorKind>() : done.error().kind;
  };
  EXPECT_EQ(kind({in->address(), 316}, place), ErrorKind::wrong_size);
  EXPECT_EQ(kind({in->address() + 2, 320}, place), ErrorKind::wrong_size);
  EXPECT_EQ(kind(in->range(), {OutputType::f32, {out->address(), 36}}), ErrorKind::wrong_size);
}

TEST_F(GpuEngineTest, refuses_a_call_whose_sizes_do_not_fit_before_it_runs_any) {
  const GpuWeights weights = load({3, 40}, 1);
  const auto room = engine_->allocate_activations(2, 40),
             narrow = engine_->allocate_activations(2, 39);
  const auto out = DeviceBuffer::make(*device_, 256);
  const auto kind = [&](const GpuActivations& y, std::int64_t rows, AddressRange place) {
    const auto done = engine_->multiply({}, weights, y, rows, {OutputType::f32, place});
    return done ? std::optional<ErrorKind>() : done.error().kind;
  };
  EXPECT_EQ(kind(*room, 2, {out->address(), 24}), std::nullopt);
  EXPECT_EQ(kind(*room, 2, {out->address(), 23}), ErrorKind::wrong_size);
  EXPECT_EQ(kind(*room, 2, {out->address() + 2, 24}), ErrorKind::wrong_size);
  EXPECT_EQ(kind(*room, 3, {out->address(), 36}), ErrorKind::wrong_size);
  EXPECT_EQ(kind(*room, 0, {out->address(), 0}), ErrorKind::wrong_size);
  EXPECT_EQ(kind(*narrow, 2, {out->address(), 24}), ErrorKind::wrong_size);
  EXPECT_EQ(engine_->quantise({}, {out->address(), 100}, FloatType::f32, 1, *room).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(engine_->quantise({}, {out->address() + 2, 160}, FloatType::f32, 1, *room).error().kind,
            ErrorKind::wrong_size);
}

}  // namespace
}  // namespace gpuready::ternary
