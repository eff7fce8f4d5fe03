// decode, encode, convert, dequantise: codes by layout.cc, scales here.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/floats.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/shape.h"
#include "ternary/share.h"
#include "ternary/workers.h"

namespace gpuready::ternary {
namespace {

constexpr std::size_t kScaleBytes = 32;  // of a tensor's f32 scale with its padding

// TQ1_0, TQ2_0 and BitNet.rs' inline blocks, which threads may share. Calls work(shape of a part,
// its first code, its first byte).
bool has_blocks(const Format& f) { return f.scales_inside && f.scale_block != 0; }
template <class Work>
void share_blocks(FormatId id, std::size_t count, unsigned threads, const Work& work) {
  constexpr std::size_t kGrain = 1024;
  const std::size_t block = static_cast<std::size_t>(format(id).scale_block);
  const std::size_t bytes = block_bytes(format(id));
  share(count / block, kGrain, threads, [&](std::size_t begin, std::size_t end) {
    const Shape part{1, static_cast<std::int64_t>((end - begin) * block)};
    work(part, begin * block, begin * bytes);
  });
}

Result<EncodedSize> checked_size(const EncodedView& from) {
  Result<EncodedSize> size = encoded_size(from.format, from.shape, from.tiling);
  if (!size) return size;
  const Format& f = format(from.format);
  const auto text = [&](std::size_t needed, std::size_t has, const char* what) {
    return std::string(f.name) + " of " + to_text(from.shape) + " takes " + std::to_string(needed) +
           " " + what + ", not " + std::to_string(has);
  };
  if (from.bytes.size() != size->bytes) {
    const bool shorter = from.bytes.size() < size->bytes;
    return fail(shorter ? ErrorKind::truncated : ErrorKind::wrong_size,
                text(size->bytes, from.bytes.size(), "bytes"));
  }
  if (from.scales.size() != size->scales) {
    return fail(ErrorKind::wrong_size, text(size->scales, from.scales.size(), "scales"));
  }
  return size;
}

// The scales of an encoded tensor, wherever it keeps them.
Result<std::vector<float>> read_scales(const EncodedView& from, const EncodedSize& size) {
  std::vector<float> scales(from.scales.begin(), from.scales.end());
  const Format& f = format(from.format);
  if (f.scales_inside && f.scales == ScaleGranularity::tensor) {
    scales.resize(1);
    std::memcpy(scales.data(), from.bytes.data() + size.code_bytes, 4);
  } else if (f.scales_inside) {
    const std::size_t bytes = block_bytes(f);
    scales.resize(from.bytes.size() / bytes);
    for (std::size_t block = 0; block < scales.size(); ++block) {
      std::uint16_t bits;
      std::memcpy(&bits, from.bytes.data() + (block + 1) * bytes - 2, 2);
      scales[block] = f16_to_f32(bits);
    }
  } else if (from.format == FormatId::i2s_qk256) {
    scales = {1};
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i])) {
      return fail(ErrorKind::not_finite, "scale " + std::to_string(i) + " is not finite");
    }
  }
  return scales;
}

// The scales of `codes`, regrouped for a target whose blocks have `target_block` weights (0: all).
Result<std::vector<float>> regroup(const Codes& codes, std::size_t target_block) {
  const std::size_t count = codes.values.size();
  const std::size_t source_block =
      codes.scale_block == 0 ? count : static_cast<std::size_t>(codes.scale_block);
  if (target_block == 0) target_block = count;
  if (source_block == target_block) return codes.scales;
  std::vector<float> scales((count + target_block - 1) / target_block);
  for (std::size_t block = 0; block < scales.size(); ++block) {
    const std::size_t begin = block * target_block, end = std::min(count, begin + target_block);
    scales[block] = codes.scales[begin / source_block];
    bool known = false;
    for (std::size_t i = begin; i < end;) {
      const std::size_t next = std::min(end, (i / source_block + 1) * source_block);
      const float scale = codes.scales[i / source_block];
      // Zeros are zeros at any scale.
      const bool any = std::any_of(codes.values.begin() + static_cast<std::ptrdiff_t>(i),
                                   codes.values.begin() + static_cast<std::ptrdiff_t>(next),
                                   [](std::int8_t code) { return code != 0; });
      if (any && known && scale != scales[block]) {
        return fail(ErrorKind::not_representable,
                    "weights " + std::to_string(begin) + " to " + std::to_string(end - 1) +
                        " have different scales, and the format has one for all of them");
      }
      if (any) scales[block] = scale, known = true;
      i = next;
    }
  }
  return scales;
}

