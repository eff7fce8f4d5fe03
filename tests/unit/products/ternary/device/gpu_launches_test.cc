// Which kernels an engine prepares and launches, on devices that run none.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "device/cpu_device.h"
#include "device/device_proxy.h"
#include "kernels/ternary_kernels.h"
#include "ternary/device/gpu_engine.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/device/gpu_grouped.h"
#include "ternary/suite/bench.h"

namespace gpuready::ternary {
namespace {

// Memory of the host; of kernels it is only noted that they were asked for.
class NotedDevice final : public DeviceProxy {
 public:
  struct Launch {
    std::string_view kernel;
    LaunchShape shape;
    std::vector<std::byte> params;
  };

  NotedDevice(std::unique_ptr<Device> inner, std::string executor, std::optional<int> capability)
      : DeviceProxy(*inner), owned_(std::move(inner)), info_(owned_->info()) {
    info_.executor = std::move(executor);
    info_.compute_capability = capability;
    info_.units = 132;
  }
  const DeviceInfo& info() const override { return info_; }
  Result<void> prepare(const Kernel& kernel) override {
    prepared.insert(kernel.name);
    return {};
  }
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned, unsigned) override {
    prepared.insert(kernel.name);
    return 1u;
  }
  Result<void> launch(StreamId, const Kernel& kernel, const LaunchShape& shape, const void* params,
                      std::size_t bytes) override {
    const auto* const first = static_cast<const std::byte*>(params);
    launches.push_back({kernel.name, shape, {first, first + bytes}});
    return {};
  }

  std::set<std::string_view> prepared;
  std::vector<Launch> launches;

 private:
  std::unique_ptr<Device> owned_;
  DeviceInfo info_;
};

// An engine on a device of this capability, with weights whose groups of `group` columns have a
// scale each; 0: with one scale.
struct NotedEngine {
  static constexpr std::int64_t kCols = 1024, kRows = 40;

  explicit NotedEngine(std::optional<int> capability, std::int64_t group = 128,
                       float first_scale = 1, std::string executor = "cuda")
      : device(make_cpu_device({.threads = 1}), std::move(executor), capability),
        engine(*GpuEngine::create(device)),
        weights(*engine.load(codes(group, first_scale))) {}
  static Codes codes(std::int64_t group, float first_scale) {
    Codes all{{kRows, kCols}, std::vector<std::int8_t>(kRows * kCols, 1), group, {1}};
    if (group == 0) return all;
    all.scales.resize(static_cast<std::size_t>(kRows * kCols / group));
    for (std::size_t i = 0; i < all.scales.size(); ++i)
      all.scales[i] = i == 0 ? first_scale : static_cast<float>(1 + i % 3);
    return all;
  }
  GpuOutput output(std::int64_t rows, OutputType type) {
    const auto bytes = static_cast<std::uint64_t>(rows * kRows) * element_bytes(type);
    buffers.push_back(*DeviceBuffer::make(device, bytes));
    return {type, {buffers.back().address(), bytes}};
  }
  // What is launched to multiply that many rows of codes.
  std::vector<NotedDevice::Launch> launched(std::int64_t rows) {
    const auto room = *engine.allocate_activations(rows, kCols);
    device.launches.clear();
    const auto done = engine.multiply({}, weights, room, rows, output(rows, OutputType::f32));
    EXPECT_TRUE(done) << done.error().message;
    return device.launches;
  }
  // The same of values that are not quantised.
  std::vector<std::string_view> launched_for_values(std::int64_t rows) {
    const auto room = *engine.allocate_activations(rows, kCols);
    const auto values =
        *DeviceBuffer::make(device, static_cast<std::uint64_t>(rows * kCols) * sizeof(float));
    device.launches.clear();
    const auto done = engine.multiply({}, weights, values.range(), FloatType::f32, room, rows,
                                      output(rows, OutputType::f32));
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::string_view> kernels;
    for (const auto& each : device.launches) kernels.push_back(each.kernel);
    return kernels;
  }

