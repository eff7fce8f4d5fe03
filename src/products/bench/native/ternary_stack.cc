// The task ternary by our ternary kernels. Its activations lose nothing in int8, so that products
// are exact and the digest is that of a dense product.
#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "bench/native/gpu_stack.h"
#include "bench/native/host_stack.h"
#include "bench/native/narrow.h"
#include "ternary/device/gpu_engine.h"

namespace gpuready::bench {
namespace {

using ternary::FloatType;

// Outputs of FP16 are made as FP32: ternary kernels write FP32 and BF16.
Dtype output_dtype(const Request& r) { return r.dtype == Dtype::bf16 ? Dtype::bf16 : Dtype::fp32; }
FloatType value_type(const Request& r) {
  return r.dtype == Dtype::bf16   ? FloatType::bf16
         : r.dtype == Dtype::fp16 ? FloatType::f16
                                  : FloatType::f32;
}

Result<ternary::PackedWeights> pack(const Request& r, const Input& weights) {
  ternary::Codes codes;
  codes.shape = {static_cast<std::int64_t>(r.n), static_cast<std::int64_t>(r.k)};
  codes.scales = {1.0f};
  codes.values.assign(weights.values.begin(), weights.values.end());
  return ternary::PackedWeights::pack(codes);
}

std::vector<std::string> notes_of(const Request& r, std::string_view kernel) {
  std::vector<std::string> notes = {fmt::format(
      "kernel {}: activations are quantised to int8 in each iteration, weights hold 2 bits",
      kernel)};
  if (r.dtype == Dtype::fp16) notes.emplace_back("outputs are FP32");
  return notes;
}

class TernaryCpuStack final : public HostStack {
 public:
  TernaryCpuStack(const Request& request, ternary::CpuEngine engine, ternary::PackedWeights weights,
                  const Input& x)
      : r_(request),
        engine_(std::move(engine)),
        weights_(std::move(weights)),
        values_(narrowed(x.values, request.dtype)),
        y_(r_.m * r_.n * bytes_of(output_dtype(r_))) {
    facts.device_name = fmt::format("CPU, {} threads", engine_.threads());
    facts.notes = notes_of(r_, to_string(engine_.tier()));
  }

  Result<std::vector<Output>> outputs() override {
    return std::vector<Output>{{r_.m, r_.n, widened(y_, output_dtype(r_))}};
  }

 private:
  template <class T>
  std::span<T> y_as() {
    return {reinterpret_cast<T*>(y_.data()), y_.size() / sizeof(T)};
  }
  Result<void> iterate() override {
    const auto activations =
        TRY(engine_.quantise({value_type(r_), std::as_bytes(std::span(values_))},
                             static_cast<std::int64_t>(r_.m), static_cast<std::int64_t>(r_.k)));
    if (output_dtype(r_) == Dtype::bf16)
      return engine_.multiply_bf16(weights_, activations, y_as<std::uint16_t>());
    return engine_.multiply(weights_, activations, y_as<float>());
  }

  const Request r_;
  ternary::CpuEngine engine_;
  ternary::PackedWeights weights_;
  std::vector<unsigned char> values_, y_;
};

class TernaryGpuStack final : public GpuStack {
 public:
  TernaryGpuStack(const Request& request, std::unique_ptr<Device> device)
      : GpuStack(request, std::move(device)) {}

  Result<void> open(const ternary::PackedWeights& weights, const Input& x) {
    TRY(start());
    engine_.emplace(TRY(ternary::GpuEngine::create(*device_)));
    weights_.emplace(TRY(engine_->load(weights)));
    activations_.emplace(TRY(engine_->allocate_activations(rows(), weights.shape().cols)));
    facts.peak_memory_bytes = weights_->bytes() + activations_->bytes();
    values_bytes_ = r_.m * r_.k * bytes_of(r_.dtype);
    values_ = TRY(place(x));
    y_bytes_ = r_.m * r_.n * bytes_of(output_dtype(r_));
    y_ = TRY(allocate(y_bytes_));
    workspace_bytes_ = engine_->workspace_bytes(weights.shape(), rows());
    workspace_ = TRY(allocate(workspace_bytes_));
    TRY(engine_->prepare(weights.shape(), rows()));
    const auto notes = notes_of(r_, engine_->kernel_for(weights.shape(), rows()));
    facts.notes.insert(facts.notes.end(), notes.begin(), notes.end());
    TRY(choose_graph());
    return reserve_flush();
  }

  Result<std::vector<Output>> outputs() override {
    return std::vector<Output>{TRY(read(y_, r_.m, r_.n, output_dtype(r_)))};
  }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(r_.m); }

  Result<void> iterate() override {
    const auto type =
        output_dtype(r_) == Dtype::bf16 ? ternary::OutputType::bf16 : ternary::OutputType::f32;
    return engine_->multiply(stream(), *weights_, {values_, values_bytes_}, value_type(r_),
                             *activations_, rows(), {type, {y_, y_bytes_}},
                             {workspace_, workspace_bytes_});
  }

  std::optional<ternary::GpuEngine> engine_;
  std::optional<ternary::GpuWeights> weights_;
  std::optional<ternary::GpuActivations> activations_;
  DeviceAddress values_ = 0, y_ = 0, workspace_ = 0;
  std::uint64_t values_bytes_ = 0, y_bytes_ = 0, workspace_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<NativeStack>> open_ternary_stack(const Request& request) {
  if (request.dtype == Dtype::tf32)
    return fail(ErrorKind::unsupported, "gpuready's ternary kernels have no tf32");
  const auto inputs = inputs_of(request);
  const auto begun = Clock::now();
  auto weights = TRY(pack(request, inputs[1]));
  const double pack_ms = elapsed_ms(begun);
  std::unique_ptr<NativeStack> stack;
  if (request.device == "cpu") {
    stack = std::make_unique<TernaryCpuStack>(request, TRY(ternary::CpuEngine::create()),
                                              std::move(weights), inputs[0]);
  } else {
    auto on_gpu = std::make_unique<TernaryGpuStack>(request, TRY(open_gpu(request)));
    TRY(on_gpu->open(weights, inputs[0]));
    stack = std::move(on_gpu);
  }
  stack->facts.compile_ms = pack_ms;
  return stack;
}

}  // namespace gpuready::bench
