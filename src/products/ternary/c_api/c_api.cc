// The C interface over ternary_device.h. Nothing is thrown across it.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/c_api/c_status.h"
#include "base/c_api/c_text.h"
#include "base/text.h"
#include "gpuready/ternary_c.h"
#include "gpuready/ternary_device.h"
#include "ternary/c_api/c_values.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

using namespace gpuready::ternary;
using gpuready::c_call;
using gpuready::copy_text;
using gpuready::fail;
using gpuready::give_struct;
using gpuready::null_pointer;
using gpuready::take_struct;

struct gpuready_ternary_engine {
  DeviceEngine engine;
};
struct gpuready_ternary_weights {
  DeviceWeights weights;
};

namespace {

Result<std::optional<bool>> choice(const char* name, std::int32_t value) {
  if (value < -1 || value > 1)
    return fail(ErrorKind::bad_input,
                std::string(name) + " is " + std::to_string(value) + "; 1, 0 and -1 are known");
  if (value == 0) return std::nullopt;
  return value > 0;
}

Result<Tier> tier_of(const char* name) {
  for (const TierStatus& status : tiers())
    if (to_string(status.tier) == name) return status.tier;
  return fail(ErrorKind::unsupported_tier,
              "there is no tier \"" + gpuready::printable(name) + "\"");
}

Result<DeviceOptions> from_c(const gpuready_ternary_options& given) {
  DeviceOptions options;
  if (given.target != nullptr) options.target = TRY(parse_target(given.target));
  options.strict = TRY(choice("strict", given.strict));
  options.force_cpu_fallback = TRY(choice("force_cpu_fallback", given.force_cpu_fallback));
  if (given.memory_limit_bytes > 0) options.memory_limit_bytes = given.memory_limit_bytes;
  options.expected_bytes = given.expected_bytes;
  options.cpu.threads = given.threads;
  if (given.tier != nullptr) options.cpu.tier = TRY(tier_of(given.tier));
  if (given.pool_run != nullptr || given.pool_threads != 0)
    options.cpu.pool = ThreadPool{given.pool_run, given.pool_context, given.pool_threads};
  if (given.breaker_errors < -1)
    return fail(ErrorKind::bad_input, "breaker_errors is " + std::to_string(given.breaker_errors));
  if (given.breaker_errors != 0)
    options.breaker.errors =
        given.breaker_errors < 0 ? 0u : static_cast<unsigned>(given.breaker_errors);
  if (given.breaker_retry_calls != 0) options.breaker.retry_calls = given.breaker_retry_calls;
  // What is longer than a year never ends; the sum with the clock must not overflow.
  constexpr std::uint64_t kYearMs = std::uint64_t{365} * 24 * 3600 * 1000;
  if (given.breaker_cool_down_ms != 0)
    options.breaker.cool_down =
        std::chrono::milliseconds(std::min(given.breaker_cool_down_ms, kYearMs));
  return options;
}

Result<Encoded> quantise_on(const DeviceEngine& engine, const FloatView& values, Shape shape,
                            FormatId to, gpuready_ternary_rule rule) {
  QuantiseOptions options;
  options.rule = static_cast<Rule>(rule);
  // The absmean scale is an f32 number that f16 scales cannot all hold.
  options.encode.round_scales = options.rule == Rule::absmean;
  return engine.quantise(values, shape, to, options);
}

Result<void> give_weights(const DeviceEngine& engine, const EncodedView& from,
                          gpuready_ternary_weights** to) {
  auto loaded = TRY(engine.load(from));
  *to = new gpuready_ternary_weights{std::move(loaded)};
  return {};
}

gpuready_ternary_stats to_c(const DeviceStats& from) {
  gpuready_ternary_stats to{};
  to.total_operations = from.total_operations;
  to.quantization_operations = from.quantization_operations;
  to.matmul_operations = from.matmul_operations;
  to.total_time_ms = from.total_time_ms;
  to.quantization_time_ms = from.quantization_time_ms;
  to.matmul_time_ms = from.matmul_time_ms;
  to.gpu_operations = from.gpu_operations;
  to.cpu_operations = from.cpu_operations;
  to.failed_operations = from.failed_operations;
  to.fallback_count = from.fallback_count;
  to.gpu_efficiency = from.gpu_efficiency.value_or(-1);
  to.gpu_effective = from.is_gpu_effective();
  to.device_lost = from.device_lost;
  to.breaker = static_cast<std::int32_t>(from.breaker);
  to.memory_known = from.memory_used_bytes && from.memory_total_bytes;
  to.memory_used_bytes = from.memory_used_bytes.value_or(0);
  to.memory_total_bytes = from.memory_total_bytes.value_or(0);
  to.device_memory_known = from.device_memory_used_bytes && from.device_memory_total_bytes;
  to.device_memory_used_bytes = from.device_memory_used_bytes.value_or(0);
  to.device_memory_total_bytes = from.device_memory_total_bytes.value_or(0);
  to.avg_quantization_time_ms = from.avg_quantization_time_ms().value_or(-1);
  to.avg_matmul_time_ms = from.avg_matmul_time_ms().value_or(-1);
  to.device_weights_bytes = from.device_weights_bytes;
  to.host_weights_bytes = from.host_weights_bytes;
  to.device_errors = from.device_errors;
  to.breaker_trips = from.breaker_trips;
  copy_text(to.device_type, from.device_type);
  copy_text(to.device_name, from.device_name);
  copy_text(to.target_device, to_string(from.target_device));
  copy_text(to.last_gpu_error, from.last_gpu_error.value_or(""));
  copy_text(to.last_cpu_error, from.last_cpu_error.value_or(""));
  copy_text(to.last_fallback_reason, from.last_fallback_reason.value_or(""));
  return to;
}

}  // namespace

