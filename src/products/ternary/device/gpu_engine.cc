#include "ternary/device/gpu_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/ternary_kernels.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/device/gpu_grouped.h"
#include "ternary/device/gpu_layout.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

constexpr std::uint64_t kPlaceAlignment = 256;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

std::unexpected<Error> wrong_bytes(const char* what, std::uint64_t expected, std::uint64_t given) {
  return fail(ErrorKind::wrong_size, std::string(what) + " take " + std::to_string(expected) +
                                         " bytes, not " + std::to_string(given));
}

Result<void> check_addend(const GpuOutput::Addend& addend, std::int64_t count, const char* what) {
  if (addend.memory.bytes == 0) return {};
  TRY(check_type(addend.type));
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * bytes_of(addend.type);
  if (addend.memory.bytes != bytes) return wrong_bytes(what, bytes, addend.memory.bytes);
  if (addend.memory.address % bytes_of(addend.type) != 0)
    return fail(ErrorKind::wrong_size, std::string(what) + " is not aligned to an element");
  return {};
}

const GpuProduct& product_of(const DeviceInfo& device, const GpuWeights& weights,
                             std::int64_t rows) {
  return weights.view().group != 0 ? grouped_product() : product_for(device, weights.shape(), rows);
}

// Codes of rows of activations, what is known of each row, and for matrix products the codes once
// more in tiles.
struct ActivationRoom {
  std::uint32_t padded_rows, stride;
  std::uint64_t rows_at, tiles_at, bytes;
};
ActivationRoom room_for(const DeviceInfo& info, std::int64_t rows, std::int64_t cols) {
  ActivationRoom room{};
  room.padded_rows = static_cast<std::uint32_t>(
      tiles_of(static_cast<std::uint64_t>(rows), kGpuRowPadding) * kGpuRowPadding);
  room.stride =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(cols), kTileCols) * kTileCols);
  room.rows_at = aligned(std::uint64_t{room.padded_rows} * room.stride);
  room.tiles_at = room.rows_at + aligned(room.padded_rows * sizeof(GpuActivationRow));
  const bool matrix = rows >= kMatrixRows && gemm_kernel_of(info);
  room.bytes = room.tiles_at + (matrix ? gemm_tiles_bytes(rows, cols) : 0);
  return room;
}

}  // namespace

Error device_error(const Device& device, const Error& error) {
  if (device.lost()) return {ErrorKind::device_lost, error.message};
  if (device.fault_of(error) == DeviceFault::out_of_memory)
    return {ErrorKind::device_memory, error.message};
  if (error.kind == ErrorKind::unsupported) return {ErrorKind::unsupported_tier, error.message};
  return {ErrorKind::device, error.message};
}

Result<GpuEngine> GpuEngine::create(Device& device) {
  const std::string& executor = device.info().executor;
  if (executor != "cuda" && executor != "vulkan")
    return fail(ErrorKind::no_device, "the ternary kernels are not made for " + executor);
  for (const Kernel* kernel : {&kTernaryActivations, &kTernaryGemv1})
    if (auto ready = device.prepare(*kernel); !ready)
      return std::unexpected(device_error(device, ready.error()));
  return GpuEngine(device);
}

// As a GPU keeps them: panels of 16 rows are row tiles.
struct GpuEngine::HostWeights {
  Shape shape;
  std::int64_t group = 0;
  std::vector<std::uint32_t> tiles;
  std::vector<float> scales, group_scales;
  float greatest_scale = 0;

  // Rows that have a scale each can stand among others: as their packing has them, with 1 for each
  // group.
  Result<void> append(const PackedWeights& weights) {
    const detail::CpuWeights& own = weights.cpu();
    if (own.group != group && (own.group != 0 || shape.cols > kMostExactCols))
      return fail(ErrorKind::wrong_size,
                  "weights with scales by other groups cannot follow others");
    if (own.shape.cols != shape.cols || shape.rows % kTileRows != 0)
      return fail(ErrorKind::wrong_size, "weights of " + to_text(own.shape) +
                                             " cannot follow others of " + to_text(shape));
    shape.rows += own.shape.rows;
    auto more = gpu_tiles(weights);
    if (tiles.empty())
      tiles = std::move(more);
    else
      tiles.insert(tiles.end(), more.begin(), more.end());
    scales.insert(scales.end(), own.scales.begin(), own.scales.end());
    group_scales.insert(group_scales.end(), own.group_scales.begin(), own.group_scales.end());
    if (own.group != group) {
      const std::uint64_t groups =
          tiles_of(static_cast<std::uint64_t>(shape.cols), static_cast<std::uint64_t>(group));
      group_scales.resize(group_scales.size() + own.panels * groups * kTileRows, 1.0f);
    }
    greatest_scale = std::max(greatest_scale, own.greatest_scale);
    return {};
  }
};

