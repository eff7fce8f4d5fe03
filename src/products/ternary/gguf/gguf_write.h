// The head of a GGUF or safetensors file: everything in front of the tensors' data.
#pragma once

#include <string>
#include <vector>

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

struct NewTensor {
  std::string name;
  std::uint32_t dim_count = 0;
  std::array<std::int64_t, 4> dims{1, 1, 1, 1};
  std::uint32_t type = 0;
  std::uint64_t size = 0;  // bytes
};

// Header, metadata records as they are given, tensor entries, and padding up to the data. Tensors
// follow each other in this order, each padded to the alignment.
std::vector<std::uint8_t> head(std::uint32_t version, std::uint64_t alignment,
                               const std::vector<std::vector<std::uint8_t>>& metadata,
                               const std::vector<NewTensor>& tensors);
// The same of a safetensors file: names and metadata are UTF-8, the types such as it holds, and
// metadata that are not strings are left out. Tensors follow each other without padding.
std::vector<std::uint8_t> safetensors_head(const std::vector<std::vector<std::uint8_t>>& metadata,
                                           const std::vector<NewTensor>& tensors);
std::vector<std::uint8_t> string_record(std::string_view key, std::string_view value);
std::vector<std::uint8_t> u32_record(std::string_view key, std::uint32_t value);

inline std::uint64_t padding(std::uint64_t bytes, std::uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

}  // namespace gpuready::ternary::gguf
