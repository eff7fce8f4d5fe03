// The C interface over ternary_cuda.h. Nothing is thrown across it.
#include "base/c_api/c_status.h"
#include "base/c_api/c_text.h"
#include "gpuready/ternary_cuda.h"
#include "gpuready/ternary_cuda_c.h"
#include "ternary/c_api/c_values.h"

using namespace gpuready::ternary;
using gpuready::c_call;
using gpuready::copy_text;
using gpuready::null_pointer;

struct gpuready_ternary_cuda {
  CudaEngine engine;
};
struct gpuready_ternary_cuda_weights {
  CudaWeights weights;
};
struct gpuready_ternary_cuda_activations {
  CudaActivations activations;
};

namespace {

// The library checks both enumerations, which come from C with any value.
CudaValues values_at(const void* address, gpuready_ternary_type type, std::size_t bytes) {
  return {address, static_cast<FloatType>(type), bytes};
}
CudaTarget target_at(void* address, gpuready_ternary_output type, std::size_t bytes) {
  return {address, static_cast<CudaOutput>(type), bytes};
}

// The same with what is added; sizes follow from the product's.
Result<CudaTarget> target_adding(CudaTarget target, Shape weights, std::int64_t m, const void* bias,
                                 gpuready_ternary_type bias_type, const void* residual,
                                 gpuready_ternary_type residual_type) {
  const auto count = TRY(elements({m, weights.rows}));
  const auto addend = [](const void* address, gpuready_ternary_type type,
                         std::size_t n) -> Result<CudaValues> {
    if (address == nullptr) return CudaValues{};
    return values_at(address, type, TRY(values_of(address, type, n)).bytes.size());
  };
  target.bias = TRY(addend(bias, bias_type, static_cast<std::size_t>(weights.rows)));
  target.residual = TRY(addend(residual, residual_type, count));
  return target;
}

}  // namespace

extern "C" {

gpuready_status gpuready_ternary_cuda_create(void* context, gpuready_ternary_cuda** engine) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr) return null_pointer("engine");
    *engine = nullptr;
    *engine = new gpuready_ternary_cuda{TRY(CudaEngine::create({context}))};
    return {};
  });
}
void gpuready_ternary_cuda_destroy(gpuready_ternary_cuda* engine) { delete engine; }

gpuready_status gpuready_ternary_cuda_load(gpuready_ternary_cuda* engine,
                                           const gpuready_ternary_packed* const* stacked,
                                           size_t count, gpuready_ternary_cuda_weights** weights) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || stacked == nullptr || weights == nullptr)
      return null_pointer("an argument");
    *weights = nullptr;
    std::vector<PackedWeights> each;
    for (std::size_t i = 0; i < count; ++i) {
      if (stacked[i] == nullptr) return null_pointer("packed weights");
      each.push_back(stacked[i]->weights);
    }
    *weights = new gpuready_ternary_cuda_weights{TRY(engine->engine.load(each))};
    return {};
  });
}
void gpuready_ternary_cuda_weights_destroy(gpuready_ternary_cuda_weights* weights) {
  delete weights;
}
gpuready_status gpuready_ternary_cuda_weights_info(const gpuready_ternary_cuda_weights* weights,
                                                   int64_t* rows, int64_t* cols, size_t* bytes) {
  return c_call([&]() -> Result<void> {
    if (weights == nullptr) return null_pointer("weights");
    const Shape shape = weights->weights.shape();
    if (rows != nullptr) *rows = shape.rows;
    if (cols != nullptr) *cols = shape.cols;
    if (bytes != nullptr) *bytes = weights->weights.bytes();
    return {};
  });
}

gpuready_status gpuready_ternary_cuda_activations_create(
    gpuready_ternary_cuda* engine, int64_t m, int64_t k,
    gpuready_ternary_cuda_activations** activations) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || activations == nullptr) return null_pointer("an argument");
    *activations = nullptr;
    *activations =
        new gpuready_ternary_cuda_activations{TRY(engine->engine.make_activations(m, k))};
    return {};
  });
}
void gpuready_ternary_cuda_activations_destroy(gpuready_ternary_cuda_activations* activations) {
  delete activations;
}