extern "C" {

gpuready_status gpuready_ternary_engine_create(const gpuready_ternary_options* options,
                                               gpuready_ternary_engine** engine) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr) return null_pointer("engine");
    *engine = nullptr;
    gpuready_ternary_options given{};
    if (options != nullptr) given = TRY(take_struct("gpuready_ternary_options", options));
    auto made = TRY(DeviceEngine::create(TRY(from_c(given))));
    *engine = new gpuready_ternary_engine{std::move(made)};
    return {};
  });
}

gpuready_status gpuready_ternary_fallback(gpuready_ternary_engine* engine, size_t index, char* text,
                                          size_t capacity, size_t* count) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || count == nullptr || (text == nullptr && capacity > 0))
      return null_pointer("an argument");
    const auto reasons = engine->engine.fallbacks();
    *count = reasons.size();
    if (capacity > 0)
      copy_text(text, capacity, index < reasons.size() ? std::string_view(reasons[index]) : "");
    return {};
  });
}

void gpuready_ternary_engine_destroy(gpuready_ternary_engine* engine) { delete engine; }

gpuready_status gpuready_ternary_encoded_size(const char* format, int64_t rows, int64_t cols,
                                              size_t* bytes, size_t* scales) {
  return c_call([&]() -> Result<void> {
    if (format == nullptr || bytes == nullptr || scales == nullptr)
      return null_pointer("an argument");
    const auto sizes = TRY(sizes_of(format, {rows, cols}));
    *bytes = sizes.bytes;
    *scales = sizes.scales;
    return {};
  });
}

gpuready_status gpuready_ternary_quantise(gpuready_ternary_engine* engine, const void* values,
                                          gpuready_ternary_type type, size_t count, int64_t rows,
                                          int64_t cols, const char* format,
                                          gpuready_ternary_rule rule, void* bytes,
                                          size_t byte_count, float* scales, size_t scale_count) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || values == nullptr || format == nullptr || bytes == nullptr ||
        (scales == nullptr && scale_count > 0))
      return null_pointer("an argument");
    const auto sizes = TRY(sizes_of(format, {rows, cols}));
    if (byte_count != sizes.bytes || scale_count != sizes.scales)
      return fail(ErrorKind::wrong_size, "this shape takes " + std::to_string(sizes.bytes) +
                                             " bytes and " + std::to_string(sizes.scales) +
                                             " scales");
    const auto view = TRY(values_of(values, type, count));
    const auto made = TRY(quantise_on(engine->engine, view, {rows, cols}, sizes.format, rule));
    if (made.bytes.size() != byte_count || made.scales.size() != scale_count)
      return fail(ErrorKind::wrong_size, "this shape has another tiling");
    std::memcpy(bytes, made.bytes.data(), byte_count);
    std::copy(made.scales.begin(), made.scales.end(), scales);
    return {};
  });
}