// All but the values of the codes.
Result<std::size_t> check_codes(const Codes& codes) {
  const Result<std::size_t> count = elements(codes.shape);
  if (!count) return std::unexpected(count.error());
  const std::size_t block = static_cast<std::size_t>(codes.scale_block);
  const std::size_t scales = codes.scale_block <= 0 ? 1 : (*count + block - 1) / block;
  if (codes.values.size() != *count || codes.scales.size() != scales || codes.scale_block < 0) {
    return fail(ErrorKind::wrong_size, "a shape of " + to_text(codes.shape) + " needs " +
                                           std::to_string(*count) + " codes and " +
                                           std::to_string(scales) + " scales");
  }
  for (const float scale : codes.scales) {
    if (!std::isfinite(scale)) return fail(ErrorKind::not_finite, "a scale is not finite");
  }
  return count;
}

Result<void> check_values(const Codes& codes) {
  const std::size_t at = first_undefined(codes.values.data(), codes.values.size());
  if (at == codes.values.size()) return {};
  return fail(ErrorKind::bad_code, "the code of weight " + std::to_string(at) + " is " +
                                       std::to_string(codes.values[at]) + ", not -1, 0 or +1");
}

Result<void> write_f16_scales(std::span<const float> scales, std::size_t block_bytes, bool round,
                              std::uint8_t* bytes) {
  for (std::size_t block = 0; block < scales.size(); ++block) {
    const std::uint16_t bits = f32_to_f16(scales[block]);
    const float back = f16_to_f32(bits);
    // A scale that becomes zero or infinite is lost, not rounded.
    const bool lost = std::isinf(back) || (back == 0 && scales[block] != 0);
    if (lost || (back != scales[block] && !round)) {
      return fail(
          ErrorKind::not_representable,
          "scale " + std::to_string(block) + ", " + to_text(scales[block]) +
              (lost ? ", is beyond f16" : ", is not an f16 number, and may not be rounded"));
    }
    std::memcpy(bytes + (block + 1) * block_bytes - 2, &bits, 2);
  }
  return {};
}

// Four levels are ternary weights only if all of them have one magnitude, which is then the scale.
Result<Codes> decode_levels(const EncodedView& from) {
  const Format& f = format(from.format);
  TRY(scales_of(from));
  if (from.format != FormatId::i2s_qk256)
    return fail(ErrorKind::not_ternary,
                std::string(f.name) + " has four levels and no zero; it can only be dequantised");
  Codes codes;
  codes.shape = from.shape;
  codes.values.resize(static_cast<std::size_t>(from.shape.rows * from.shape.cols));
  TRY(read_codes(from.format, from.shape, {}, from.bytes.data(), codes.values.data()));
  const float* level = levels(from.format);
  codes.scales = {std::fabs(level[codes.values[0]])};
  for (std::int8_t& code : codes.values) {
    const float weight = level[code];
    if (std::fabs(weight) != codes.scales[0])
      return fail(ErrorKind::not_ternary,
                  std::string(f.name) +
                      " has four levels, and these weights use more than one magnitude; they can "
                      "only be dequantised");
    code = weight < 0 ? -1 : 1;
  }
  return codes;
}

// The levels of weights that are exactly such.
Result<Encoded> encode_levels(const Codes& codes, FormatId to, const EncodeOptions& options) {
  if (to != FormatId::i2s_qk256)
    return fail(ErrorKind::not_ternary,
                std::string(format(to).name) + " has four levels and no zero; quantise to it");
  const auto count = TRY(check_codes(codes));
  TRY(check_values(codes));
  auto started = TRY(start_encoded(to, codes.shape, options));
  const std::size_t block =
      codes.scale_block == 0 ? count : static_cast<std::size_t>(codes.scale_block);
  const float* level = levels(to);
  std::vector<std::int8_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float weight = static_cast<float>(codes.values[i]) * codes.scales[i / block];
    const float* found = std::find(level, level + 4, weight);
    if (found == level + 4)
      return fail(ErrorKind::not_representable,
                  "weight " + std::to_string(i) + " is " + to_text(weight) + ", and " +
                      std::string(format(to).name) + " has only -2, -1, 1 and 2");
    chosen[i] = static_cast<std::int8_t>(found - level);
  }
  started.encoded.bytes.resize(started.bytes);
  write_codes(to, codes.shape, {}, chosen.data(), started.encoded.bytes.data());
  return std::move(started.encoded);
}

}  // namespace

Result<std::vector<float>> scales_of(const EncodedView& from) {
  const auto size = TRY(checked_size(from));
  return read_scales(from, size);
}

Result<std::size_t> v0::encoded_bytes(FormatId id, Shape shape, Tiling tiling) {
  const auto size = TRY(encoded_size(id, shape, tiling));
  return size.bytes;
}

Result<Started> start_encoded(FormatId to, Shape shape, const EncodeOptions& options) {
  Started started;
  Encoded& result = started.encoded;
  result.format = to;
  result.shape = shape;
  if (format(to).needs_tiling) {
    const auto published = published_tiling(to, shape);
    result.tiling = options.tiling ? *options.tiling
                    : published    ? *published
                                   : fitting_tiling(to, shape);
  }
  const auto size = TRY(encoded_size(to, shape, result.tiling));
  started.bytes = size.bytes;
  return started;
}

