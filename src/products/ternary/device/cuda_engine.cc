// CudaEngine: GpuEngine on a borrowed context, for several threads.
#include "gpuready/ternary_cuda.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include "base/forks.h"
#include "base/result.h"
#include "device/cuda/cuda_device.h"
#include "ternary/device/gpu_engine.h"
#include "ternary/floats.h"
#include "ternary/packed.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace detail {

// A view of the context, for one thread at a time.
struct CudaSide {
  std::unique_ptr<Device> device;
  std::optional<GpuEngine> engine;
  std::mutex mutex;  // of both
};

// What launches, and what takes memory and waits for the device: so that no launch waits for that.
// Code is loaded by the side that launches it.
struct CudaState {
  CudaSide launches, waits;
  unsigned made_at_fork = fork_count();

  bool forked() const { return made_at_fork != fork_count(); }
  ~CudaState() {
    if (!forked()) return;
    (void)launches.device.release();  // a driver does not work in a forked process
    (void)waits.device.release();
  }
};

// Something of the device's memory, given back under the lock.
template <class Held>
struct CudaHeld {
  std::shared_ptr<CudaState> state;
  std::optional<Held> held;

  CudaHeld(std::shared_ptr<CudaState> s, Held h) : state(std::move(s)), held(std::move(h)) {}
  CudaHeld(const CudaHeld&) = delete;
  CudaHeld& operator=(const CudaHeld&) = delete;
  ~CudaHeld() {
    if (state->forked()) {
      (void)new (std::nothrow) Held(std::move(*held));
      return;
    }
    const std::lock_guard lock(state->waits.mutex);
    held.reset();
  }
};
struct CudaLoaded : CudaHeld<GpuWeights> {
  using CudaHeld::CudaHeld;
};
struct CudaRoom : CudaHeld<GpuActivations> {
  using CudaHeld::CudaHeld;
};

}  // namespace detail

namespace {

using detail::CudaState;

StreamId id_of(CudaStream stream) { return {std::bit_cast<std::uintptr_t>(stream)}; }
Result<AddressRange> range_of(const void* address, std::size_t bytes) {
  if (address == nullptr && bytes > 0)
    return fail(ErrorKind::bad_input, "a place of " + std::to_string(bytes) + " bytes is null");
  return AddressRange{std::bit_cast<std::uintptr_t>(address), bytes};
}
Result<GpuOutput::Addend> addend_of(const CudaValues& values) {
  TRY(check_type(values.type));
  return GpuOutput::Addend{TRY(range_of(values.address, values.bytes)), values.type};
}
Result<GpuOutput> output_of(const CudaTarget& out) {
  const auto type = static_cast<int>(out.type);
  if (type < 0 || type > static_cast<int>(CudaOutput::f16))
    return fail(ErrorKind::bad_input, "there is no output type " + std::to_string(type));
  return GpuOutput{static_cast<OutputType>(type), TRY(range_of(out.address, out.bytes)),
                   TRY(addend_of(out.bias)), TRY(addend_of(out.residual))};
}
static_assert(static_cast<int>(OutputType::int32) == static_cast<int>(CudaOutput::int32) &&
              static_cast<int>(OutputType::f32) == static_cast<int>(CudaOutput::f32) &&
              static_cast<int>(OutputType::bf16) == static_cast<int>(CudaOutput::bf16) &&
              static_cast<int>(OutputType::f16) == static_cast<int>(CudaOutput::f16));

// Runs `work(engine)` while nothing else runs on a side. What a call was given must be of the same
// engine's device.
template <class Work>
auto alone(CudaState& state, detail::CudaSide& side, const Work& work)
    -> decltype(work(*side.engine)) {
  if (state.forked())
    return fail(ErrorKind::unsupported,
                "this engine was made before the process forked; make one in the new process");
  try {
    const std::lock_guard lock(side.mutex);
    return work(*side.engine);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::too_large, "there is not enough host memory");
  } catch (const std::length_error&) {
    return fail(ErrorKind::too_large, "there is not enough host memory");
  }
}
template <class... Held>
Result<void> same_engine(const CudaState& state, const Held&... held) {
  if (((held.state.get() == &state) && ...)) return {};
  return fail(ErrorKind::bad_input, "the weights or activations are another engine's");
}

Result<void> check_product(Shape weights, std::int64_t rows) {
  TRY(elements(weights));
  TRY(elements({rows, weights.cols}));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (weights.rows > kMost || rows > kMost || weights.cols > kMostCols)
    return fail(ErrorKind::too_large, "a product of " + std::to_string(rows) +
                                          " rows with weights of " + to_text(weights) +
                                          " is too large");
  return {};
}

}  // namespace

