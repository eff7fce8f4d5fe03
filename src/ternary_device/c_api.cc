// The C interface over ternary_device.h. Nothing is thrown across it.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/c_text.h"
#include "gpuready/ternary_c.h"
#include "gpuready/ternary_device.h"
#include "ternary/error.h"

using namespace gpuready::ternary;
using gpuready::copy_text;

struct gpuready_ternary_engine {
  DeviceEngine engine;
};
struct gpuready_ternary_weights {
  DeviceWeights weights;
};

namespace {

using Status = gpuready_ternary_status;

thread_local std::string last_error;

// In the order of ErrorKind.
constexpr Status kStatus[] = {
    GPUREADY_TERNARY_WRONG_SIZE,
    GPUREADY_TERNARY_TRUNCATED,
    GPUREADY_TERNARY_NOT_FINITE,
    GPUREADY_TERNARY_BAD_CODE,
    GPUREADY_TERNARY_NOT_REPRESENTABLE,
    GPUREADY_TERNARY_NOT_TERNARY,
    GPUREADY_TERNARY_UNKNOWN_FORMAT,
    GPUREADY_TERNARY_AMBIGUOUS_FORMAT,
    GPUREADY_TERNARY_UNSUPPORTED_TIER,
    GPUREADY_TERNARY_TOO_LARGE,
    GPUREADY_TERNARY_NO_DEVICE,
    GPUREADY_TERNARY_DEVICE_MEMORY,
    GPUREADY_TERNARY_DEVICE_FAILED,
    GPUREADY_TERNARY_DEVICE_LOST,
    // Of files, which nothing here reads.
    GPUREADY_TERNARY_INTERNAL_ERROR,
    GPUREADY_TERNARY_INTERNAL_ERROR,
};
static_assert(std::size(kStatus) == static_cast<std::size_t>(ErrorKind::output) + 1);

Status failed(Status status, std::string text) {
  last_error = std::move(text);
  return status;
}
Status failed(const Error& error) {
  return failed(kStatus[static_cast<std::size_t>(error.kind)], error.message);
}
Status null_pointer() {
  return failed(GPUREADY_TERNARY_NULL, "a null pointer, or a struct whose size is not set");
}

// Runs `body`; whatever it throws (memory ran out) becomes a status.
template <class Body>
Status guarded(Body&& body) noexcept {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    last_error.clear();
    return GPUREADY_TERNARY_TOO_LARGE;
  } catch (...) {
    last_error.clear();
    return GPUREADY_TERNARY_INTERNAL_ERROR;
  }
}

std::optional<bool> choice(std::int32_t value) {
  if (value == 0) return std::nullopt;
  return value > 0;
}

// Scales that lie beside the bytes.
Result<std::size_t> scales_beside(FormatId id, Shape shape) {
  const Format& f = format(id);
  const auto count = elements(shape);
  if (!count) return std::unexpected(count.error());
  if (f.scales_inside) return std::size_t{0};
  const auto block = static_cast<std::size_t>(f.scale_block);
  return block == 0 ? std::size_t{1} : (*count + block - 1) / block;
}

struct Sizes {
  FormatId format;
  std::size_t bytes, scales;
};
Result<Sizes> sizes_of(const char* name, Shape shape) {
  const auto id = find_format(name);
  if (!id) return std::unexpected(id.error());
  // As encode() chooses one where none is given.
  const Tiling tiling = published_tiling(*id, shape).value_or(Tiling{});
  const auto bytes = encoded_bytes(*id, shape, tiling);
  if (!bytes) return std::unexpected(bytes.error());
  const auto scales = scales_beside(*id, shape);
  if (!scales) return std::unexpected(scales.error());
  return Sizes{*id, *bytes, *scales};
}

Result<Encoded> quantise_on(const DeviceEngine& engine, const float* values, std::size_t count,
                            Shape shape, FormatId to, gpuready_ternary_rule rule) {
  QuantiseOptions options;
  options.rule = rule == GPUREADY_TERNARY_RULE_ABSMEAN ? Rule::absmean : Rule::of_format;
  // The absmean scale is an f32 number that f16 scales cannot all hold.
  options.encode.round_scales = options.rule == Rule::absmean;
  return engine.quantise(std::span<const float>(values, count), shape, to, options);
}

