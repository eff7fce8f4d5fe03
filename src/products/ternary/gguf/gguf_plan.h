// What a converted file will hold, with the size of each tensor, before any of it is converted.
#pragma once

#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/gguf/gguf_write.h"

namespace gpuready::ternary::gguf {

struct Step {
  const Tensor* from = nullptr;
  bool convert = false;
  bool scale = false;  // holds the scale of the tensor before it
};

struct Plan {
  std::vector<NewTensor> tensors;
  std::vector<Step> steps;  // one a tensor
  std::vector<std::vector<std::uint8_t>> metadata;
};

// Of tensors in a new file; one that is converted keeps its own.
std::uint64_t alignment_of(const File& file, Container container);

// `options.to` is a format that files hold. Adds what is kept, refused and noted to the report.
Plan plan(const File& file, const ConvertOptions& options, const Stored& stored,
          ConvertReport& report);

}  // namespace gpuready::ternary::gguf
