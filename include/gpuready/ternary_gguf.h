// GGUF files (ggml-org/ggml docs/gguf.md): versions 2 and 3, little endian. Reading trusts none of
// a file's numbers, and takes no more time and memory than its size is worth; docs/ternary.md tells
// the limits. A mapped file is read in place.
//
//   auto file = GgufFile::read(mapped);                      // Result<GgufFile>
//   const auto index = file->find("blk.0.attn_q.weight");    // empty where there is no such tensor
//   auto packed = file->pack(*index);                        // Result<PackedWeights>
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/ternary.h"

namespace gpuready::ternary {
namespace detail {
struct GgufContents;
}

inline namespace v0 {

struct GgufTensor {
  std::string_view name;
  Shape shape;                          // ne[0] are the columns; further dimensions fold into rows
  std::uint32_t type = 0;               // ggml's number
  std::string type_name;                // "Q4_K", "type 99"
  std::span<const std::uint8_t> bytes;  // up to the next tensor or the end: its padding, too
  bool may_be_ternary = false;
};

struct GgufValue {
  std::uint32_t type = 0;               // GGUF's number: 4 is u32, 6 f32, 8 a string, 9 an array
  std::span<const std::uint8_t> bytes;  // what follows the type, verbatim
};

// Cheap to copy, shared between threads. Keeps `keeper`; without one the caller keeps the bytes.
class GgufFile {
 public:
  // Errors: bad_input, truncated, too_large, with the place.
  static Result<GgufFile> read(std::span<const std::uint8_t> bytes,
                               std::shared_ptr<const void> keeper = nullptr);

  std::size_t tensor_count() const;
  GgufTensor tensor(std::size_t index) const;  // index < tensor_count(); reads none of its bytes
  // Of a type whose number stands for several ternary layouts: those that the bytes do not exclude,
  // which are all read for it.
  std::vector<FormatId> possible_layouts(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view name) const;
  std::optional<GgufValue> metadata(std::string_view key) const;
  // What is wrong but leaves the rest readable: tensors that overlap or are not aligned.
  const std::vector<std::string>& problems() const;

  // The tensor's weights, packed. Errors: not_found for an invalid index, ambiguous_format
  // if its type has several layouts and none is named, not_ternary for other types, and
  // those of PackedWeights::pack().
  Result<PackedWeights> pack(std::size_t index, std::optional<FormatId> layout = std::nullopt,
                             Form form = Form::two_bit, unsigned threads = 0) const;

 private:
  explicit GgufFile(std::shared_ptr<const detail::GgufContents> contents)
      : contents_(std::move(contents)) {}
  std::shared_ptr<const detail::GgufContents> contents_;
};

}  // namespace v0
}  // namespace gpuready::ternary