  NotedDevice device;
  GpuEngine engine;
  GpuWeights weights;
  std::vector<DeviceBuffer> buffers;
};

constexpr std::int64_t kSomeRows[] = {1, 2, 4, 5, 16, kMatrixRows, 300};

TEST(GpuLaunches, activations_have_tiles_where_a_kernel_multiplies_that_many_rows_by_tiles) {
  NotedEngine by_tiles(90), by_rows(61);
  for (const std::int64_t rows : kSomeRows) {
    const bool tiled = rows >= kMatrixRows;
    EXPECT_EQ(
        by_tiles.engine.activation_bytes(rows, 1000) - by_rows.engine.activation_bytes(rows, 1000),
        tiled ? gemm_tiles_bytes(rows, 1000) : 0)
        << rows;
    EXPECT_EQ(by_tiles.engine.allocate_activations(rows, 1000)->view().tiles != 0, tiled) << rows;
    EXPECT_EQ(by_rows.engine.allocate_activations(rows, 1000)->view().tiles, 0u) << rows;
  }
}

// A product may be captured into a graph, and a capture forbids to load code.
TEST(GpuLaunches, weights_by_group_are_ready_for_any_number_of_rows) {
  for (const int capability : {61, 80, 90})
    for (const std::int64_t group : {32, 64, 128, 256}) {
      NotedEngine engine(capability, group);
      const auto prepared = engine.device.prepared;
      for (const std::int64_t rows : kSomeRows)
        for (const auto& launch : engine.launched(rows))
          EXPECT_TRUE(prepared.contains(launch.kernel))
              << launch.kernel << " " << capability << " " << rows;
    }
}

// Devices without wgmma do not load code for it.
TEST(GpuLaunches, a_product_by_group_prepares_kernels_of_matrix_tiles_if_it_launches_them) {
  for (const int capability : {61, 80, 90, 100})
    for (const std::int64_t rows : kSomeRows) {
      NotedEngine engine(capability, 0);
      engine.device.prepared.clear();
      ASSERT_TRUE(grouped_product().prepare(engine.device, {}, rows));
      const bool by_tiles = capability == 90 && rows >= kMatrixRows;
      EXPECT_EQ(engine.device.prepared.size() > 1, by_tiles) << capability << " " << rows;
      for (const auto& launch : NotedEngine(capability).launched(rows))
        EXPECT_TRUE(engine.device.prepared.contains(launch.kernel))
            << launch.kernel << " " << capability << " " << rows;
    }
}

// Room for kMatrixRows rows and more has tiles where a kernel multiplies by them; a product of
// fewer rows does not write them. Scales as small as these are not multiplied by wgmma.
TEST(GpuLaunches, a_product_by_group_reads_tiles_only_if_its_rows_fill_them) {
  for (const int capability : {61, 80, 90}) {
    NotedEngine engine(capability, 128, kLeastWgmmaScale / 2);
    for (const std::int64_t room_rows : {kMatrixRows - 1, std::int64_t{300}}) {
      const auto room = *engine.engine.allocate_activations(room_rows, NotedEngine::kCols);
      for (const std::int64_t rows : kSomeRows) {
        if (rows > room_rows) continue;
        engine.device.launches.clear();
        ASSERT_TRUE(engine.engine.multiply({}, engine.weights, room, rows,
                                           engine.output(rows, OutputType::f32)));
        ASSERT_EQ(engine.device.launches.size(), 1u);
        const auto& bytes = engine.device.launches[0].params;
        TernaryGroupedParams params{};
        ASSERT_EQ(bytes.size(), sizeof params);
        std::memcpy(&params, bytes.data(), sizeof params);
        const bool tiled = capability >= 80 && room_rows >= kMatrixRows && rows >= kMatrixRows;
        EXPECT_EQ(params.tiled, tiled ? 1u : 0u) << capability << " " << room_rows << " " << rows;
        EXPECT_EQ(params.codes_address, tiled ? room.view().tiles : room.view().codes)
            << capability << " " << room_rows << " " << rows;
      }
    }
  }
}

TEST(GpuLaunches, products_by_group_take_the_kernel_of_their_rows) {
  const auto one = kTernaryGrouped1.name, four = kTernaryGrouped4.name,
             sixteen = kTernaryGrouped16.name;
  struct {
    int capability;
    std::int64_t rows;
    std::string_view kernel;
  } const kCases[] = {{61, 1, one},
                      {61, 2, four},
                      {61, 300, four},
                      {75, 300, four},
                      {80, 1, one},
                      {80, 2, four},
                      {80, 4, four},
                      {80, 5, sixteen},
                      {80, 16, sixteen},
                      {80, 300, sixteen},
                      {89, kMatrixRows, sixteen},
                      {90, 1, one},
                      {90, 4, four},
                      {90, 16, sixteen},
                      {120, 300, sixteen}};
  for (const auto& [capability, rows, kernel] : kCases) {
    const auto launches = NotedEngine(capability).launched(rows);
    ASSERT_EQ(launches.size(), 1u) << capability << " " << rows;
    EXPECT_EQ(launches[0].kernel, kernel) << capability << " " << rows;
    // Up to 4 rows a further warp adds (ternary_params.h).
    const bool adds_apart = kernel != sixteen;
    EXPECT_EQ(launches[0].shape.threads, 32 * (kGroupedWarps + (adds_apart ? 1 : 0))) << kernel;
    EXPECT_EQ(launches[0].shape.overlaps, adds_apart) << kernel;
    EXPECT_LE(launches[0].shape.shared_bytes, 48u * 1024) << kernel;
  }
}

// Only compute capability 9.0 has wgmma, and it would lose the smallest scales.
TEST(GpuLaunches, products_by_group_are_by_matrix_tiles_where_there_is_wgmma) {
  const auto kernel_of = [](NotedEngine engine, std::int64_t rows) {
    const auto launches = engine.launched(rows);
    return launches.empty() ? std::string_view() : launches.back().kernel;
  };
  const auto grouped = kTernaryGrouped16.name;
  for (const std::int64_t rows : {kMatrixRows, std::int64_t{300}}) {
    EXPECT_NE(kernel_of(NotedEngine(90), rows), grouped) << rows;
    EXPECT_EQ(kernel_of(NotedEngine(90, 128, kLeastWgmmaScale / 2), rows), grouped) << rows;
    EXPECT_NE(kernel_of(NotedEngine(90, 128, kLeastWgmmaScale), rows), grouped) << rows;
    EXPECT_NE(kernel_of(NotedEngine(90, 128, 0), rows), grouped) << rows;
    EXPECT_EQ(kernel_of(NotedEngine(80), rows), grouped) << rows;
    EXPECT_EQ(kernel_of(NotedEngine(100), rows), grouped) << rows;
  }
  EXPECT_EQ(kernel_of(NotedEngine(90), kMatrixRows - 1), grouped);
}

TEST(GpuLaunches, values_are_quantised_in_the_product_or_before_it) {
  using Kernels = std::vector<std::string_view>;
  EXPECT_EQ(NotedEngine(90, 0).launched_for_values(1), Kernels{kTernaryStreamValues1.name});
  EXPECT_EQ(NotedEngine(90, 0).launched_for_values(4), Kernels{kTernaryStreamValues8.name});
  EXPECT_EQ(NotedEngine(90, 0).launched_for_values(16),
            (Kernels{kTernaryActivations.name, kTernaryStream16.name}));
  EXPECT_EQ(NotedEngine(61, 0).launched_for_values(1),
            (Kernels{kTernaryActivations.name, kTernaryGemv1.name}));
  EXPECT_EQ(NotedEngine(90).launched_for_values(1),
            (Kernels{kTernaryActivations.name, kTernaryGrouped1.name}));
}

TEST(GpuLaunches, a_check_names_the_first_row_that_is_not_finite) {
  NotedEngine engine(90, 0);
  const auto room = *engine.engine.allocate_activations(3, NotedEngine::kCols);
  const auto checked = [&](std::int64_t rows, const std::vector<GpuActivationRow>& known) {
    EXPECT_TRUE(engine.device.copy_to_device({}, room.view().rows, known.data(),
                                             known.size() * sizeof known[0]));
    const auto done = engine.engine.check({}, room, rows, &engine.weights);
    return done ? std::string("finite") : done.error().message;
  };
  const GpuActivationRow good{1, 0, kNoColumn, 0}, bad{1, 0, 7, 0}, worse{1, 0, 9, 0};
  EXPECT_EQ(checked(3, {good, good, good}), "finite");
  EXPECT_EQ(checked(3, {good, bad, worse}), "activation 7 of row 1 is NaN or infinite");
  EXPECT_EQ(checked(1, {good, bad, worse}), "finite");
  const GpuActivationRow steep{std::numeric_limits<float>::infinity(), 0, kNoColumn, 0};
  EXPECT_EQ(checked(2, {good, steep, good}), "the product of a step and a scale is not finite");
}

// A GPU whose memory is read at a rate only if it has 1 GiB for that; no kernel reads or writes it.
TEST(GpuLaunches, a_benchmark_times_each_product_with_and_without_quantising) {
  class Gpu final : public DeviceProxy {
   public:
    Gpu(Device& inner, bool roomy) : DeviceProxy(inner), roomy_(roomy) {}
    Result<DeviceAddress> allocate(std::uint64_t bytes) override {
      if (bytes == GiB && !roomy_)
        return std::unexpected(Error{ErrorKind::device_memory, "no room"});
      return inner_->allocate(bytes == GiB ? 4096 : bytes);
    }

   private:
    bool roomy_;
  };
  for (const bool roomy : {false, true}) {
    NotedDevice noted(make_cpu_device({.threads = 1}), "cuda", 90);
    Gpu gpu(noted, roomy);
    BenchOptions options;
    options.shapes = {{1, 64, 512}, {kMatrixRows, 64, 512}};
    options.budget_s = 1e-6;
    const auto rows = bench_device(gpu, options);
    ASSERT_EQ(rows.size(), 4u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].status, CheckStatus::passed) << rows[i].reason;
      EXPECT_EQ(rows[i].shape, options.shapes[i / 2]);
      EXPECT_EQ(rows[i].timed, i % 2 == 0 ? Timed::device : Timed::device_values);
      EXPECT_EQ(rows[i].read_bytes_per_s.has_value(), roomy);
    }
  }
}

