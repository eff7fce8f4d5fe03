#include "ternary/gguf/gguf_identify.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "ternary/floats.h"
#include "ternary/gguf/gguf_scales.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/layout.h"

namespace gpuready::ternary::gguf {
namespace {

// bitnet.cpp: utils/convert-hf-to-gguf-bitnet.py. BitNet.rs: find_sibling_scale() of
// crates/bitnet-models/src/gguf_simple.rs. transformers: src/transformers/integrations/bitnet.py.
std::string_view scale_suffix(FormatId id) {
  return format(id).family == format(FormatId::i2s_bitnet_rs).family ? ".scale" : "_scale";
}

std::string_view family_of(std::uint32_t type) {
  return type == kI2s                      ? "I2_S"
         : type == kTl1                    ? "TL1"
         : type == kTl2 || type == kTl2New ? "TL2"
                                           : "";
}

// Why a layout is likelier than others that as many tensors can have.
constexpr std::pair<FormatId, std::string_view> kReasons[] = {
    {FormatId::i2s_x86,
     "bitnet.cpp's converter writes it on every machine, its quantiser on x86-64, and Microsoft's "
     "published files have it"},
    {FormatId::i2s_arm, "bitnet.cpp's quantiser writes it on ARM"},
    {FormatId::i2s_bitnet_rs_split, "BitNet.rs reads it from GGUF files"},
};

// `tensors` can have it; of its rivals, the one that most can have.
std::string reason_for(FormatId layout, std::uint64_t tensors, std::uint64_t rival) {
  if (rival == 0) return "no other layout fits";
  for (const auto& [of, reason] : kReasons)
    if (of == layout && tensors == rival) return std::string(reason);
  return "no other layout fits more of the file's tensors";
}

}  // namespace

std::string scale_name(std::string_view tensor, FormatId id) {
  return std::string(tensor).append(scale_suffix(id));
}

const Tensor* find_scales(const File& file, const Tensor& tensor, FormatId id) {
  std::vector<std::string> names = {scale_name(tensor.name, id)};
  if (scale_suffix(id) == ".scale") {
    const std::string_view stem =
        tensor.name.substr(0, tensor.name.size() - (tensor.name.ends_with(".weight") ? 7 : 0));
    for (const std::string_view base : {tensor.name, stem})
      for (const char* suffix : {".scale", ".scales"}) names.push_back(std::string(base) + suffix);
  }
  for (const std::string& name : names)
    if (const Tensor* found = file.find(name); found != nullptr && float_type(found->type))
      return found;
  return nullptr;
}

bool may_be_ternary(std::uint32_t type) { return certain_format(type) || !family_of(type).empty(); }

std::optional<FormatId> certain_format(std::uint32_t type) {
  if (type == kTq1) return FormatId::tq1_0;
  if (type == kTq2) return FormatId::tq2_0;
  if (type == kPackedU8) return FormatId::bitnet_hf;
  return std::nullopt;
}

std::optional<FormatId> layout_for(std::uint32_t type, std::span<const FormatId> layouts) {
  const std::string_view family = family_of(type);
  for (const FormatId id : layouts)
    if (format(id).family == family) return id;
  return std::nullopt;
}

void LayoutTally::add(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (!candidate.format) continue;
    auto count = std::ranges::find(counts_, *candidate.format, &Count::layout);
    if (count == counts_.end()) count = counts_.insert(count, {*candidate.format});
    count->tensors += candidate.possible;
  }
}

std::vector<LikelyLayout> LayoutTally::likely() const {
  std::vector<LikelyLayout> all;
  const bool two_tilings = std::ranges::any_of(counts_, [](const Count& count) {
    return count.layout == FormatId::tl1_bitnet_cpp_setup && count.tensors > 0;
  });
  for (const Count& count : counts_) {
    const Format& its = format(count.layout);
    const bool open = two_tilings && its.family == format(FormatId::tl1_bitnet_cpp).family;
    bool best = count.tensors > 0 && !open;
    std::uint64_t rival = 0;
    for (const Count& other : counts_) {
      if (&other == &count || format(other.layout).family != its.family) continue;
      rival = std::max(rival, other.tensors);
      best &= other.tensors < count.tensors || (other.tensors == count.tensors && &count < &other);
    }
    if (best)
      all.push_back({count.layout, std::string(its.family), std::string(its.name),
                     reason_for(count.layout, count.tensors, rival)});
  }
  return all;
}

std::vector<LikelyLayout> likely_layouts(const File& file, std::span<const FormatId> named) {
  LayoutTally tally;
  for (const Tensor& tensor : file.tensors)
    if (!layout_for(tensor.type, named)) tally.add(candidates(file, tensor));
  return tally.likely();
}

Result<Loaded> load_as(const File& file, const Tensor& tensor, FormatId id) {
  Loaded loaded;
  loaded.format = id;
  loaded.shape = tensor.shape();
  loaded.tiling = published_tiling(id, loaded.shape).value_or(Tiling{});
  const auto size = TRY(encoded_size(id, loaded.shape, loaded.tiling));
  loaded.bytes = file.data(tensor).first(size.bytes);
  if (size.scales == 0) return loaded;
  loaded.scale_tensor = find_scales(file, tensor, id);
  if (loaded.scale_tensor == nullptr)
    return fail(ErrorKind::not_found, "the file has no tensor " + scale_name(tensor.name, id));
  if (loaded.scale_tensor->elements() < size.scales)
    return fail(ErrorKind::wrong_size, std::string(loaded.scale_tensor->name) + " holds " +
                                           std::to_string(loaded.scale_tensor->elements()) +
                                           " of " + std::to_string(size.scales) + " scales");
  if (loaded.scale_tensor->overlaps)
    return fail(ErrorKind::bad_input, "its tensor of scales overlaps another tensor");
  loaded.scales.resize(size.scales);
  read_floats(FloatView(*float_type(loaded.scale_tensor->type),
                        std::as_bytes(file.data(*loaded.scale_tensor))),
              0, size.scales, loaded.scales.data());
  return loaded;
}

Result<Loaded> load(const File& file, const Tensor& tensor, std::span<const FormatId> layouts) {
  // Each byte of a file belongs to one tensor, so that reading all takes no longer than its size.
  if (tensor.overlaps) return fail(ErrorKind::bad_input, "it overlaps another tensor");
  if (const auto certain = certain_format(tensor.type)) return load_as(file, tensor, *certain);
  const std::vector<Candidate> all = candidates(file, tensor);
  if (all.empty()) return fail(ErrorKind::not_ternary, "its type is " + type_name(tensor.type));
  const auto named = layout_for(tensor.type, layouts);
  if (named) {
    const Candidate* found = find_candidate(all, tensor.shape(), *named);
    if (found == nullptr)
      return fail(ErrorKind::unknown_format,
                  "GGUF files do not hold " + std::string(format(*named).name));
    if (!found->possible)
      return fail(ErrorKind::bad_input,
                  "it cannot be " + std::string(found->name) + ": " + found->evidence);
    return load_as(file, tensor, *named);
  }
  std::string possible;
  for (const Candidate& candidate : all)
    if (candidate.possible) possible.append(possible.empty() ? "" : ", ").append(candidate.name);
  if (possible.empty())
    return fail(ErrorKind::bad_input,
                "no layout of " + type_name(tensor.type) + " that is read here fits its bytes");
  return fail(ErrorKind::ambiguous_format, type_name(tensor.type) +
                                               " can have several layouts (possible: " + possible +
                                               "); name its layout");
}

}  // namespace gpuready::ternary::gguf
