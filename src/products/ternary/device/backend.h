// What multiplies: a CPU's engine or a GPU's, as the device-aware layer sees them. Host memory goes
// in and comes out, and a call is complete when it returns; work that stays on a GPU, with streams
// and graphs, is the GPU engine's own interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpuready/ternary.h"

namespace gpuready::ternary {

enum class BackendKind { cpu, cuda, vulkan };
std::string_view to_string(BackendKind kind);

struct BackendInfo {
  BackendKind kind = BackendKind::cpu;
  std::string id;                         // "cpu", "cuda:GPU-6fc1..."
  std::string name;                       // "NVIDIA H200"
  std::optional<int> compute_capability;  // 90 for 9.0
};

struct BackendMemory {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};

// Where results go: exactly M * N elements, row-major.
enum class OutputType { int32, f32, bf16, f16 };
constexpr std::size_t element_bytes(OutputType type) {
  return type == OutputType::int32 || type == OutputType::f32 ? 4 : 2;
}
constexpr OutputType output_of(FloatType type) {
  return type == FloatType::f32   ? OutputType::f32
         : type == FloatType::f16 ? OutputType::f16
                                  : OutputType::bf16;
}
struct OutputView {
  OutputType type = OutputType::f32;
  std::span<std::byte> bytes;  // aligned as the type wants
  Addends addends;             // not of int32
  OutputView(std::span<std::int32_t> o)
      : type(OutputType::int32), bytes(std::as_writable_bytes(o)) {}
  OutputView(std::span<float> o) : type(OutputType::f32), bytes(std::as_writable_bytes(o)) {}
  // bf16 bits.
  OutputView(std::span<std::uint16_t> o)
      : type(OutputType::bf16), bytes(std::as_writable_bytes(o)) {}
  OutputView(OutputType t, std::span<std::byte> b, const Addends& a = {})
      : type(t), bytes(b), addends(a) {}
  bool adds() const { return !addends.bias.bytes.empty() || !addends.residual.bytes.empty(); }
};

// Weights where a backend keeps them; only that backend may be given them, while it lives.
class BackendWeights {
 public:
  virtual ~BackendWeights() = default;
  virtual Shape shape() const = 0;
  virtual std::size_t bytes() const = 0;  // of the backend's memory
};

// Not for several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendInfo& info() const = 0;
  virtual Result<BackendMemory> memory() = 0;
  // The kernel that a product of this many activation rows takes: "avx512-vnni", "dp4a-gemv".
  virtual std::string_view kernel_for(Shape weights, std::int64_t rows) const = 0;
  // The same of weights with scales by group.
  virtual std::string_view grouped_kernel(Shape weights, std::int64_t rows) const {
    return kernel_for(weights, rows);
  }
  // Device memory that a product of this many rows takes beside the weights.
  virtual std::uint64_t workspace_bytes(Shape weights, std::int64_t rows) const = 0;

  virtual Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& weights) = 0;
  // Values are quantised a row each as Activations::quantise() does; M = activations.rows().
  virtual Result<void> multiply(const BackendWeights& weights, const Activations& activations,
                                OutputView out) = 0;
  virtual Result<void> multiply(const BackendWeights& weights, const FloatView& activations,
                                std::int64_t rows, OutputView out) = 0;
  // As gpuready::ternary::quantise(), the same bytes.
  virtual Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                                   const QuantiseOptions& options) = 0;
};

}  // namespace gpuready::ternary
