// JSON documents out of one stream, as many programs wrote it: one after another, one a line, or
// with the labels of `srun -l` ("3: ") before each line, whose lines may interleave. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

struct StreamLimits {
  std::size_t document_bytes = 8u << 20;
  std::size_t documents = 100'000;
};

struct StreamPart {
  std::string label;       // of srun; empty: the stream has none
  std::string text;        // of an object, from brace to brace; not parsed
  std::string fault = {};  // why there is no whole document; `text` is empty then
};

struct StreamParts {
  std::vector<StreamPart> parts;  // by label, each label's in their order
  bool cut = false;               // there were more than the limit; the rest was left
};

// A document that ends too early, as that of a killed job does, costs only itself: the next begins
// with a brace that begins a line. Lines between documents, such as messages of srun, are skipped.
StreamParts split_documents(std::string_view stream, const StreamLimits& limits = {});

}  // namespace gpuready