gpuready_status gpuready_ternary_cuda_workspace(gpuready_ternary_cuda* engine, int64_t n, int64_t k,
                                                int64_t m, size_t* bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || bytes == nullptr) return null_pointer("an argument");
    *bytes = TRY(engine->engine.workspace_bytes({n, k}, m));
    return {};
  });
}
gpuready_status gpuready_ternary_cuda_prepare(gpuready_ternary_cuda* engine, int64_t n, int64_t k,
                                              int64_t m) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr) return null_pointer("engine");
    return engine->engine.prepare({n, k}, m);
  });
}
gpuready_status gpuready_ternary_cuda_kernel(gpuready_ternary_cuda* engine, int64_t n, int64_t k,
                                             int64_t m, char* text, size_t capacity) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || text == nullptr || capacity == 0) return null_pointer("an argument");
    copy_text(text, capacity, TRY(engine->engine.kernel_for({n, k}, m)));
    return {};
  });
}

gpuready_status gpuready_ternary_cuda_quantise(gpuready_ternary_cuda* engine, void* stream,
                                               const void* values, gpuready_ternary_type type,
                                               size_t bytes,
                                               gpuready_ternary_cuda_activations* into, int64_t m) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || values == nullptr || into == nullptr)
      return null_pointer("an argument");
    return engine->engine.quantise(stream, values_at(values, type, bytes), into->activations, m);
  });
}
gpuready_status gpuready_ternary_cuda_multiply(gpuready_ternary_cuda* engine, void* stream,
                                               const gpuready_ternary_cuda_weights* weights,
                                               const gpuready_ternary_cuda_activations* activations,
                                               int64_t m, void* out,
                                               gpuready_ternary_output out_type, size_t out_bytes,
                                               void* workspace, size_t workspace_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer("an argument");
    return engine->engine.multiply(stream, weights->weights, activations->activations, m,
                                   target_at(out, out_type, out_bytes),
                                   {workspace, workspace_bytes});
  });
}
gpuready_status gpuready_ternary_cuda_multiply_values(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, int64_t m, void* out, gpuready_ternary_output out_type,
    size_t out_bytes, void* workspace, size_t workspace_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || values == nullptr || room == nullptr ||
        out == nullptr)
      return null_pointer("an argument");
    return engine->engine.multiply(stream, weights->weights, values_at(values, type, bytes),
                                   room->activations, m, target_at(out, out_type, out_bytes),
                                   {workspace, workspace_bytes});
  });
}
gpuready_status gpuready_ternary_cuda_multiply_add(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const gpuready_ternary_cuda_activations* activations, int64_t m, const void* bias,
    gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type residual_type,
    void* out, gpuready_ternary_output out_type, size_t out_bytes, void* workspace,
    size_t workspace_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer("an argument");
    const auto target =
        TRY(target_adding(target_at(out, out_type, out_bytes), weights->weights.shape(), m, bias,
                          bias_type, residual, residual_type));
    return engine->engine.multiply(stream, weights->weights, activations->activations, m, target,
                                   {workspace, workspace_bytes});
  });
}
gpuready_status gpuready_ternary_cuda_multiply_values_add(
    gpuready_ternary_cuda* engine, void* stream, const gpuready_ternary_cuda_weights* weights,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, int64_t m, const void* bias,
    gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type residual_type,
    void* out, gpuready_ternary_output out_type, size_t out_bytes, void* workspace,
    size_t workspace_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || values == nullptr || room == nullptr ||
        out == nullptr)
      return null_pointer("an argument");
    const auto target =
        TRY(target_adding(target_at(out, out_type, out_bytes), weights->weights.shape(), m, bias,
                          bias_type, residual, residual_type));
    return engine->engine.multiply(stream, weights->weights, values_at(values, type, bytes),
                                   room->activations, m, target, {workspace, workspace_bytes});
  });
}
gpuready_status gpuready_ternary_cuda_multiply_grouped(
    gpuready_ternary_cuda* engine, void* stream,
    const gpuready_ternary_cuda_weights* const* weights, const int64_t* rows, size_t groups,
    const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, void* out, gpuready_ternary_output out_type,
    size_t out_bytes, void* workspace, size_t workspace_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || rows == nullptr || values == nullptr ||
        room == nullptr || out == nullptr)
      return null_pointer("an argument");
    std::vector<CudaGroup> each;
    for (std::size_t i = 0; i < groups; ++i) {
      if (weights[i] == nullptr) return null_pointer("a group's weights");
      each.push_back({&weights[i]->weights, rows[i]});
    }
    return engine->engine.multiply_grouped(stream, each, values_at(values, type, bytes),
                                           room->activations, target_at(out, out_type, out_bytes),
                                           {workspace, workspace_bytes});
  });
}
gpuready_status gpuready_ternary_cuda_check(gpuready_ternary_cuda* engine, void* stream,
                                            const gpuready_ternary_cuda_activations* activations,
                                            int64_t m) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || activations == nullptr) return null_pointer("an argument");
    return engine->engine.check(stream, activations->activations, m);
  });
}

}  // extern "C"
