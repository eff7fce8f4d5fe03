// The C interface of packed weights. Nothing is thrown across it.
#include "base/c_api/c_status.h"
#include "ternary/c_api/c_values.h"

using namespace gpuready::ternary;
using gpuready::c_call;
using gpuready::null_pointer;

namespace {

// `form` comes from C, with any value; pack() says so where there is no such one.
gpuready_ternary_packed* handle_of(PackedWeights weights) {
  return new gpuready_ternary_packed{std::move(weights)};
}

}  // namespace

extern "C" {

gpuready_status gpuready_ternary_pack(const char* format, int64_t rows, int64_t cols,
                                      const void* bytes, size_t byte_count, const float* scales,
                                      size_t scale_count, gpuready_ternary_form form,
                                      uint32_t threads, gpuready_ternary_packed** packed) {
  return c_call([&]() -> Result<void> {
    if (format == nullptr || bytes == nullptr || packed == nullptr ||
        (scales == nullptr && scale_count > 0))
      return null_pointer("an argument");
    *packed = nullptr;
    const Shape shape{rows, cols};
    const auto sizes = TRY(sizes_of(format, shape));
    const EncodedView view(
        sizes.format, shape, published_tiling(sizes.format, shape).value_or(Tiling{}),
        {static_cast<const std::uint8_t*>(bytes), byte_count}, {scales, scale_count});
    *packed = handle_of(TRY(PackedWeights::pack(view, static_cast<Form>(form), threads)));
    return {};
  });
}

gpuready_status gpuready_ternary_pack_values(const void* values, gpuready_ternary_type type,
                                             size_t count, int64_t rows, int64_t cols,
                                             const char* format, gpuready_ternary_rule rule,
                                             gpuready_ternary_form form, uint32_t threads,
                                             gpuready_ternary_packed** packed) {
  return c_call([&]() -> Result<void> {
    if (values == nullptr || format == nullptr || packed == nullptr)
      return null_pointer("an argument");
    *packed = nullptr;
    const auto view = TRY(values_of(values, type, count));
    QuantiseOptions options;
    options.rule = static_cast<Rule>(rule);
    // The absmean scale is an f32 number that f16 scales cannot all hold.
    options.encode.round_scales = options.rule == Rule::absmean;
    options.encode.threads = threads;
    const auto encoded = TRY(quantise(view, {rows, cols}, TRY(find_format(format)), options));
    *packed = handle_of(TRY(PackedWeights::pack(encoded, static_cast<Form>(form), threads)));
    return {};
  });
}

void gpuready_ternary_packed_destroy(gpuready_ternary_packed* packed) { delete packed; }

gpuready_status gpuready_ternary_packed_info(const gpuready_ternary_packed* packed, int64_t* rows,
                                             int64_t* cols, size_t* bytes, size_t* saved_bytes) {
  return c_call([&]() -> Result<void> {
    if (packed == nullptr) return null_pointer("packed");
    const Shape shape = packed->weights.shape();
    if (rows != nullptr) *rows = shape.rows;
    if (cols != nullptr) *cols = shape.cols;
    if (bytes != nullptr) *bytes = packed->weights.bytes();
    if (saved_bytes != nullptr) *saved_bytes = packed->weights.saved_bytes();
    return {};
  });
}

gpuready_status gpuready_ternary_packed_save(const gpuready_ternary_packed* packed, void* to,
                                             size_t saved_bytes) {
  return c_call([&]() -> Result<void> {
    if (packed == nullptr || to == nullptr) return null_pointer("an argument");
    return packed->weights.save({static_cast<std::byte*>(to), saved_bytes});
  });
}

gpuready_status gpuready_ternary_packed_view(const void* saved, size_t saved_bytes, int32_t trust,
                                             uint32_t threads, gpuready_ternary_packed** packed) {
  return c_call([&]() -> Result<void> {
    if (saved == nullptr || packed == nullptr) return null_pointer("an argument");
    *packed = nullptr;
    if (trust != 0 && trust != 1)
      return gpuready::fail(ErrorKind::bad_input,
                            "trust is " + std::to_string(trust) + "; 0 and 1 are known");
    *packed = handle_of(
        TRY(PackedWeights::view({static_cast<const std::byte*>(saved), saved_bytes}, nullptr,
                                trust == 1 ? Contents::trust : Contents::check, threads)));
    return {};
  });
}

}  // extern "C"