Result<void> finish_encoded(Encoded& encoded, std::span<std::uint8_t> bytes,
                            std::span<const float> scales, const EncodeOptions& options) {
  const Format& f = format(encoded.format);
  if (!f.scales_inside) {
    encoded.scales.assign(scales.begin(), scales.end());
    return {};
  }
  if (f.scale_type == ScaleType::f16) {
    return write_f16_scales(scales, block_bytes(f), options.round_scales, bytes.data());
  }
  if (scales[0] < 0)  // what bitnet.cpp writes never is, by which such bytes are known
    return fail(ErrorKind::not_representable,
                std::string(f.name) + " has no negative scale: " + to_text(scales[0]));
  std::uint8_t* behind = bytes.data() + bytes.size() - kScaleBytes;
  std::memset(behind, 0, kScaleBytes);
  std::memcpy(behind, scales.data(), 4);
  return {};
}

Result<Codes> v0::decode(const EncodedView& from, unsigned threads) {
  return compute([&]() -> Result<Codes> {
    const Format& f = format(from.format);
    TRY(check_threads(threads));
    if (f.four_levels) return decode_levels(from);
    auto scales = TRY(scales_of(from));
    Codes codes;
    codes.shape = from.shape;
    codes.scale_block = f.scale_block;
    codes.scales = std::move(scales);
    codes.values.resize(static_cast<std::size_t>(from.shape.rows * from.shape.cols));
    const std::size_t width = plane_width(from.format, from.shape);
    if (width != 0 &&
        read_planes(width, codes.values.size(), threads, from.bytes.data(), codes.values.data())) {
      return codes;
    }
    if (has_blocks(f)) {
      std::atomic<bool> good{true};
      share_blocks(from.format, codes.values.size(), threads,
                   [&](Shape part, std::size_t first, std::size_t byte) {
                     if (!read_codes(from.format, part, {}, from.bytes.data() + byte,
                                     codes.values.data() + first))
                       good = false;
                   });
      if (good) return codes;
    }
    // Also to say which code is bad.
    TRY(read_codes(from.format, from.shape, from.tiling, from.bytes.data(), codes.values.data()));
    return codes;
  });
}

Result<Encoded> v0::encode(const Codes& codes, FormatId to, const EncodeOptions& options) {
  return compute([&]() -> Result<Encoded> {
    TRY(check_threads(options.threads));
    if (format(to).four_levels) return encode_levels(codes, to, options);
    const auto count = TRY(check_codes(codes));
    const auto scales = TRY(regroup(codes, static_cast<std::size_t>(format(to).scale_block)));
    auto started = TRY(start_encoded(to, codes.shape, options));
    Encoded& encoded = started.encoded;
    encoded.bytes = make_bytes(started.bytes, options.threads);
    if (const std::size_t width = plane_width(to, codes.shape); width != 0) {
      std::atomic<bool> good{true};
      write_planes(width, count, options.threads, encoded.bytes.data(),
                   [&](std::size_t first, std::size_t now, std::uint8_t* raised) {
                     if (!weight_table().raise(codes.values.data() + first, now, raised))
                       good = false;
                   });
      if (!good) return std::unexpected(check_values(codes).error());
    } else {
      TRY(check_values(codes));
      if (has_blocks(format(to)))
        share_blocks(
            to, count, options.threads, [&](Shape part, std::size_t first, std::size_t byte) {
              write_codes(to, part, {}, codes.values.data() + first, encoded.bytes.data() + byte);
            });
      else
        write_codes(to, codes.shape, encoded.tiling, codes.values.data(), encoded.bytes.data());
    }
    TRY(finish_encoded(encoded, encoded.bytes, scales, options));
    return std::move(encoded);
  });
}

Result<Encoded> v0::convert(const EncodedView& from, FormatId to, const EncodeOptions& options) {
  const auto codes = TRY(decode(from, options.threads));
  return encode(codes, to, options);
}

Result<std::vector<float>> v0::dequantise(const EncodedView& from) {
  return compute([&]() -> Result<std::vector<float>> {
    const Format& f = format(from.format);
    const auto scales = TRY(scales_of(from));
    const std::size_t count = static_cast<std::size_t>(from.shape.rows * from.shape.cols);
    std::vector<std::int8_t> codes(count);
    TRY(read_codes(from.format, from.shape, from.tiling, from.bytes.data(), codes.data()));
    const std::size_t block = f.scale_block == 0 ? count : static_cast<std::size_t>(f.scale_block);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const float level =
          f.four_levels ? levels(from.format)[codes[i]] : static_cast<float>(codes[i]);
      values[i] = level * (scales)[i / block];
    }
    return values;
  });
}

}  // namespace gpuready::ternary