Shape CudaWeights::shape() const { return loaded_->held->shape(); }
std::size_t CudaWeights::bytes() const { return loaded_->held->bytes(); }
std::int64_t CudaActivations::capacity_rows() const { return room_->held->capacity_rows(); }
std::int64_t CudaActivations::cols() const { return room_->held->cols(); }
std::size_t CudaActivations::bytes() const { return room_->held->bytes(); }

Result<CudaEngine> CudaEngine::create(const CudaOptions& options) {
  auto state = std::make_shared<CudaState>();
  state->launches.device = TRY(borrow_cuda_context(options.context));
  state->launches.engine.emplace(TRY(GpuEngine::create(*state->launches.device)));
  state->waits.device = TRY(borrow_cuda_context(options.context));
  state->waits.engine.emplace(GpuEngine::beside(*state->waits.device));
  return CudaEngine(std::move(state));
}

std::string_view CudaEngine::device_name() const { return state_->launches.device->info().name; }
std::string_view CudaEngine::device_uuid() const { return *state_->launches.device->info().uuid; }

Result<CudaWeights> CudaEngine::load(const PackedWeights& weights) const {
  return load(std::span(&weights, 1));
}

Result<CudaWeights> CudaEngine::load(std::span<const PackedWeights> stacked) const {
  auto loaded = TRY(alone(*state_, state_->waits, [&](GpuEngine& engine) -> Result<CudaWeights> {
    std::vector<const PackedWeights*> each;
    for (const PackedWeights& weights : stacked) each.push_back(&weights);
    return CudaWeights(std::make_shared<detail::CudaLoaded>(state_, TRY(engine.load(each))));
  }));
  if (loaded.loaded_->held->view().group != 0)
    TRY(alone(*state_, state_->launches,
              [&](GpuEngine& engine) { return engine.prepare_grouped(); }));
  return loaded;
}

Result<CudaActivations> CudaEngine::make_activations(std::int64_t rows, std::int64_t cols) const {
  return alone(*state_, state_->waits, [&](GpuEngine& engine) -> Result<CudaActivations> {
    auto room = TRY(engine.allocate_activations(rows, cols));
    return CudaActivations(std::make_shared<detail::CudaRoom>(state_, std::move(room)));
  });
}

Result<std::size_t> CudaEngine::workspace_bytes(Shape weights, std::int64_t rows) const {
  TRY(check_product(weights, rows));
  return state_->launches.engine->workspace_bytes(weights, rows);
}

Result<void> CudaEngine::prepare(Shape weights, std::int64_t rows) const {
  TRY(check_product(weights, rows));
  return alone(*state_, state_->launches,
               [&](GpuEngine& engine) { return engine.prepare(weights, rows); });
}

Result<std::string_view> CudaEngine::kernel_for(Shape weights, std::int64_t rows) const {
  TRY(check_product(weights, rows));
  return state_->launches.engine->kernel_for(weights, rows);
}

Result<void> CudaEngine::quantise(CudaStream stream, const CudaValues& values,
                                  const CudaActivations& into, std::int64_t rows) const {
  return alone(*state_, state_->launches, [&](GpuEngine& engine) -> Result<void> {
    TRY(same_engine(*state_, *into.room_));
    TRY(check_type(values.type));
    return engine.quantise(id_of(stream), TRY(range_of(values.address, values.bytes)), values.type,
                           rows, *into.room_->held);
  });
}

Result<void> CudaEngine::multiply(CudaStream stream, const CudaWeights& weights,
                                  const CudaActivations& activations, std::int64_t rows,
                                  const CudaTarget& out, const CudaMemory& workspace) const {
  return alone(*state_, state_->launches, [&](GpuEngine& engine) -> Result<void> {
    TRY(same_engine(*state_, *weights.loaded_, *activations.room_));
    return engine.multiply(id_of(stream), *weights.loaded_->held, *activations.room_->held, rows,
                           TRY(output_of(out)), TRY(range_of(workspace.address, workspace.bytes)));
  });
}

Result<void> CudaEngine::multiply(CudaStream stream, const CudaWeights& weights,
                                  const CudaValues& values, const CudaActivations& room,
                                  std::int64_t rows, const CudaTarget& out,
                                  const CudaMemory& workspace) const {
  return alone(*state_, state_->launches, [&](GpuEngine& engine) -> Result<void> {
    TRY(same_engine(*state_, *weights.loaded_, *room.room_));
    TRY(check_type(values.type));
    return engine.multiply(id_of(stream), *weights.loaded_->held,
                           TRY(range_of(values.address, values.bytes)), values.type,
                           *room.room_->held, rows, TRY(output_of(out)),
                           TRY(range_of(workspace.address, workspace.bytes)));
  });
}

