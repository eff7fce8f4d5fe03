// A GPU's backend for tests: multiplies through the CPU, and fails when it is told to.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "ternary/device/cpu_backend.h"
#include "ternary/device/engine_parts.h"

namespace gpuready::ternary {

// What a test sees and changes while the engine owns the backend.
struct FakeGpuControl {
  std::deque<ErrorKind> errors;      // of the next calls, one each
  std::optional<ErrorKind> always;   // of every call
  std::optional<ErrorKind> on_load;  // of load()
  BackendMemory memory{std::uint64_t{1} << 30, std::uint64_t{2} << 30};
  std::uint64_t workspace_a_row = 1024;
  std::int64_t most_rows = 1 << 30;  // device_memory for more in one call
  int calls = 0, loads = 0, alive = 0;
  std::vector<std::int64_t> rows;                       // of each product
  std::function<void(OutputView)> spoil = [](auto) {};  // after each product
};

class FakeGpu final : public Backend {
 public:
  explicit FakeGpu(std::shared_ptr<FakeGpuControl> control, std::string id = "GPU-fake",
                   BackendKind kind = BackendKind::cuda)
      : control_(std::move(control)), cpu_(*make_cpu_backend({{}, false, 1})) {
    info_ = {kind, std::string(to_string(kind)) + ":" + id, "Test double", 90};
  }

  const BackendInfo& info() const override { return info_; }
  Result<BackendMemory> memory() override { return control_->memory; }
  std::string_view kernel_for(Shape, std::int64_t rows) const override {
    return rows == 1 ? "fake-gemv" : "fake-gemm";
  }
  std::string_view grouped_kernel(Shape, std::int64_t) const override { return "fake-grouped"; }
  std::uint64_t workspace_bytes(Shape, std::int64_t rows) const override {
    return control_->workspace_a_row * static_cast<std::uint64_t>(rows);
  }
  Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& weights) override {
    ++control_->loads;
    if (control_->on_load) return failure(*control_->on_load);
    return std::make_unique<Weights>(control_, *cpu_->load(weights));
  }
  Result<void> multiply(const BackendWeights& weights, const Activations& activations,
                        OutputView out) override {
    if (auto good = call(activations.rows()); !good) return good;
    auto done = cpu_->multiply(*static_cast<const Weights&>(weights).inner, activations, out);
    control_->spoil(out);
    return done;
  }
  Result<void> multiply(const BackendWeights& weights, const FloatView& values, std::int64_t rows,
                        OutputView out) override {
    if (auto good = call(rows); !good) return good;
    auto done = cpu_->multiply(*static_cast<const Weights&>(weights).inner, values, rows, out);
    control_->spoil(out);
    return done;
  }
  Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                           const QuantiseOptions& options) override {
    if (auto good = call(0); !good) return std::unexpected(good.error());
    return cpu_->quantise(weights, shape, to, options);
  }

 private:
  struct Weights final : BackendWeights {
    Weights(std::shared_ptr<FakeGpuControl> c, std::unique_ptr<BackendWeights> w)
        : control(std::move(c)), inner(std::move(w)) {
      ++control->alive;
    }
    ~Weights() override { --control->alive; }
    Shape shape() const override { return inner->shape(); }
    std::size_t bytes() const override { return inner->bytes(); }
    std::shared_ptr<FakeGpuControl> control;
    std::unique_ptr<BackendWeights> inner;
  };

  static std::unexpected<Error> failure(ErrorKind kind) {
    return std::unexpected(Error{kind, "told to fail: " + std::string(to_string(kind))});
  }
  Result<void> call(std::int64_t rows) {
    ++control_->calls;
    if (!control_->errors.empty()) {
      const ErrorKind kind = control_->errors.front();
      control_->errors.pop_front();
      return failure(kind);
    }
    if (control_->always) return failure(*control_->always);
    if (rows > control_->most_rows) return failure(ErrorKind::device_memory);
    if (rows > 0) control_->rows.push_back(rows);
    return {};
  }

  std::shared_ptr<FakeGpuControl> control_;
  std::unique_ptr<Backend> cpu_;
  BackendInfo info_;
};

inline EngineParts parts_with(std::shared_ptr<FakeGpuControl> control) {
  EngineParts parts;
  parts.cpu = *make_cpu_backend({{}, false, 1});
  parts.gpu = std::make_unique<FakeGpu>(std::move(control));
  return parts;
}

}  // namespace gpuready::ternary
