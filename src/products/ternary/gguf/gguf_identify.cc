#include "ternary/gguf/gguf_identify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ternary/floats.h"
#include "ternary/gguf/gguf_census.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/shape.h"

namespace gpuready::ternary::gguf {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

// What excludes a layout that takes `need` bytes; empty where they fit. Nothing says how long the
// last tensor's padding is.
std::string misfit(const File& file, const Tensor& tensor, std::uint64_t need) {
  const bool last = tensor.offset + tensor.extent == file.bytes.size();
  if (tensor.extent >= need && (last || tensor.extent - need < file.alignment)) return {};
  return "it takes " + number(need) + " bytes, and the file has " + number(tensor.extent) +
         " for this tensor";
}

Candidate excluded(std::string name, std::optional<FormatId> format, std::string why) {
  return {std::move(name), format, false, std::move(why)};
}

Candidate by_size(const File& file, const Tensor& tensor, std::string name, std::uint64_t need) {
  std::string why = misfit(file, tensor, need);
  if (!why.empty()) return excluded(std::move(name), std::nullopt, std::move(why));
  return {std::move(name), std::nullopt, true,
          "its " + number(need) + " bytes fit; this layout is not read here"};
}

// What excludes all of bitnet.cpp's I2_S layouts, which share size, codes and scale.
std::string not_bitnet_cpp(const File& file, const Tensor& tensor,
                           const std::array<std::uint64_t, 4>& codes) {
  const std::uint64_t count = tensor.elements();
  if (count % 4 != 0) return "its weights do not come in fours";
  if (std::string why = misfit(file, tensor, count / 4 + 32); !why.empty()) return why;
  if (codes[3] > 0) return "code 3 occurs " + number(codes[3]) + " times, and it writes none";
  float scale;
  std::memcpy(&scale, file.bytes.data() + tensor.offset + count / 4, 4);
  if (!std::isfinite(scale) || scale < 0) return "the scale behind the codes is " + to_text(scale);
  return {};
}

Candidate bitnet_cpp(const File& file, const Tensor& tensor, FormatId id, const std::string& why) {
  const std::string name(format(id).name);
  if (!why.empty()) return excluded(name, id, why);
  if (const auto bytes = encoded_bytes(id, tensor.shape()); !bytes)
    return excluded(name, id, bytes.error().message);
  const Bytes tail = file.data(tensor).subspan(tensor.elements() / 4, 32);
  float scale;
  std::memcpy(&scale, tail.data(), 4);
  const bool zeros =
      std::all_of(tail.begin() + 4, tail.end(), [](std::uint8_t byte) { return byte == 0; });
  return {name, id, true,
          "size and codes fit; scale " + to_text(scale) + " behind the codes, padding " +
              (zeros ? "zero" : "not zero")};
}

const Tensor* bitnet_rs_scales(const File& file, const Tensor& tensor) {
  for (const char* suffix : {".scale", ".scales"}) {
    const Tensor* found = file.find(std::string(tensor.name) + suffix);
    if (found != nullptr && found->type == kF32 &&
        found->elements() == (tensor.elements() + 31) / 32)
      return found;
  }
  return nullptr;
}

Candidate bitnet_rs(const File& file, const Tensor& tensor,
                    const std::array<std::uint64_t, 4>& codes) {
  const FormatId id = FormatId::i2s_bitnet_rs;
  const std::string name(format(id).name);
  const std::uint64_t count = tensor.elements();
  if (std::string why = misfit(file, tensor, (count + 3) / 4); !why.empty())
    return excluded(name, id, std::move(why));
  if (codes[2] > 0)
    return excluded(name, id, "code 2 occurs " + number(codes[2]) + " times, and it writes none");
  if (bitnet_rs_scales(file, tensor) == nullptr)
    return excluded(name, id,
                    "there is no f32 tensor " + std::string(tensor.name) + ".scale of " +
                        number((count + 31) / 32) + " scales");
  return {name, id, true, "size, codes and the tensor of scales fit"};
}

std::vector<Candidate> i2s_candidates(const File& file, const Tensor& tensor) {
  const std::uint64_t count = tensor.elements();
  const auto codes = tensor.overlaps
                         ? std::array<std::uint64_t, 4>{}
                         : count_two_bit(file.data(tensor).first(
                               std::min<std::uint64_t>((count + 3) / 4, tensor.extent)));
  const std::string why = not_bitnet_cpp(file, tensor, codes);
  std::vector<Candidate> all;
  for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row})
    all.push_back(bitnet_cpp(file, tensor, id, why));
  all.push_back(bitnet_rs(file, tensor, codes));
  // EffortlessMetrics/BitNet-rs crates/bitnet-models/src/formats/gguf/types.rs, I2SFlavor.
  all.push_back(by_size(file, tensor, "BitNet.rs with inline f16 scales", (count + 31) / 32 * 10));
  all.push_back(by_size(file, tensor, "BitNet.rs QK256 without scales", (count + 255) / 256 * 64));
  all.push_back(by_size(file, tensor, "IQ4_NL_4_4", (count + 31) / 32 * 18));
  return all;
}

