// What a GGUF file holds, tensor by tensor.
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
  std::optional<FormatId> format;     // of ternary ones, where it is certain or was named
  bool ambiguous = false;             // its type number stands for several layouts, none was named
  std::vector<Candidate> candidates;  // where the type number stands for several layouts; of the
                                      // first kMostCandidates such tensors, which speak for all
  std::uint64_t bytes = 0;            // its own, or what the file has for it
  double bits_per_weight = 0;
  std::optional<Census> census;  // where all possible layouts agree about it
  std::string problem;           // why it cannot be used; empty where nothing is wrong
};

inline constexpr std::size_t kMostCandidates = 256;

struct FileReport {
  std::vector<TensorReport> tensors;
  std::uint64_t weights = 0, bytes = 0;
  std::uint64_t ternary_tensors = 0, ambiguous_tensors = 0;
  std::vector<std::string> problems;  // of the file and of its tensors
};

FileReport inspect(const File& file, std::span<const FormatId> layouts);

}  // namespace gpuready::ternary::gguf
