#include "ternary/device/gpu_backend.h"

#include <cstring>
#include <optional>

#include "device/cuda/cuda_device.h"
#include "device/memory_pool.h"
#include "device/vulkan/vulkan_device.h"
#include "ternary/device/gpu_engine.h"
#include "ternary/device/gpu_gemm.h"
#include "ternary/device/gpu_grouped.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

// What is not a larger goes by way of pinned memory, so that one wait serves a whole call.
constexpr std::uint64_t kStagingBytes = 1 << 20;

struct GpuBackendWeights final : BackendWeights {
  explicit GpuBackendWeights(GpuWeights w) : weights(std::move(w)) {}
  Shape shape() const override { return weights.shape(); }
  std::size_t bytes() const override { return weights.bytes(); }
  GpuWeights weights;
};

class GpuBackend final : public Backend {
 public:
  GpuBackend(std::unique_ptr<Device> device, GpuEngine engine)
      : device_(std::move(device)), engine_(std::move(engine)), pool_(*device_) {
    const DeviceInfo& info = device_->info();
    info_.kind = info.executor == "cuda" ? BackendKind::cuda : BackendKind::vulkan;
    info_.id = info.executor + ':' + info.uuid.value_or("");
    info_.name = info.name;
    info_.compute_capability = info.compute_capability;
  }
  ~GpuBackend() override {
    if (staging_) (void)device_->release_pinned(staging_);
  }
  Result<void> open() {
    auto stream = DeviceStream::make(*device_);
    if (!stream) return told(stream.error());
    stream_.emplace(std::move(*stream));
    auto staging = device_->allocate_pinned(3 * kStagingBytes);
    if (!staging) return told(staging.error());
    staging_ = static_cast<std::byte*>(*staging);
    return {};
  }

  const BackendInfo& info() const override { return info_; }
  Result<BackendMemory> memory() override {
    const auto memory = device_->memory();
    if (!memory) return told(memory.error());
    return BackendMemory{memory->free_bytes, memory->total_bytes};
  }
  std::string_view kernel_for(Shape weights, std::int64_t rows) const override {
    return engine_.kernel_for(weights, rows);
  }
  std::string_view grouped_kernel(Shape, std::int64_t) const override {
    return grouped_product().name;
  }
  std::uint64_t workspace_bytes(Shape weights, std::int64_t rows) const override;

  Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& weights) override {
    auto loaded = TRY(engine_.load(weights));
    return std::make_unique<GpuBackendWeights>(std::move(loaded));
  }
  Result<void> multiply(const BackendWeights& weights, const Activations& activations,
                        OutputView out) override;
  Result<void> multiply(const BackendWeights& weights, const FloatView& activations,
                        std::int64_t rows, OutputView out) override;
  Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                           const QuantiseOptions& options) override;

 private:
  std::unexpected<Error> told(const Error& error) const {
    return std::unexpected(device_error(*device_, error));
  }
  Result<void> told(const Result<void>& done) const {
    if (!done) return told(done.error());
    return {};
  }
  Result<PoolBlock> room(std::uint64_t bytes);
  Result<void> room_for_rows(std::int64_t rows, std::int64_t cols);
  Result<PoolBlock> room_for_out(Shape weights, std::int64_t rows, OutputView out);
  Result<PoolBlock> workspace_for(Shape weights, std::int64_t rows);
  // What is added, on the device; empty blocks where there is nothing.
  struct Placed {
    std::optional<PoolBlock> bias, residual;
    GpuOutput output;
  };
  Result<Placed> place(Shape weights, std::int64_t rows, AddressRange result,
                       const OutputView& out);
  Result<void> finish(const GpuWeights& weights, std::int64_t rows, AddressRange result,
                      OutputView out);

  std::unique_ptr<Device> device_;  // outlives what is below
  GpuEngine engine_;
  BackendInfo info_;
  std::optional<DeviceStream> stream_;
  std::byte* staging_ = nullptr;  // for values, for results and for what is known of rows
  DevicePool pool_;               // of what a call takes for its time
  std::optional<GpuActivations> activations_;  // kept from call to call, grown when one needs more
};

AddressRange range(const PoolBlock& block) { return {block.address(), block.bytes()}; }

std::uint64_t GpuBackend::workspace_bytes(Shape weights, std::int64_t rows) const {
  const auto m = static_cast<std::uint64_t>(rows), n = static_cast<std::uint64_t>(weights.rows),
             k = static_cast<std::uint64_t>(weights.cols);
  return 4 * m * k + engine_.activation_bytes(rows, weights.cols) + 4 * m * n +
         engine_.workspace_bytes(weights, rows) + 4 * (m + 1) * n;  // of what may be added
}

