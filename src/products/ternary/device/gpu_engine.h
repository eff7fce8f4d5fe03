// Ternary products on a GPU (CUDA, Vulkan): the same bits as CpuEngine's. Weights and activations
// stay on the device behind handles; calls are asynchronous on a stream, check all sizes, allocate
// nothing and copy nothing, so that they can be captured into a graph. Handles must not outlive the
// device. Not for several threads at once.
#pragma once

#include <memory>
#include <vector>

#include "ternary/device/gpu_types.h"

namespace gpuready::ternary {

// An Error of the device, as the ternary library tells it.
Error device_error(const Device& device, const Error& error);

class GpuActivations;
// Whether `values` holds this many rows for `target`.
Result<void> check_values(AddressRange values, FloatType type, std::int64_t rows,
                          const GpuActivations& target);

// The first row that is not finite, or whose step times `greatest_scale` is not, as an error.
Result<void> check_activation_rows(std::span<const GpuActivationRow> rows, float greatest_scale);

class GpuWeights {
 public:
  Shape shape() const { return view_.shape; }
  std::size_t bytes() const { return memory_.bytes(); }
  const GpuWeightsView& view() const { return view_; }

 private:
  friend class GpuEngine;
  GpuWeights(DeviceBuffer memory, GpuWeightsView view) : memory_(std::move(memory)), view_(view) {}
  DeviceBuffer memory_;
  GpuWeightsView view_;
};

// Room for quantised activations, used again and again.
class GpuActivations {
 public:
  std::int64_t capacity_rows() const { return view_.capacity_rows; }
  std::int64_t cols() const { return view_.cols; }
  std::size_t bytes() const { return memory_.bytes(); }
  const GpuActivationsView& view() const { return view_; }

 private:
  friend class GpuEngine;
  GpuActivations(DeviceBuffer memory, GpuActivationsView view)
      : memory_(std::move(memory)), view_(view) {}
  DeviceBuffer memory_;
  GpuActivationsView view_;
};

class GpuEngine {
 public:
  // Fails with no_device for an executor that these kernels are not made for.
  static Result<GpuEngine> create(Device& device);
  // Only for memory and waiting, through another view of a device that has an engine: it loads no
  // code before it is asked to.
  static GpuEngine beside(Device& device) { return GpuEngine(device); }

  Device& device() const { return *device_; }

  // Complete when they return. From the packed form of the CPU, or from codes. Scales by group
  // (only CUDA) have f32 and bf16 products.
  Result<GpuWeights> load(const PackedWeights& weights);
  Result<GpuWeights> load(const Codes& codes);
  // Weights that meet the same activations, as one whose rows follow each other: one launch makes
  // all their products. All but the last must have whole tiles of rows (kTileRows).
  Result<GpuWeights> load(std::span<const PackedWeights* const> stacked);
  Result<GpuActivations> allocate_activations(std::int64_t rows, std::int64_t cols);
  // What that takes of the device's memory.
  std::uint64_t activation_bytes(std::int64_t rows, std::int64_t cols) const;

  // Loads the code for products with scales by group, of any number of rows.
  Result<void> prepare_grouped();
  // Loads the code for such a call; without it the first call does, which a capture forbids.
  Result<void> prepare(Shape weights, std::int64_t rows);
  std::string_view kernel_for(Shape weights, std::int64_t rows) const;
  std::uint64_t workspace_bytes(Shape weights, std::int64_t rows) const;

  // Asynchronous. `values` holds rows x cols on the device, as Activations::quantise() takes them.
  // NaN and infinity: check() tells them, and outputs of such rows other than int32 are NaN.
  Result<void> quantise(StreamId stream, AddressRange values, FloatType type, std::int64_t rows,
                        const GpuActivations& target);
  // From the host's; complete when it returns.
  Result<void> upload(StreamId stream, const Activations& activations,
                      const GpuActivations& target);
  // Waits, and tells the first of the `rows` rows that is not finite, or whose step times a scale
  // of the weights is not.
  Result<void> check(StreamId stream, const GpuActivations& activations, std::int64_t rows,
                     const GpuWeights* weights = nullptr);

  // Asynchronous: out[m * N + n] for the first `rows` rows of the activations.
  Result<void> multiply(StreamId stream, const GpuWeights& weights,
                        const GpuActivations& activations, std::int64_t rows, GpuOutput out,
                        AddressRange workspace = {});
  // As quantise() and multiply(), but in one kernel where that is quicker. check() then reports
  // the activations what it tells after quantise(); do not use their codes.
  Result<void> multiply(StreamId stream, const GpuWeights& weights, AddressRange values,
                        FloatType type, const GpuActivations& activations, std::int64_t rows,
                        GpuOutput out, AddressRange workspace = {});
  // Several products in the order given, for instance of one layer.
  struct Product {
    const GpuWeights* weights;
    const GpuActivations* activations;
    std::int64_t rows;
    GpuOutput out;
    AddressRange workspace;
  };
  Result<void> multiply(StreamId stream, std::span<const Product> products);

  // Asynchronous: the bytes that gpuready::ternary::quantise() gives for i2s_x86 and i2s_arm, of
  // weights on the device. `out` has encoded_bytes(); the first that is not finite goes, as a u64
  // index (all ones for none), to `bad`, 8 bytes.
  Result<void> quantise_weights(StreamId stream, AddressRange values, FloatType type, Shape shape,
                                FormatId to, AddressRange out, AddressRange bad,
                                Rule rule = Rule::of_format);

 private:
  explicit GpuEngine(Device& device) : device_(&device) {}
  Result<void> check_call(const Product& product, const GpuProduct& chosen) const;
  struct HostWeights;
  Result<GpuWeights> load(const HostWeights& weights);
  Device* device_;
};

}  // namespace gpuready::ternary
