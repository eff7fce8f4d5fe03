// Ternary products on a caller's CUDA context and streams: device memory in, device memory out,
// asynchronous, the same bits as CpuEngine. No CUDA header is needed: a stream is a CUstream or a
// cudaStream_t (they are the same pointer), an address is what cudaMalloc() or a tensor's
// data_ptr() returned.
//
//   auto engine = CudaEngine::create();                             // on this thread's context
//   auto weights = engine->load(packed);                            // N x K; or several, stacked
//   auto room = engine->make_activations(most_rows, weights->shape().cols);
//   engine->prepare(weights->shape(), rows);
//   engine->multiply(stream, *weights, {x, FloatType::bf16, x_bytes}, *room, rows,
//                    {y, CudaOutput::bf16, y_bytes}, {workspace, workspace_bytes});
//
// multiply() and quantise() check all sizes and then only launch kernels on the stream: they wait
// for no stream, allocate nothing and copy nothing, so that a CUDA graph may capture them once
// prepare() has loaded the code. All else may allocate and wait, and belongs outside a capture;
// that includes the end of the last copy of weights and activations.
//
// Every function may be called from any thread, whatever its current context is, and leaves that as
// it was. Calls on one engine that launch follow each other, and so do those that take memory or
// wait for the device (load(), make_activations(), check(), and the end of a last copy); these hold
// up no launch. prepare() does while it loads code. Work on one activation room must follow each
// other: on one stream, or ordered by events. Work that is queued, and a captured graph, use the
// engine, its weights and its rooms: keep them until it has ended. The context must outlive the
// engine and all that it made. In a process that was forked later each call that needs the driver
// is an `unsupported` error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "gpuready/ternary.h"

namespace gpuready::ternary {
namespace detail {
struct CudaState;
struct CudaLoaded;
struct CudaRoom;
}  // namespace detail

inline namespace v0 {

using CudaStream = void*;  // null: the legacy default stream

struct CudaOptions {
  void* context = nullptr;  // a CUcontext; null: the calling thread's current one
};

// Memory of the device.
struct CudaMemory {
  void* address = nullptr;
  std::size_t bytes = 0;
};
// Rows of activations, [rows][cols], at an address that is a multiple of 4.
struct CudaValues {
  const void* address = nullptr;
  FloatType type = FloatType::f32;
  std::size_t bytes = 0;  // exactly as many as the rows take
};
// Where products go, [rows][N].
enum class CudaOutput { int32, f32, bf16, f16 };
struct CudaTarget {
  void* address = nullptr;
  CudaOutput type = CudaOutput::f32;
  std::size_t bytes = 0;  // exactly as many as the products take
  // What is added before values are rounded to the type, as CpuEngine::multiply() has it; not to
  // int32. [N], and [rows][N], which may be the target itself. None where the address is null;
  // else one that is a multiple of an element.
  CudaValues bias = {}, residual = {};
};

// Weights on the device. Immutable, cheap to copy, shared between threads; the last copy gives the
// memory back.
class CudaWeights {
 public:
  Shape shape() const;
  std::size_t bytes() const;  // of the device's memory

 private:
  friend class CudaEngine;
  explicit CudaWeights(std::shared_ptr<detail::CudaLoaded> loaded) : loaded_(std::move(loaded)) {}
  std::shared_ptr<detail::CudaLoaded> loaded_;
};

// Room for quantised activations, used again and again: quantise once, multiply often.
class CudaActivations {
 public:
  std::int64_t capacity_rows() const;
  std::int64_t cols() const;
  std::size_t bytes() const;

 private:
  friend class CudaEngine;
  explicit CudaActivations(std::shared_ptr<detail::CudaRoom> room) : room_(std::move(room)) {}
  std::shared_ptr<detail::CudaRoom> room_;
};

// Rows of one expert, in a grouped product.
struct CudaGroup {
  const CudaWeights* weights = nullptr;
  std::int64_t rows = 0;  // 0: none of its own
  CudaValues bias = {};   // added to its products; the target has none then
};

class CudaEngine {
 public:
  // Errors: no_device and device where the driver does not start; bad_input where there is no
  // context.
  static Result<CudaEngine> create(const CudaOptions& options = {});

  std::string_view device_name() const;  // "NVIDIA H200"
  std::string_view device_uuid() const;  // "GPU-6fc1..."

  // Complete when it returns. Weights with scales by group have no int32 products.
  Result<CudaWeights> load(const PackedWeights& weights) const;
  // Weights that meet the same activations (of Q, K and V; of gate and up), as one whose rows
  // follow each other: one launch makes all their products, with the bits of each weights' own. All
  // but the last need rows in whole sixteens. Scales are by row, and by groups of one size; with
  // groups among them, there are no int32 products, and at most 131072 columns.
  Result<CudaWeights> load(std::span<const PackedWeights> stacked) const;
  Result<CudaActivations> make_activations(std::int64_t rows, std::int64_t cols) const;

  // What a product of this many rows needs beside its operands; 0 for most shapes. It begins at a
  // multiple of 16, and its content means nothing between products, so that one serves all of a
  // stream.
  Result<std::size_t> workspace_bytes(Shape weights, std::int64_t rows) const;
  // Loads the code for such a product; without it the first one does, which a capture forbids.
  Result<void> prepare(Shape weights, std::int64_t rows) const;
  // "int8-wgmma"
  Result<std::string_view> kernel_for(Shape weights, std::int64_t rows) const;

  // As Activations::quantise(). Only check() reports a row with NaN or infinity; its products
  // are NaN in f32 and bf16, and 0 in int32. A step times a scale beyond f32 gives infinity.
  Result<void> quantise(CudaStream stream, const CudaValues& values, const CudaActivations& into,
                        std::int64_t rows) const;
  // Of the first `rows` rows that were quantised.
  Result<void> multiply(CudaStream stream, const CudaWeights& weights,
                        const CudaActivations& activations, std::int64_t rows,
                        const CudaTarget& out, const CudaMemory& workspace = {}) const;
  // quantise() and multiply(), by one kernel where that is quicker; the content of `room`
  // afterwards is undefined.
  Result<void> multiply(CudaStream stream, const CudaWeights& weights, const CudaValues& values,
                        const CudaActivations& room, std::int64_t rows, const CudaTarget& out,
                        const CudaMemory& workspace = {}) const;
  // Rows of activations that are sorted by expert: the first groups[0].rows meet groups[0].weights,
  // and so on. All weights have one shape. `room` holds the largest group; the workspace suffices
  // for each. A launch or two a group that has rows; check() then knows only the last one.
  Result<void> multiply_grouped(CudaStream stream, std::span<const CudaGroup> groups,
                                const CudaValues& values, const CudaActivations& room,
                                const CudaTarget& out, const CudaMemory& workspace = {}) const;

  // Waits for the stream; not_finite for the first of the rows that holds a NaN or an infinity.
  Result<void> check(CudaStream stream, const CudaActivations& activations,
                     std::int64_t rows) const;

 private:
  explicit CudaEngine(std::shared_ptr<detail::CudaState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::CudaState> state_;
};

}  // namespace v0
}  // namespace gpuready::ternary
