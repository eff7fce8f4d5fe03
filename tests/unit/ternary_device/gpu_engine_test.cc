#include "ternary_device/gpu_engine.h"

#include <gtest/gtest.h>

#include <optional>

#include "../device/vulkan_fixture.h"
#include "device/cpu_device.h"

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