// Else a kernel would read or write beyond them, and end the caller's context.
TEST(GpuLaunches, what_is_added_has_the_products_elements_in_another_place) {
  NotedEngine engine(90, 0);
  const auto room = *engine.engine.allocate_activations(2, NotedEngine::kCols);
  constexpr std::uint64_t kBias = NotedEngine::kRows * 4, kResidual = 2 * kBias;
  const auto out = engine.output(2, OutputType::f32);
  const auto other = engine.output(4, OutputType::f32).memory.address;
  using Addend = GpuOutput::Addend;
  const auto said = [&](Addend bias, Addend residual, OutputType type = OutputType::f32) {
    GpuOutput to = out;
    to.type = type;
    to.bias = bias;
    to.residual = residual;
    const auto done = engine.engine.multiply({}, engine.weights, room, 2, to);
    return done ? "" : done.error().message;
  };
  const auto at = [](std::uint64_t address, std::uint64_t bytes, FloatType type = FloatType::f32) {
    return Addend{{address, bytes}, type};
  };
  EXPECT_EQ(said({}, {}), "");
  EXPECT_EQ(said(at(other, kBias), at(other, kResidual)), "");
  EXPECT_EQ(said(at(other, kBias / 2, FloatType::bf16), at(other, kResidual / 2, FloatType::f16)),
            "");
  EXPECT_EQ(said(at(other, kBias - 4), {}), "the bias take 160 bytes, not 156");
  EXPECT_EQ(said(at(other, kBias, FloatType::f16), {}), "the bias take 80 bytes, not 160");
  EXPECT_EQ(said({}, at(other, kBias)), "the residual take 320 bytes, not 160");
  EXPECT_EQ(said(at(other + 2, kBias), {}), "the bias is not aligned to an element");
  EXPECT_EQ(said({}, at(other + 1, kResidual / 2, FloatType::f16)),
            "the residual is not aligned to an element");
  EXPECT_EQ(said({}, at(other + 2, kResidual / 2, FloatType::f16)), "");
  EXPECT_EQ(said(at(other, kBias, static_cast<FloatType>(3)), {}),
            "the type of the values is not f32, f16 or bf16");
  const auto place = out.memory.address;
  EXPECT_EQ(said({}, at(place, kResidual)), "") << "in place";
  EXPECT_EQ(said(at(place + kBias, kBias), {}), "the bias overlaps the products");
  EXPECT_EQ(said({}, at(place + 4, kResidual)),
            "the residual overlaps the products, but is not the same elements");
  EXPECT_EQ(said(at(other, kBias), {}, OutputType::int32), "nothing is added to int32 products");
}