Result<PoolBlock> GpuBackend::room(std::uint64_t bytes) {
  auto block = pool_.allocate(bytes, stream_->id());
  if (!block) return told(block.error());
  return std::move(*block);
}

Result<void> GpuBackend::room_for_rows(std::int64_t rows, std::int64_t cols) {
  if (activations_ && activations_->cols() == cols && activations_->capacity_rows() >= rows)
    return {};
  activations_.reset();
  auto made = TRY(engine_.allocate_activations(rows, cols));
  activations_.emplace(std::move(made));
  return {};
}

Result<PoolBlock> GpuBackend::room_for_out(Shape weights, std::int64_t rows, OutputView out) {
  const std::uint64_t element = element_bytes(out.type);
  const auto count = TRY(elements({rows, weights.rows}));
  if (out.bytes.size() != count * element)
    return fail(ErrorKind::wrong_size, "the product is " + to_text(Shape{rows, weights.rows}) +
                                           ", not " + std::to_string(out.bytes.size() / element) +
                                           " elements");
  return room(out.bytes.size());
}

Result<PoolBlock> GpuBackend::workspace_for(Shape weights, std::int64_t rows) {
  return room(std::max<std::uint64_t>(engine_.workspace_bytes(weights, rows), 1));
}

Result<GpuBackend::Placed> GpuBackend::place(Shape weights, std::int64_t rows, AddressRange result,
                                             const OutputView& out) {
  TRY(check_addends(out.addends, static_cast<std::size_t>(rows),
                    static_cast<std::size_t>(weights.rows), out.bytes));
  Placed placed{{}, {}, {out.type, result}};
  const auto put = [&](const FloatView& view, std::optional<PoolBlock>& block,
                       GpuOutput::Addend& addend) -> Result<void> {
    if (view.bytes.empty()) return {};
    block = TRY(room(view.bytes.size()));
    addend = {{block->address(), view.bytes.size()}, view.type};
    return told(device_->copy_to_device(stream_->id(), block->address(), view.bytes.data(),
                                        view.bytes.size()));
  };
  TRY(put(out.addends.bias, placed.bias, placed.output.bias));
  TRY(put(out.addends.residual, placed.residual, placed.output.residual));
  return placed;
}

// From the product to the caller's memory. Nothing is written there before all is known to be
// finite.
Result<void> GpuBackend::finish(const GpuWeights& weights, std::int64_t rows, AddressRange result,
                                OutputView out) {
  const std::uint64_t known_bytes = static_cast<std::uint64_t>(rows) * sizeof(GpuActivationRow);
  const float greatest = out.type == OutputType::int32 ? 0 : weights.view().greatest_scale;
  if (result.bytes > kStagingBytes || known_bytes > kStagingBytes) {
    const GpuWeights* scaled = out.type == OutputType::int32 ? nullptr : &weights;
    TRY(engine_.check(stream_->id(), *activations_, rows, scaled));
    auto done =
        device_->copy_to_host(stream_->id(), out.bytes.data(), result.address, result.bytes);
    if (done) done = device_->synchronize(stream_->id());
    return told(done);
  }
  std::byte* const staged = staging_ + kStagingBytes;
  auto* const known = reinterpret_cast<GpuActivationRow*>(staging_ + 2 * kStagingBytes);
  auto done = device_->copy_to_host(stream_->id(), staged, result.address, result.bytes);
  if (done)
    done = device_->copy_to_host(stream_->id(), known, activations_->view().rows, known_bytes);
  if (done) done = device_->synchronize(stream_->id());
  if (!done) return told(done);
  TRY(check_activation_rows({known, static_cast<std::size_t>(rows)}, greatest));
  std::memcpy(out.bytes.data(), staged, result.bytes);
  return {};
}

Result<void> GpuBackend::multiply(const BackendWeights& weights, const Activations& activations,
                                  OutputView out) {
  const GpuWeights& loaded = static_cast<const GpuBackendWeights&>(weights).weights;
  TRY(check_cols(loaded.shape(), activations.cols()));
  const auto result = TRY(room_for_out(loaded.shape(), activations.rows(), out));
  TRY(room_for_rows(activations.rows(), activations.cols()));
  const auto workspace = TRY(workspace_for(loaded.shape(), activations.rows()));
  const auto placed = TRY(place(loaded.shape(), activations.rows(), range(result), out));
  TRY(engine_.upload(stream_->id(), activations, *activations_));
  TRY(engine_.multiply(stream_->id(), loaded, *activations_, activations.rows(), placed.output,
                       range(workspace)));
  return finish(loaded, activations.rows(), range(result), out);
}