Status give_weights(const DeviceEngine& engine, const EncodedView& from,
                    gpuready_ternary_weights** to) {
  auto loaded = engine.load(from);
  if (!loaded) return failed(loaded.error());
  *to = new gpuready_ternary_weights{std::move(*loaded)};
  return GPUREADY_TERNARY_OK;
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

const char* gpuready_ternary_status_text(gpuready_ternary_status status) {
  switch (status) {
    case GPUREADY_TERNARY_OK:
      return "success";
    case GPUREADY_TERNARY_NULL:
      return "null pointer";
    case GPUREADY_TERNARY_WRONG_SIZE:
      return "wrong size";
    case GPUREADY_TERNARY_TRUNCATED:
      return "truncated";
    case GPUREADY_TERNARY_NOT_FINITE:
      return "not finite";
    case GPUREADY_TERNARY_BAD_CODE:
      return "bad code";
    case GPUREADY_TERNARY_NOT_REPRESENTABLE:
      return "not representable";
    case GPUREADY_TERNARY_NOT_TERNARY:
      return "not a ternary format";
    case GPUREADY_TERNARY_UNKNOWN_FORMAT:
      return "unknown format";
    case GPUREADY_TERNARY_AMBIGUOUS_FORMAT:
      return "ambiguous format";
    case GPUREADY_TERNARY_UNSUPPORTED_TIER:
      return "unsupported tier";
    case GPUREADY_TERNARY_TOO_LARGE:
      return "too large";
    case GPUREADY_TERNARY_NO_DEVICE:
      return "no device";
    case GPUREADY_TERNARY_DEVICE_MEMORY:
      return "not enough device memory";
    case GPUREADY_TERNARY_DEVICE_FAILED:
      return "the device failed";
    case GPUREADY_TERNARY_DEVICE_LOST:
      return "the device is lost";
    case GPUREADY_TERNARY_INTERNAL_ERROR:
      return "internal error";
  }
  return "unknown status";
}

const char* gpuready_ternary_last_error(void) { return last_error.c_str(); }

Status gpuready_ternary_engine_create(const gpuready_ternary_options* options,
                                      gpuready_ternary_engine** engine) {
  return guarded([&] {
    if (engine == nullptr || (options != nullptr && options->size < sizeof(size_t)))
      return null_pointer();
    *engine = nullptr;
    gpuready_ternary_options given{};
    if (options != nullptr) std::memcpy(&given, options, std::min(options->size, sizeof given));
    DeviceOptions wanted;
    if (given.target != nullptr) {
      auto target = parse_target(given.target);
      if (!target) return failed(target.error());
      wanted.target = std::move(*target);
    }
    wanted.strict = choice(given.strict);
    wanted.force_cpu_fallback = choice(given.force_cpu_fallback);
    if (given.memory_limit_bytes > 0) wanted.memory_limit_bytes = given.memory_limit_bytes;
    wanted.expected_bytes = given.expected_bytes;
    wanted.cpu.threads = given.threads;
    auto made = DeviceEngine::create(wanted);
    if (!made) return failed(made.error());
    *engine = new gpuready_ternary_engine{std::move(*made)};
    return GPUREADY_TERNARY_OK;
  });
}

void gpuready_ternary_engine_destroy(gpuready_ternary_engine* engine) { delete engine; }

Status gpuready_ternary_encoded_size(const char* format, int64_t rows, int64_t cols, size_t* bytes,
                                     size_t* scales) {
  return guarded([&] {
    if (format == nullptr || bytes == nullptr || scales == nullptr) return null_pointer();
    const auto sizes = sizes_of(format, {rows, cols});
    if (!sizes) return failed(sizes.error());
    *bytes = sizes->bytes;
    *scales = sizes->scales;
    return GPUREADY_TERNARY_OK;
  });
}

Status gpuready_ternary_quantise_f32(gpuready_ternary_engine* engine, const float* values,
                                     size_t count, int64_t rows, int64_t cols, const char* format,
                                     gpuready_ternary_rule rule, void* bytes, size_t byte_count,
                                     float* scales, size_t scale_count) {
  return guarded([&] {
    if (engine == nullptr || values == nullptr || format == nullptr || bytes == nullptr ||
        (scales == nullptr && scale_count > 0))
      return null_pointer();
    const auto sizes = sizes_of(format, {rows, cols});
    if (!sizes) return failed(sizes.error());
    if (byte_count != sizes->bytes || scale_count != sizes->scales)
      return failed(GPUREADY_TERNARY_WRONG_SIZE, "this shape takes " +
                                                     std::to_string(sizes->bytes) + " bytes and " +
                                                     std::to_string(sizes->scales) + " scales");
    const auto made = quantise_on(engine->engine, values, count, {rows, cols}, sizes->format, rule);
    if (!made) return failed(made.error());
    if (made->bytes.size() != byte_count || made->scales.size() != scale_count)
      return failed(GPUREADY_TERNARY_WRONG_SIZE, "this shape has another tiling");
    std::memcpy(bytes, made->bytes.data(), byte_count);
    std::copy(made->scales.begin(), made->scales.end(), scales);
    return GPUREADY_TERNARY_OK;
  });
}

Status gpuready_ternary_weights_from_f32(gpuready_ternary_engine* engine, const float* values,
                                         size_t count, int64_t rows, int64_t cols,
                                         const char* format, gpuready_ternary_rule rule,
                                         gpuready_ternary_weights** weights) {
  return guarded([&] {
    if (engine == nullptr || values == nullptr || format == nullptr || weights == nullptr)
      return null_pointer();
    *weights = nullptr;
    const auto id = find_format(format);
    if (!id) return failed(id.error());
    const auto made = quantise_on(engine->engine, values, count, {rows, cols}, *id, rule);
    if (!made) return failed(made.error());
    return give_weights(engine->engine, *made, weights);
  });
}

Status gpuready_ternary_weights_from_bytes(gpuready_ternary_engine* engine, const char* format,
                                           int64_t rows, int64_t cols, const void* bytes,
                                           size_t byte_count, const float* scales,
                                           size_t scale_count, gpuready_ternary_weights** weights) {
  return guarded([&] {
    if (engine == nullptr || format == nullptr || bytes == nullptr || weights == nullptr ||
        (scales == nullptr && scale_count > 0))
      return null_pointer();
    *weights = nullptr;
    const auto sizes = sizes_of(format, {rows, cols});
    if (!sizes) return failed(sizes.error());
    const Shape shape{rows, cols};
    const EncodedView view(
        sizes->format, shape, published_tiling(sizes->format, shape).value_or(Tiling{}),
        {static_cast<const std::uint8_t*>(bytes), byte_count}, {scales, scale_count});
    return give_weights(engine->engine, view, weights);
  });
}

void gpuready_ternary_weights_destroy(gpuready_ternary_weights* weights) { delete weights; }

Status gpuready_ternary_weights_info(const gpuready_ternary_weights* weights, int64_t* rows,
                                     int64_t* cols, int32_t* on_device) {
  return guarded([&] {
    if (weights == nullptr) return null_pointer();
    const Shape shape = weights->weights.shape();
    if (rows != nullptr) *rows = shape.rows;
    if (cols != nullptr) *cols = shape.cols;
    if (on_device != nullptr) *on_device = weights->weights.on_device() ? 1 : 0;
    return GPUREADY_TERNARY_OK;
  });
}

Status gpuready_ternary_multiply_f32(gpuready_ternary_engine* engine,
                                     const gpuready_ternary_weights* weights,
                                     const float* activations, size_t activation_count, int64_t m,
                                     float* out, size_t out_count) {
  return guarded([&] {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer();
    const auto done = engine->engine.multiply(weights->weights,
                                              std::span<const float>(activations, activation_count),
                                              m, std::span<float>(out, out_count));
    return done ? GPUREADY_TERNARY_OK : failed(done.error());
  });
}

Status gpuready_ternary_multiply_i32(gpuready_ternary_engine* engine,
                                     const gpuready_ternary_weights* weights,
                                     const int8_t* activations, size_t activation_count, int64_t m,
                                     int32_t* out, size_t out_count) {
  return guarded([&] {
    if (engine == nullptr || weights == nullptr || activations == nullptr || out == nullptr)
      return null_pointer();
    const auto rows =
        Activations::from_int8({activations, activation_count}, m, weights->weights.shape().cols);
    if (!rows) return failed(rows.error());
    const auto done =
        engine->engine.multiply(weights->weights, *rows, std::span<std::int32_t>(out, out_count));
    return done ? GPUREADY_TERNARY_OK : failed(done.error());
  });
}

Status gpuready_ternary_get_stats(gpuready_ternary_engine* engine, gpuready_ternary_stats* stats) {
  return guarded([&] {
    if (engine == nullptr || stats == nullptr || stats->size < sizeof(size_t))
      return null_pointer();
    const auto value = to_c(engine->engine.stats());
    const std::size_t size = stats->size;
    std::memcpy(stats, &value, std::min(size, sizeof value));
    stats->size = size;
    return GPUREADY_TERNARY_OK;
  });
}

Status gpuready_ternary_active_kernel(gpuready_ternary_engine* engine, char* text,
                                      size_t capacity) {
  return guarded([&] {
    if (engine == nullptr || text == nullptr || capacity == 0) return null_pointer();
    copy_text(text, capacity, engine->engine.active_kernel());
    return GPUREADY_TERNARY_OK;
  });
}

Status gpuready_ternary_summary(gpuready_ternary_engine* engine, char* text, size_t capacity) {
  return guarded([&] {
    if (engine == nullptr || text == nullptr || capacity == 0) return null_pointer();
    copy_text(text, capacity, engine->engine.stats().summary());
    return GPUREADY_TERNARY_OK;
  });
}

}  // extern "C"
