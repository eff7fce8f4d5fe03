// What callers of the C interfaces give: values, bytes of formats, handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "gpuready/ternary.h"
#include "gpuready/ternary_c.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

struct gpuready_ternary_packed {
  gpuready::ternary::PackedWeights weights;
};

namespace gpuready::ternary {

// `count` values. The library checks the type; without it their size would not be known.
inline Result<FloatView> values_of(const void* values, gpuready_ternary_type type,
                                   std::size_t count) {
  const auto as = static_cast<FloatType>(type);
  TRY(check_type(as));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, bytes_of(as), &bytes))
    return fail(ErrorKind::too_large, std::to_string(count) + " values are too many");
  return FloatView(as, {static_cast<const std::byte*>(values), bytes});
}

// Scales that lie beside the bytes.
inline Result<std::size_t> scales_beside(FormatId id, Shape shape) {
  const Format& f = format(id);
  const auto count = TRY(elements(shape));
  if (f.scales_inside || id == FormatId::i2s_qk256) return std::size_t{0};
  const auto block = static_cast<std::size_t>(f.scale_block);
  return block == 0 ? std::size_t{1} : (count + block - 1) / block;
}

struct EncodedSizes {
  FormatId format;
  std::size_t bytes, scales;
};
inline Result<EncodedSizes> sizes_of(const char* name, Shape shape) {
  const auto id = TRY(find_format(name));
  // As encode() chooses one where none is given.
  const Tiling tiling = published_tiling(id, shape).value_or(Tiling{});
  const auto bytes = TRY(encoded_bytes(id, shape, tiling));
  const auto scales = TRY(scales_beside(id, shape));
  return EncodedSizes{id, bytes, scales};
}

}  // namespace gpuready::ternary
