// Which layout a tensor of a GGUF file has. A type number that stands for several layouts is never
// resolved by guessing: the caller names the layout, and what the bytes exclude is an error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

struct Candidate {
  std::string name;                // "i2_s-x86", "MXFP4"
  std::optional<FormatId> format;  // nothing: a layout that is not read here
  bool possible = false;
  std::string evidence;  // what excludes it, or what speaks for it
};

// The layouts that the type number can stand for; empty where it stands for one or is not ternary.
std::vector<Candidate> candidates(const File& file, const Tensor& tensor);

// True for type numbers whose tensors can be ternary.
bool may_be_ternary(std::uint32_t type);
bool format_is_certain(std::uint32_t type);  // of a ternary type: its number stands for one layout

// The layout of `layouts` that is meant for tensors of this type.
std::optional<FormatId> layout_for(std::uint32_t type, std::span<const FormatId> layouts);

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

}  // namespace gpuready::ternary::gguf
