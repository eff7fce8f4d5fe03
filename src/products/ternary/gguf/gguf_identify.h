// Which layout a tensor has. A type number that stands for several layouts is resolved by the
// caller, who names the layout or takes the likely one; what the bytes exclude is an error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

struct Candidate {
  std::string_view name;           // "i2_s-x86", "MXFP4"
  std::optional<FormatId> format;  // nothing: a layout that is not read here
  bool possible = false;
  std::string evidence;  // what excludes it, or what speaks for it
};

// The layouts that the type number can stand for; empty where it stands for one or is not ternary.
std::vector<Candidate> candidates(const File& file, const Tensor& tensor);

// The candidate with this layout. Where a shape has the same tiling in both, tl1_bitnet_cpp serves
// as tl1_bitnet_cpp_setup, too. Null: files do not hold it.
const Candidate* find_candidate(std::span<const Candidate> all, Shape shape, FormatId id);

// True for type numbers whose tensors can be ternary.
bool may_be_ternary(std::uint32_t type);
std::optional<FormatId> certain_format(std::uint32_t type);  // which the number identifies

// The layout of `layouts` that is meant for tensors of this type.
std::optional<FormatId> layout_for(std::uint32_t type, std::span<const FormatId> layouts);

// The layout of the tensors of one family ("I2_S") that a file most likely has.
struct LikelyLayout {
  FormatId layout = FormatId::i2s_x86;
  std::string family, name;  // of the layout, as Format has them: what a report keeps of it
  std::string reason;        // "it is the only layout that fits"
};
// All tensors of a family in a file have one layout: the one that most of them can have; of several
// such, the first in the order of candidates(). A family has no likely layout if a tensor of it can
// be in either of TL1's tilings, which nothing in a file tells apart.
class LayoutTally {
 public:
  void add(std::span<const Candidate> candidates);  // of a tensor
  std::vector<LikelyLayout> likely() const;

 private:
  struct Count {
    FormatId layout;
    std::uint64_t tensors = 0;  // that can have it
  };
  std::vector<Count> counts_;
};
// Of the families in the file of which `named` names no layout.
std::vector<LikelyLayout> likely_layouts(const File& file, std::span<const FormatId> named);

struct Loaded {
  FormatId format = FormatId::tq1_0;
  Shape shape;
  Tiling tiling;
  Bytes bytes;
  std::vector<float> scales;             // of formats that keep them beside the bytes
  const Tensor* scale_tensor = nullptr;  // where those came from
  EncodedView view() const { return {format, shape, tiling, bytes, scales}; }
};
// ambiguous_format without a layout for a type that needs one.
Result<Loaded> load(const File& file, const Tensor& tensor, std::span<const FormatId> layouts);
// As a layout that is certain, or a possible one of candidates().
Result<Loaded> load_as(const File& file, const Tensor& tensor, FormatId format);

}  // namespace gpuready::ternary::gguf