Result<void> GpuBackend::multiply(const BackendWeights& weights, const FloatView& activations,
                                  std::int64_t rows, OutputView out) {
  const GpuWeights& loaded = static_cast<const GpuBackendWeights&>(weights).weights;
  const std::int64_t cols = loaded.shape().cols;
  const auto count = TRY(elements({rows, cols}));
  const std::uint64_t bytes = count * bytes_of(activations.type);
  if (activations.bytes.size() != bytes)
    return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of " + std::to_string(cols) +
                                           " activations need " + std::to_string(bytes) +
                                           " bytes, not " +
                                           std::to_string(activations.bytes.size()));
  const auto result = TRY(room_for_out(loaded.shape(), rows, out));
  const auto values = TRY(room(bytes));
  TRY(room_for_rows(rows, cols));
  const auto workspace = TRY(workspace_for(loaded.shape(), rows));
  const auto placed = TRY(place(loaded.shape(), rows, range(result), out));
  const void* source = activations.bytes.data();
  if (bytes <= kStagingBytes) source = std::memcpy(staging_, source, bytes);
  TRY(told(device_->copy_to_device(stream_->id(), values.address(), source, bytes)));
  TRY(engine_.multiply(stream_->id(), loaded, {values.address(), bytes}, activations.type,
                       *activations_, rows, placed.output, range(workspace)));
  return finish(loaded, rows, range(result), out);
}

Result<Encoded> GpuBackend::quantise(const FloatView& weights, Shape shape, FormatId to,
                                     const QuantiseOptions& options) {
  if (info_.kind != BackendKind::cuda)
    return fail(ErrorKind::unsupported_tier, "this device does not quantise weights");
  if (to != FormatId::i2s_x86 && to != FormatId::i2s_arm)
    return fail(ErrorKind::unsupported_tier,
                "this device does not quantise weights to " + std::string(format(to).name));
  const auto count = TRY(elements(shape));
  if (weights.bytes.size() != count * bytes_of(weights.type))
    return fail(weights.bytes.size() < count * bytes_of(weights.type) ? ErrorKind::truncated
                                                                      : ErrorKind::wrong_size,
                "weights of " + to_text(shape) + " take " +
                    std::to_string(count * bytes_of(weights.type)) + " bytes, not " +
                    std::to_string(weights.bytes.size()));
  const auto size = TRY(encoded_bytes(to, shape));
  const auto values = TRY(room(weights.bytes.size()));
  const auto out = TRY(room(size));
  const auto bad = TRY(room(8));
  TRY(told(device_->copy_to_device(stream_->id(), values.address(), weights.bytes.data(),
                                   weights.bytes.size())));
  TRY(engine_.quantise_weights(stream_->id(), range(values), weights.type, shape, to, range(out),
                               range(bad), options.rule));
  Encoded encoded;
  encoded.format = to;
  encoded.shape = shape;
  encoded.bytes.resize(size);
  std::uint64_t first_bad = 0;
  auto done = device_->copy_to_host(stream_->id(), encoded.bytes.data(), out.address(), size);
  if (done)
    done = device_->copy_to_host(stream_->id(), &first_bad, bad.address(), sizeof first_bad);
  if (done) done = device_->synchronize(stream_->id());
  if (!done) return told(done.error());
  if (first_bad != ~std::uint64_t{0})
    return fail(ErrorKind::not_finite,
                "weight " + std::to_string(first_bad) + " is NaN or infinite");
  return encoded;
}

Result<std::unique_ptr<Backend>> opened(Result<std::unique_ptr<Device>> device) {
  if (!device) return fail(ErrorKind::no_device, device.error().message);
  return make_gpu_backend(std::move(*device));
}

}  // namespace

Result<std::unique_ptr<Backend>> make_gpu_backend(std::unique_ptr<Device> device) {
  auto engine = TRY(GpuEngine::create(*device));
  auto backend = std::make_unique<GpuBackend>(std::move(device), std::move(engine));
  TRY(backend->open());
  return backend;
}

Result<std::unique_ptr<Backend>> make_cuda_backend(std::string_view uuid) {
  return opened(open_cuda_device(uuid));
}

Result<std::unique_ptr<Backend>> make_vulkan_backend(std::string_view uuid) {
  return opened(open_vulkan_device(uuid));
}

}  // namespace gpuready::ternary
