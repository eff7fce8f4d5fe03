#include "ternary/device/cpu_backend.h"

#include <unistd.h>

#include <utility>

#include "base/result.h"

namespace gpuready::ternary {
namespace {

struct CpuBackendWeights final : BackendWeights {
  explicit CpuBackendWeights(PackedWeights w) : packed(std::move(w)) {}
  Shape shape() const override { return packed.shape(); }
  std::size_t bytes() const override { return packed.bytes(); }
  PackedWeights packed;
};

template <class T>
std::span<T> elements_of(const OutputView& out) {
  return {reinterpret_cast<T*>(out.bytes.data()), out.bytes.size() / sizeof(T)};
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(CpuEngine engine) : engine_(std::move(engine)) {}

  const BackendInfo& info() const override { return info_; }
  Result<BackendMemory> memory() override {
    const auto pages = [](int name) {
      const long count = sysconf(name);
      return count > 0 ? static_cast<std::uint64_t>(count) : 0;
    };
    const std::uint64_t page = pages(_SC_PAGESIZE);
    return BackendMemory{pages(_SC_AVPHYS_PAGES) * page, pages(_SC_PHYS_PAGES) * page};
  }
  std::string_view kernel_for(Shape, std::int64_t) const override {
    return to_string(engine_.tier());
  }
  std::uint64_t workspace_bytes(Shape, std::int64_t) const override { return 0; }

  Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& weights) override {
    return std::make_unique<CpuBackendWeights>(weights);  // shares them
  }
  Result<void> multiply(const BackendWeights& weights, const Activations& activations,
                        OutputView out) override {
    const PackedWeights& packed = static_cast<const CpuBackendWeights&>(weights).packed;
    switch (out.type) {
      case OutputType::int32:
        return engine_.multiply(packed, activations, elements_of<std::int32_t>(out));
      case OutputType::f32:
        return engine_.multiply(packed, activations, FloatType::f32, out.bytes, out.addends);
      case OutputType::bf16:
        return engine_.multiply(packed, activations, FloatType::bf16, out.bytes, out.addends);
      case OutputType::f16:
        return engine_.multiply(packed, activations, FloatType::f16, out.bytes, out.addends);
    }
    std::unreachable();
  }
  Result<void> multiply(const BackendWeights& weights, const FloatView& activations,
                        std::int64_t rows, OutputView out) override {
    const auto quantised = TRY(engine_.quantise(activations, rows, weights.shape().cols));
    return multiply(weights, quantised, out);
  }
  Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                           const QuantiseOptions& options) override {
    return ternary::quantise(weights, shape, to, options);
  }

 private:
  CpuEngine engine_;
  BackendInfo info_{BackendKind::cpu, "cpu", "CPU", {}};
};

}  // namespace

std::string_view to_string(BackendKind kind) {
  constexpr std::string_view kNames[] = {"cpu", "cuda", "vulkan"};
  return kNames[static_cast<int>(kind)];
}

Result<std::unique_ptr<Backend>> make_cpu_backend(const EngineOptions& options) {
  auto engine = TRY(CpuEngine::create(options));
  return make_cpu_backend(std::move(engine));
}

std::unique_ptr<Backend> make_cpu_backend(CpuEngine engine) {
  return std::make_unique<CpuBackend>(std::move(engine));
}

}  // namespace gpuready::ternary
