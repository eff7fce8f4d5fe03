// What the bytes of a tensor say about the layouts that its type number can stand for.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ternary/floats.h"
#include "ternary/gguf/gguf_census.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_scales.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/layout.h"
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

Candidate excluded(FormatId id, std::string why) {
  return {format(id).name, id, false, std::move(why)};
}
Candidate possible(FormatId id, std::string why) {
  return {format(id).name, id, true, std::move(why)};
}

// A layout that is not read here.
Candidate by_size(const File& file, const Tensor& tensor, std::string_view name,
                  std::uint64_t need) {
  std::string why = misfit(file, tensor, need);
  if (!why.empty()) return {name, std::nullopt, false, std::move(why)};
  return {name, std::nullopt, true,
          "its " + number(need) + " bytes fit; this layout is not read here"};
}

// What excludes a layout by its size, or by the scales that it keeps in another tensor.
std::string misfit(const File& file, const Tensor& tensor, FormatId id, Tiling tiling = {}) {
  const auto size = encoded_size(id, tensor.shape(), tiling);
  if (!size) return size.error().message;
  if (std::string why = misfit(file, tensor, size->bytes); !why.empty()) return why;
  if (size->scales == 0) return {};
  const Tensor* scales = find_scales(file, tensor, id);
  if (scales == nullptr)
    return "the file has no tensor " + scale_name(tensor.name, id) + " of " + number(size->scales) +
           (size->scales == 1 ? " scale" : " scales");
  if (scales->elements() != size->scales)
    return std::string(scales->name) + " holds " + number(scales->elements()) +
           " scales, and this layout has " + number(size->scales);
  return {};
}

using TwoBits = std::array<std::uint64_t, 4>;

// What excludes a layout by the values of two bits that occur.
std::string undefined_code(FormatId id, const TwoBits& codes) {
  const auto weights = weights_of_bits(id);
  for (std::size_t code = 0; code < 4; ++code)
    if (weights[code] == 2 && codes[code] > 0)
      return "code " + number(code) + " occurs " + number(codes[code]) +
             " times, and it writes none";
  return {};
}

Candidate bitnet_cpp(const File& file, const Tensor& tensor, FormatId id, const TwoBits& codes) {
  if (std::string why = misfit(file, tensor, id); !why.empty()) return excluded(id, std::move(why));
  if (std::string why = undefined_code(id, codes); !why.empty())
    return excluded(id, std::move(why));
  float scale;
  std::memcpy(&scale, file.data(tensor).data() + tensor.elements() / 4, 4);
  if (!std::isfinite(scale) || scale < 0)
    return excluded(id, "the scale behind the codes is " + to_text(scale));
  return possible(id, "size and codes fit; scale " + to_text(scale) + " behind the codes");
}

// BitNet.rs' layouts: EffortlessMetrics/BitNet-rs crates/bitnet-models/src/formats/gguf/types.rs,
// I2SFlavor.
Candidate bitnet_rs(const File& file, const Tensor& tensor, FormatId id, const TwoBits& codes) {
  if (std::string why = misfit(file, tensor, id); !why.empty()) return excluded(id, std::move(why));
  if (std::string why = undefined_code(id, codes); !why.empty())
    return excluded(id, std::move(why));
  return possible(id, "size, codes and the tensor of scales fit");
}

Candidate inline_scales(const File& file, const Tensor& tensor) {
  const FormatId id = FormatId::i2s_bitnet_rs_inline;
  if (std::string why = misfit(file, tensor, id); !why.empty()) return excluded(id, std::move(why));
  if (tensor.overlaps) return possible(id, "its size fits");
  const auto loaded = load_as(file, tensor, id);
  const auto census = loaded ? count(*loaded) : std::unexpected(loaded.error());
  if (!census) return excluded(id, census.error().message);
  if (std::string why = undefined_code(id, {census->undefined, 0, 0, 0}); !why.empty())
    return excluded(id, std::move(why));
  return possible(id,
                  "size and codes fit; " + number(census->scales) + " scales between the codes");
}