Result<GpuWeights> GpuEngine::load(const PackedWeights& weights) {
  const PackedWeights* const one = &weights;
  return load(std::span(&one, 1));
}

Result<GpuWeights> GpuEngine::load(const Codes& codes) {
  auto packed = PackedWeights::pack(codes);  // checks all
  if (!packed) return std::unexpected(packed.error());
  return load(*packed);
}

Result<GpuWeights> GpuEngine::load(std::span<const PackedWeights* const> stacked) {
  if (stacked.empty()) return fail(ErrorKind::wrong_size, "there are no weights to load");
  HostWeights all;
  all.shape.cols = stacked[0]->shape().cols;
  for (const PackedWeights* weights : stacked)
    if (all.group == 0) all.group = weights->scale_group();
  for (const PackedWeights* weights : stacked) TRY(all.append(*weights));
  return load(all);
}

Result<GpuWeights> GpuEngine::load(const HostWeights& weights) {
  if (weights.group != 0 && device_->info().executor != "cuda")
    return fail(ErrorKind::unsupported_tier, "the kernels for " + device_->info().executor +
                                                 " do not multiply weights with scales by group");
  // The kernels count rows in 32 bits.
  const Shape shape = weights.shape;
  if (shape.rows > std::int64_t{1} << 31)
    return fail(ErrorKind::too_large, "weights of " + to_text(shape) + " have too many rows");
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(weights.tiles)),
                                              std::as_bytes(std::span(weights.scales)),
                                              std::as_bytes(std::span(weights.group_scales))};
  std::uint64_t bytes = 0;
  for (const auto& part : parts) bytes += aligned(part.size());
  auto memory = DeviceBuffer::make(*device_, bytes);
  if (!memory) return std::unexpected(device_error(*device_, memory.error()));
  GpuWeightsView view;
  view.tiles = memory->address();
  view.scales = view.tiles + aligned(parts[0].size());
  view.group_scales = view.scales + aligned(parts[1].size());
  view.shape = shape;
  view.row_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(shape.rows), kTileRows));
  view.col_tiles =
      static_cast<std::uint32_t>(tiles_of(static_cast<std::uint64_t>(shape.cols), kTileCols));
  view.group = static_cast<std::uint32_t>(weights.group);
  view.greatest_scale = weights.greatest_scale;
  view.tiny_scales = std::ranges::any_of(weights.group_scales, [](float scale) {
    return scale != 0 && std::fabs(scale) < kLeastWgmmaScale;
  });
  // Any number of rows may follow, also while a graph is captured.
  if (weights.group != 0) TRY(prepare_grouped());
  Result<void> done;
  DeviceAddress to = view.tiles;
  for (const auto& part : parts) {
    if (done && !part.empty()) done = device_->copy_to_device({}, to, part.data(), part.size());
    to += aligned(part.size());
  }
  if (done) done = device_->synchronize({});
  if (!done) return std::unexpected(device_error(*device_, done.error()));
  return GpuWeights(std::move(*memory), view);
}

Result<GpuActivations> GpuEngine::allocate_activations(std::int64_t rows, std::int64_t cols) {
  TRY(elements({rows, cols}));
  if (cols > kMostCols || rows > std::int64_t{1} << 31)
    return fail(ErrorKind::too_large,
                "activations of " + to_text(Shape{rows, cols}) + " are too large");
  const ActivationRoom room = room_for(device_->info(), rows, cols);
  auto memory = DeviceBuffer::make(*device_, room.bytes);
  if (!memory) return std::unexpected(device_error(*device_, memory.error()));
  GpuActivationsView view;
  view.capacity_rows = rows;
  view.cols = cols;
  view.padded_rows = room.padded_rows;
  view.stride = room.stride;
  view.codes = memory->address();
  view.rows = memory->address() + room.rows_at;
  if (room.tiles_at < room.bytes) view.tiles = memory->address() + room.tiles_at;
  return GpuActivations(std::move(*memory), view);
}

std::uint64_t GpuEngine::activation_bytes(std::int64_t rows, std::int64_t cols) const {
  return room_for(device_->info(), rows, cols).bytes;
}

Result<void> GpuEngine::prepare_grouped() {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}, kMatrixRows})
    if (auto ready = grouped_product().prepare(*device_, {}, rows); !ready)
      return std::unexpected(device_error(*device_, ready.error()));
  return {};
}

Result<void> GpuEngine::prepare(Shape weights, std::int64_t rows) {
  const GpuProduct& chosen = product_for(device_->info(), weights, rows);
  if (auto ready = chosen.prepare(*device_, weights, rows); !ready)
    return std::unexpected(device_error(*device_, ready.error()));
  return {};
}

