// What a file holds, tensor by tensor.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ternary/gguf/gguf_census.h"

namespace gpuready::ternary::gguf {

struct TensorReport {
  const Tensor* tensor = nullptr;
  std::string type;                   // "I2_S", "Q4_K"
  std::optional<FormatId> format;     // of ternary ones, if it is certain or was named
  std::optional<FormatId> likely;     // else the file's likely layout, if it can have it
  bool ambiguous = false;             // its type number stands for several layouts, none was named
  std::vector<Candidate> candidates;  // if its type number stands for several layouts; of the
                                      // first kMostCandidates such tensors
  std::uint64_t bytes = 0;            // its own, or what the file has for it
  double bits_per_weight = 0;
  std::optional<Census> census;  // as its format or likely layout
  std::string problem;           // why it cannot be used; empty if nothing is wrong
};

inline constexpr std::size_t kMostCandidates = 256;

struct FileReport {
  std::vector<TensorReport> tensors;
  std::vector<LikelyLayout> likely;  // of the families for which no layout was named
  std::uint64_t weights = 0, bytes = 0;
  std::uint64_t ternary_tensors = 0, ambiguous_tensors = 0;
  std::vector<std::string> problems;  // of the file and of its tensors
};

FileReport inspect(const File& file, std::span<const FormatId> layouts);

}  // namespace gpuready::ternary::gguf