Candidate qk256(const File& file, const Tensor& tensor) {
  const FormatId id = FormatId::i2s_qk256;
  if (std::string why = misfit(file, tensor, id); !why.empty()) return excluded(id, std::move(why));
  if (const Tensor* scales = find_scales(file, tensor, FormatId::i2s_bitnet_rs_split))
    return excluded(id, std::string(scales->name) + " holds scales, and this layout has none");
  return possible(id, "its size fits, and the file has no scales for it");
}

std::vector<Candidate> i2s_candidates(const File& file, const Tensor& tensor) {
  const std::uint64_t count = tensor.elements();
  const TwoBits codes = tensor.overlaps
                            ? TwoBits{}
                            : count_two_bit(file.data(tensor).first(
                                  std::min<std::uint64_t>((count + 3) / 4, tensor.extent)));
  std::vector<Candidate> all;
  for (const FormatId id : {FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row})
    all.push_back(bitnet_cpp(file, tensor, id, codes));
  for (const FormatId id : {FormatId::i2s_bitnet_rs_split, FormatId::i2s_bitnet_rs})
    all.push_back(bitnet_rs(file, tensor, id, codes));
  all.push_back(inline_scales(file, tensor));
  all.push_back(qk256(file, tensor));
  all.push_back(by_size(file, tensor, "IQ4_NL_4_4", (count + 31) / 32 * 18));
  return all;
}

Candidate lut(const File& file, const Tensor& tensor, FormatId id) {
  const auto tiling = published_tiling(id, tensor.shape());
  if (!tiling)
    return excluded(id, "bitnet.cpp publishes no tiling for " + to_text(tensor.shape()) +
                            ", and the file does not hold the one that was used");
  if (std::string why = misfit(file, tensor, id, *tiling); !why.empty())
    return excluded(id, std::move(why));
  return possible(id, "size and scale fit, if the published tiling was used");
}

// Tilings permute the pairs of weights, and every pair can be anywhere: no byte tells them apart.
std::vector<Candidate> tl1_candidates(const File& file, const Tensor& tensor) {
  constexpr FormatId kPreset = FormatId::tl1_bitnet_cpp, kSetup = FormatId::tl1_bitnet_cpp_setup;
  std::vector<Candidate> all = {lut(file, tensor, kPreset)};
  if (published_tiling(kPreset, tensor.shape()) != published_tiling(kSetup, tensor.shape())) {
    all.push_back(lut(file, tensor, kSetup));
    constexpr std::string_view kFits = "size and scale fit; the bytes do not tell its tiling, ";
    if (all[0].possible)
      all[0].evidence = std::string(kFits) + "that of preset_kernels, from that of setup_env.py";
    if (all[1].possible)
      all[1].evidence = std::string(kFits) + "that of setup_env.py, from that of preset_kernels";
  }
  all.push_back(by_size(file, tensor, "IQ4_NL_8_8", (tensor.elements() + 31) / 32 * 18));
  return all;
}

}  // namespace

std::vector<Candidate> candidates(const File& file, const Tensor& tensor) {
  const std::uint64_t blocks = (tensor.elements() + 31) / 32;
  switch (tensor.type) {
    case kI2s:
      return i2s_candidates(file, tensor);
    case kTl1:
      return tl1_candidates(file, tensor);
    case kTl2:
      return {lut(file, tensor, FormatId::tl2_bitnet_cpp),
              by_size(file, tensor, "MXFP4", blocks * 17)};
    case kTl2New:
      return {lut(file, tensor, FormatId::tl2_bitnet_cpp)};
    default:
      return {};
  }
}

const Candidate* find_candidate(std::span<const Candidate> all, Shape shape, FormatId id) {
  auto found = std::ranges::find(all, id, &Candidate::format);
  constexpr FormatId kPreset = FormatId::tl1_bitnet_cpp;
  if (found == all.end() && id == FormatId::tl1_bitnet_cpp_setup &&
      published_tiling(id, shape) == published_tiling(kPreset, shape))
    found = std::ranges::find(all, kPreset, &Candidate::format);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace gpuready::ternary::gguf