std::string_view GpuEngine::kernel_for(Shape weights, std::int64_t rows) const {
  return product_for(device_->info(), weights, rows).name;
}

std::uint64_t GpuEngine::workspace_bytes(Shape weights, std::int64_t rows) const {
  const GpuProduct& chosen = product_for(device_->info(), weights, rows);
  return chosen.workspace_bytes(device_->info(), weights, rows);
}

Result<void> GpuEngine::check_call(const Product& product, const GpuProduct& chosen) const {
  const Shape shape = product.weights->shape();
  TRY(check_cols(shape, product.activations->cols()));
  if (product.rows < 1 || product.rows > product.activations->capacity_rows())
    return fail(ErrorKind::wrong_size, std::to_string(product.rows) +
                                           " rows of activations are not in room for " +
                                           std::to_string(product.activations->capacity_rows()));
  TRY(check_output(product.weights->view().group, product.out.type == OutputType::int32));
  const std::uint64_t out_bytes = static_cast<std::uint64_t>(product.rows) *
                                  static_cast<std::uint64_t>(shape.rows) *
                                  element_bytes(product.out.type);
  if (product.out.memory.bytes != out_bytes)
    return wrong_bytes("the products", out_bytes, product.out.memory.bytes);
  if (product.out.memory.address % element_bytes(product.out.type) != 0)
    return fail(ErrorKind::wrong_size, "the products' place is not aligned to an element");
  const bool cuda = device_->info().executor == "cuda";
  if (!cuda && (product.out.type == OutputType::f16 || product.out.adds()))
    return fail(ErrorKind::unsupported_tier, "the kernels for " + device_->info().executor +
                                                 " have no f16 output, and add nothing");
  TRY(check_addend(product.out.bias, shape.rows, "the bias"));
  TRY(check_addend(product.out.residual, product.rows * shape.rows, "the residual"));
  const auto apart = [&](const AddressRange& added, bool may_be_out, const char* name) {
    return check_apart(product.out.memory.address, out_bytes, added.address, added.bytes,
                       may_be_out, name);
  };
  TRY(apart(product.out.bias.memory, false, "bias"));
  TRY(apart(product.out.residual.memory, true, "residual"));
  if (product.out.type == OutputType::int32 && product.out.adds())
    return fail(ErrorKind::not_representable, "nothing is added to int32 products");
  const std::uint64_t needed = chosen.workspace_bytes(device_->info(), shape, product.rows);
  if (product.workspace.bytes < needed)
    return wrong_bytes("a workspace must", needed, product.workspace.bytes);
  // Kernels write 16 bytes at once, and a fault there would end the caller's whole context.
  if (needed > 0 && product.workspace.address % 16 != 0)
    return fail(ErrorKind::wrong_size, "the workspace does not begin at a multiple of 16 bytes");
  return {};
}

Result<void> GpuEngine::multiply(StreamId stream, const GpuWeights& weights, AddressRange values,
                                 FloatType type, const GpuActivations& activations,
                                 std::int64_t rows, GpuOutput out, AddressRange workspace) {
  const Product product{&weights, &activations, rows, out, workspace};
  const GpuProduct& chosen = product_of(device_->info(), weights, rows);
  TRY(check_call(product, chosen));
  if (!chosen.fuses || !chosen.fuses(device_->info(), weights.shape(), rows)) {
    TRY(quantise(stream, values, type, rows, activations));
    return multiply(stream, std::span(&product, 1));
  }
  TRY(check_values(values, type, rows, activations));
  const auto done = chosen.run({*device_,
                                stream,
                                weights.view(),
                                activations.view(),
                                rows,
                                out,
                                workspace,
                                {values.address, type}});
  if (!done) return std::unexpected(device_error(*device_, done.error()));
  return {};
}

Result<void> GpuEngine::multiply(StreamId stream, std::span<const Product> products) {
  for (const Product& product : products) {
    const GpuProduct& chosen = product_of(device_->info(), *product.weights, product.rows);
    TRY(check_call(product, chosen));
  }
  for (const Product& product : products) {
    const GpuProduct& chosen = product_of(device_->info(), *product.weights, product.rows);
    const auto done = chosen.run({*device_,
                                  stream,
                                  product.weights->view(),
                                  product.activations->view(),
                                  product.rows,
                                  product.out,
                                  product.workspace,
                                  {}});
    if (!done) return std::unexpected(device_error(*device_, done.error()));
  }
  return {};
}

Result<void> GpuEngine::multiply(StreamId stream, const GpuWeights& weights,
                                 const GpuActivations& activations, std::int64_t rows,
                                 GpuOutput out, AddressRange workspace) {
  const Product product{&weights, &activations, rows, out, workspace};
  return multiply(stream, std::span(&product, 1));
}

}  // namespace gpuready::ternary