gpuready_status gpuready_ternary_quantise_f32(gpuready_ternary_engine* engine, const float* values,
                                              size_t count, int64_t rows, int64_t cols,
                                              const char* format, gpuready_ternary_rule rule,
                                              void* bytes, size_t byte_count, float* scales,
                                              size_t scale_count) {
  return gpuready_ternary_quantise(engine, values, GPUREADY_TERNARY_F32, count, rows, cols, format,
                                   rule, bytes, byte_count, scales, scale_count);
}

gpuready_status gpuready_ternary_weights_from_values(gpuready_ternary_engine* engine,
                                                     const void* values, gpuready_ternary_type type,
                                                     size_t count, int64_t rows, int64_t cols,
                                                     const char* format, gpuready_ternary_rule rule,
                                                     gpuready_ternary_weights** weights) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || values == nullptr || format == nullptr || weights == nullptr)
      return null_pointer("an argument");
    *weights = nullptr;
    const auto id = TRY(find_format(format));
    const auto view = TRY(values_of(values, type, count));
    const auto made = TRY(quantise_on(engine->engine, view, {rows, cols}, id, rule));
    return give_weights(engine->engine, made, weights);
  });
}

gpuready_status gpuready_ternary_weights_from_f32(gpuready_ternary_engine* engine,
                                                  const float* values, size_t count, int64_t rows,
                                                  int64_t cols, const char* format,
                                                  gpuready_ternary_rule rule,
                                                  gpuready_ternary_weights** weights) {
  return gpuready_ternary_weights_from_values(engine, values, GPUREADY_TERNARY_F32, count, rows,
                                              cols, format, rule, weights);
}

gpuready_status gpuready_ternary_weights_from_bytes(gpuready_ternary_engine* engine,
                                                    const char* format, int64_t rows, int64_t cols,
                                                    const void* bytes, size_t byte_count,
                                                    const float* scales, size_t scale_count,
                                                    gpuready_ternary_weights** weights) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || format == nullptr || bytes == nullptr || weights == nullptr ||
        (scales == nullptr && scale_count > 0))
      return null_pointer("an argument");
    *weights = nullptr;
    const auto sizes = TRY(sizes_of(format, {rows, cols}));
    const Shape shape{rows, cols};
    const EncodedView view(
        sizes.format, shape, published_tiling(sizes.format, shape).value_or(Tiling{}),
        {static_cast<const std::uint8_t*>(bytes), byte_count}, {scales, scale_count});
    return give_weights(engine->engine, view, weights);
  });
}

gpuready_status gpuready_ternary_weights_from_codes(gpuready_ternary_engine* engine,
                                                    const int8_t* codes, size_t code_count,
                                                    int64_t rows, int64_t cols, const void* scales,
                                                    gpuready_ternary_type scale_type,
                                                    size_t scale_count, int64_t group,
                                                    gpuready_ternary_weights** weights) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || codes == nullptr || scales == nullptr || weights == nullptr)
      return null_pointer("an argument");
    *weights = nullptr;
    const auto values = TRY(values_of(scales, scale_type, scale_count));
    const auto packed =
        TRY(PackedWeights::pack({codes, code_count}, {rows, cols}, {values, group}));
    auto loaded = TRY(engine->engine.load(packed));
    *weights = new gpuready_ternary_weights{std::move(loaded)};
    return {};
  });
}

gpuready_status gpuready_ternary_weights_from_packed(gpuready_ternary_engine* engine,
                                                     const gpuready_ternary_packed* packed,
                                                     gpuready_ternary_weights** weights) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || packed == nullptr || weights == nullptr)
      return null_pointer("an argument");
    *weights = nullptr;
    *weights = new gpuready_ternary_weights{TRY(engine->engine.load(packed->weights))};
    return {};
  });
}

void gpuready_ternary_weights_destroy(gpuready_ternary_weights* weights) { delete weights; }

gpuready_status gpuready_ternary_weights_info(const gpuready_ternary_weights* weights,
                                              int64_t* rows, int64_t* cols, int32_t* on_device) {
  return c_call([&]() -> Result<void> {
    if (weights == nullptr) return null_pointer("an argument");
    const Shape shape = weights->weights.shape();
    if (rows != nullptr) *rows = shape.rows;
    if (cols != nullptr) *cols = shape.cols;
    if (on_device != nullptr) *on_device = weights->weights.on_device() ? 1 : 0;
    return {};
  });
}