const Tensor* lut_scale(const File& file, const Tensor& tensor) {
  const Tensor* found = file.find(std::string(tensor.name) + "_scale");
  return found != nullptr && found->type == kF32 ? found : nullptr;
}

Candidate lut(const File& file, const Tensor& tensor, FormatId id) {
  const std::string name(format(id).name);
  const auto tiling = published_tiling(id, tensor.shape());
  if (!tiling)
    return excluded(name, id,
                    "bitnet.cpp publishes no tiling for " + to_text(tensor.shape()) +
                        ", and the file does not hold the one that was used");
  const auto bytes = encoded_bytes(id, tensor.shape(), *tiling);
  if (!bytes) return excluded(name, id, bytes.error().message);
  if (std::string why = misfit(file, tensor, *bytes); !why.empty())
    return excluded(name, id, std::move(why));
  const Tensor* scale = lut_scale(file, tensor);
  if (scale == nullptr)
    return excluded(name, id, "there is no f32 tensor " + std::string(tensor.name) + "_scale");
  if (scale->elements() != 1)
    return excluded(name, id,
                    std::string(scale->name) + " holds " + number(scale->elements()) +
                        " scales, and this layout has one");
  return {name, id, true, "size and scale fit, if the published tiling was used"};
}

}  // namespace

bool may_be_ternary(std::uint32_t type) {
  return format_is_certain(type) || type == kI2s || type == kTl1 || type == kTl2 || type == kTl2New;
}

bool format_is_certain(std::uint32_t type) { return type == kTq1 || type == kTq2; }

std::vector<Candidate> candidates(const File& file, const Tensor& tensor) {
  const std::uint64_t blocks = (tensor.elements() + 31) / 32;
  switch (tensor.type) {
    case kI2s:
      return i2s_candidates(file, tensor);
    case kTl1:
      return {lut(file, tensor, FormatId::tl1_bitnet_cpp),
              by_size(file, tensor, "IQ4_NL_8_8", blocks * 18)};
    case kTl2:
      return {lut(file, tensor, FormatId::tl2_bitnet_cpp),
              by_size(file, tensor, "MXFP4", blocks * 17)};
    case kTl2New:
      return {lut(file, tensor, FormatId::tl2_bitnet_cpp)};
    default:
      return {};
  }
}

std::optional<FormatId> layout_for(std::uint32_t type, std::span<const FormatId> layouts) {
  const std::string_view family = type == kI2s                      ? "I2_S"
                                  : type == kTl1                    ? "TL1"
                                  : type == kTl2 || type == kTl2New ? "TL2"
                                                                    : "";
  for (const FormatId id : layouts)
    if (format(id).family == family) return id;
  return std::nullopt;
}

Result<Loaded> load(const File& file, const Tensor& tensor, std::span<const FormatId> layouts) {
  // Each byte of a file belongs to one tensor, so that reading all takes no longer than its size.
  if (tensor.overlaps) return fail(ErrorKind::bad_input, "it overlaps another tensor");
  Loaded loaded;
  loaded.shape = tensor.shape();
  if (format_is_certain(tensor.type)) {
    loaded.format = tensor.type == kTq1 ? FormatId::tq1_0 : FormatId::tq2_0;
    loaded.bytes = file.data(tensor).first(*tensor.size);
    return loaded;
  }
  const std::vector<Candidate> all = candidates(file, tensor);
  if (all.empty()) return fail(ErrorKind::not_ternary, "its type is " + type_name(tensor.type));
  const auto named = layout_for(tensor.type, layouts);
  std::string possible;
  for (const Candidate& candidate : all) {
    if (named && candidate.format == named) {
      if (!candidate.possible)
        return fail(ErrorKind::bad_input,
                    "it cannot be " + candidate.name + ": " + candidate.evidence);
      loaded.format = *named;
    }
    if (candidate.possible) possible += (possible.empty() ? "" : ", ") + candidate.name;
  }
  if (!named)
    return fail(
        ErrorKind::ambiguous_format,
        type_name(tensor.type) + " stands for several layouts (" +
            (possible.empty() ? "of which none fits these bytes" : "possible: " + possible) +
            "); name one with --layout");
  const Format& f = format(loaded.format);
  if (std::ranges::none_of(all, [&](const Candidate& c) { return c.format == named; }))
    return fail(ErrorKind::unknown_format,
                "GGUF files do not hold " + std::string(format(*named).name));
  if (f.needs_tiling) loaded.tiling = *published_tiling(loaded.format, loaded.shape);
  loaded.bytes =
      file.data(tensor).first(*encoded_bytes(loaded.format, loaded.shape, loaded.tiling));
  if (f.scales_inside) return loaded;
  loaded.scale_tensor = f.needs_tiling ? lut_scale(file, tensor) : bitnet_rs_scales(file, tensor);
  if (loaded.scale_tensor->overlaps)
    return fail(ErrorKind::bad_input, "its tensor of scales overlaps another tensor");
  loaded.scales.resize(f.needs_tiling ? 1 : loaded.scale_tensor->elements());
  std::memcpy(loaded.scales.data(), file.data(*loaded.scale_tensor).data(),
              loaded.scales.size() * 4);
  return loaded;
}

}  // namespace gpuready::ternary::gguf