Result<void> CudaEngine::multiply_grouped(CudaStream stream, std::span<const CudaGroup> groups,
                                          const CudaValues& values, const CudaActivations& room,
                                          const CudaTarget& out,
                                          const CudaMemory& workspace) const {
  return alone(*state_, state_->launches, [&](GpuEngine& engine) -> Result<void> {
    TRY(check_type(values.type));
    const GpuOutput all = TRY(output_of(out));
    // Everything is checked before anything is launched.
    Shape shape;
    std::int64_t rows = 0;
    for (const CudaGroup& group : groups) {
      if (group.weights == nullptr) return fail(ErrorKind::bad_input, "a group has no weights");
      TRY(same_engine(*state_, *group.weights->loaded_, *room.room_));
      if (&group == groups.data()) shape = group.weights->shape();
      if (group.weights->shape() != shape)
        return fail(ErrorKind::wrong_size, "weights of " + to_text(group.weights->shape()) +
                                               " are grouped with others of " + to_text(shape));
      TRY(check_output(group.weights->loaded_->held->view().group, out.type == CudaOutput::int32));
      if (group.rows < 0 || group.rows > room.capacity_rows())
        return fail(ErrorKind::wrong_size, std::to_string(group.rows) +
                                               " rows of a group are not in room for " +
                                               std::to_string(room.capacity_rows()));
      if (group.bias.bytes > 0) {
        TRY(check_type(group.bias.type));
        const std::size_t size = bytes_of(group.bias.type);
        if (all.bias.memory.bytes > 0)
          return fail(ErrorKind::bad_input, "a group has a bias, and the target has one, too");
        if (group.bias.bytes != static_cast<std::uint64_t>(shape.rows) * size ||
            std::bit_cast<std::uintptr_t>(group.bias.address) % size != 0)
          return fail(ErrorKind::wrong_size, "a group's bias is not of " +
                                                 std::to_string(shape.rows) +
                                                 " values that are aligned");
        if (out.type == CudaOutput::int32)
          return fail(ErrorKind::not_representable, "nothing is added to int32 products");
      }
      if (__builtin_add_overflow(rows, group.rows, &rows))
        return fail(ErrorKind::too_large, "the groups have too many rows");
      if (group.rows > 0 && workspace.bytes < engine.workspace_bytes(shape, group.rows))
        return fail(ErrorKind::wrong_size, "the workspace is too small for a group of " +
                                               std::to_string(group.rows) + " rows");
    }
    if (rows == 0) return {};
    TRY(check_cols(shape, room.cols()));
    const std::size_t in_row = TRY(elements({1, shape.cols})) * bytes_of(values.type),
                      out_row = TRY(elements({1, shape.rows})) * element_bytes(all.type);
    const auto count = static_cast<std::size_t>(rows);
    if (values.bytes % in_row != 0 || values.bytes / in_row != count || out.bytes % out_row != 0 ||
        out.bytes / out_row != count)
      return fail(ErrorKind::wrong_size, std::to_string(rows) + " rows of groups take " +
                                             std::to_string(in_row) + " and " +
                                             std::to_string(out_row) + " bytes each");
    const std::size_t added_row = all.residual.memory.bytes / count;
    if (added_row * count != all.residual.memory.bytes)
      return fail(ErrorKind::wrong_size, "the residual is not of as many rows as the groups have");
    if (in_row % 4 != 0)
      return fail(ErrorKind::wrong_size, "rows of an odd number of halves cannot be grouped");
    auto from = TRY(range_of(values.address, values.bytes));
    auto to = all;
    for (const CudaGroup& group : groups) {
      if (group.rows == 0) continue;
      from.bytes = in_row * static_cast<std::size_t>(group.rows);
      to.memory.bytes = out_row * static_cast<std::size_t>(group.rows);
      if (all.bias.memory.bytes == 0) to.bias = TRY(addend_of(group.bias));
      if (added_row > 0)
        to.residual.memory.bytes = added_row * static_cast<std::size_t>(group.rows);
      TRY(engine.multiply(id_of(stream), *group.weights->loaded_->held, from, values.type,
                          *room.room_->held, group.rows, to,
                          TRY(range_of(workspace.address, workspace.bytes))));
      from.address += from.bytes;
      to.memory.address += to.memory.bytes;
      to.residual.memory.address += to.residual.memory.bytes;
    }
    return {};
  });
}

Result<void> CudaEngine::check(CudaStream stream, const CudaActivations& activations,
                               std::int64_t rows) const {
  return alone(*state_, state_->waits, [&](GpuEngine& engine) -> Result<void> {
    TRY(same_engine(*state_, *activations.room_));
    return engine.check(id_of(stream), *activations.room_->held, rows);
  });
}

}  // namespace gpuready::ternary