gpuready_status gpuready_ternary_weights_fallback(const gpuready_ternary_weights* weights,
                                                  char* text, size_t capacity) {
  return c_call([&]() -> Result<void> {
    if (weights == nullptr || text == nullptr || capacity == 0) return null_pointer("an argument");
    copy_text(text, capacity, weights->weights.fallback_reason());
    return {};
  });
}

gpuready_status gpuready_ternary_multiply(gpuready_ternary_engine* engine,
                                          const gpuready_ternary_weights* weights,
                                          const void* activations, gpuready_ternary_type type,
                                          size_t activation_count, int64_t m, float* out,
                                          size_t out_count) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer("an argument");
    const auto view = TRY(values_of(activations, type, activation_count));
    return engine->engine.multiply(weights->weights, view, m, std::span<float>(out, out_count));
  });
}

gpuready_status gpuready_ternary_multiply_add(gpuready_ternary_engine* engine,
                                              const gpuready_ternary_weights* weights,
                                              const void* activations, gpuready_ternary_type type,
                                              size_t activation_count, int64_t m, const void* bias,
                                              gpuready_ternary_type bias_type, const void* residual,
                                              gpuready_ternary_type residual_type, void* out,
                                              gpuready_ternary_type out_type, size_t out_bytes) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer("an argument");
    const auto view = TRY(values_of(activations, type, activation_count));
    const Shape shape = weights->weights.shape();
    const auto count = TRY(elements({m, shape.rows}));
    Addends addends;
    if (bias != nullptr)
      addends.bias = TRY(values_of(bias, bias_type, static_cast<std::size_t>(shape.rows)));
    if (residual != nullptr) addends.residual = TRY(values_of(residual, residual_type, count));
    return engine->engine.multiply(weights->weights, view, m, static_cast<FloatType>(out_type),
                                   {static_cast<std::byte*>(out), out_bytes}, addends);
  });
}

gpuready_status gpuready_ternary_multiply_f32(gpuready_ternary_engine* engine,
                                              const gpuready_ternary_weights* weights,
                                              const float* activations, size_t activation_count,
                                              int64_t m, float* out, size_t out_count) {
  return gpuready_ternary_multiply(engine, weights, activations, GPUREADY_TERNARY_F32,
                                   activation_count, m, out, out_count);
}

gpuready_status gpuready_ternary_multiply_i32(gpuready_ternary_engine* engine,
                                              const gpuready_ternary_weights* weights,
                                              const int8_t* activations, size_t activation_count,
                                              int64_t m, int32_t* out, size_t out_count) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer("an argument");
    const auto rows = TRY(
        Activations::from_int8({activations, activation_count}, m, weights->weights.shape().cols));
    return engine->engine.multiply(weights->weights, rows, std::span<std::int32_t>(out, out_count));
  });
}

gpuready_status gpuready_ternary_get_stats(gpuready_ternary_engine* engine,
                                           gpuready_ternary_stats* stats) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr) return null_pointer("engine");
    return give_struct("gpuready_ternary_stats", to_c(engine->engine.stats()), stats);
  });
}

gpuready_status gpuready_ternary_get_kernel_stats(gpuready_ternary_engine* engine, size_t index,
                                                  gpuready_ternary_kernel_stats* stats,
                                                  size_t* count) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || count == nullptr) return null_pointer("an argument");
    const auto kernels = engine->engine.stats().kernels;
    gpuready_ternary_kernel_stats one{};
    if (index < kernels.size()) {
      one.calls = kernels[index].calls;
      one.time_ms = kernels[index].time_ms;
      copy_text(one.kernel, kernels[index].kernel);
    }
    TRY(give_struct("gpuready_ternary_kernel_stats", one, stats));
    *count = kernels.size();
    return {};
  });
}

gpuready_status gpuready_ternary_active_kernel(gpuready_ternary_engine* engine, char* text,
                                               size_t capacity) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || text == nullptr || capacity == 0) return null_pointer("an argument");
    copy_text(text, capacity, engine->engine.active_kernel());
    return {};
  });
}

gpuready_status gpuready_ternary_summary(gpuready_ternary_engine* engine, char* text,
                                         size_t capacity) {
  return c_call([&]() -> Result<void> {
    if (engine == nullptr || text == nullptr || capacity == 0) return null_pointer("an argument");
    copy_text(text, capacity, engine->engine.stats().summary());
    return {};
  });
}

}  // extern "C"