TEST(GpuLaunches, f16_and_what_is_added_are_of_cuda) {
  for (const char* executor : {"cuda", "vulkan"}) {
    const bool cuda = std::string_view(executor) == "cuda";
    NotedEngine engine(cuda ? std::optional(90) : std::nullopt, 0, 1, executor);
    const auto room = *engine.engine.allocate_activations(1, NotedEngine::kCols);
    const auto kind = [&](GpuOutput out) {
      const auto done = engine.engine.multiply({}, engine.weights, room, 1, out);
      return done ? std::optional<ErrorKind>() : done.error().kind;
    };
    const auto refused = cuda ? std::nullopt : std::optional(ErrorKind::unsupported_tier);
    for (const OutputType type : {OutputType::int32, OutputType::f32, OutputType::bf16})
      EXPECT_EQ(kind(engine.output(1, type)), std::nullopt) << executor;
    EXPECT_EQ(kind(engine.output(1, OutputType::f16)), refused) << executor;
    const GpuOutput::Addend addend{engine.output(1, OutputType::f32).memory, FloatType::f32};
    GpuOutput with_bias = engine.output(1, OutputType::f32), with_residual = with_bias;
    with_bias.bias = addend;
    with_residual.residual = addend;
    EXPECT_EQ(kind(with_bias), refused) << executor;
    EXPECT_EQ(kind(with_residual), refused) << executor;
  }
}

}  // namespace
}  // namespace gpuready::ternary
