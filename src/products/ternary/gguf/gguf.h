// GGUF files (ggml-org/ggml docs/gguf.md): versions 2 and 3, little endian. Reading is pure over
// the bytes of the file, copies no names, values or tensors, and trusts none of its numbers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/ternary.h"

namespace gpuready::ternary::gguf {

using Bytes = std::span<const std::uint8_t>;

enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};
inline constexpr std::uint32_t kValueTypes = 13;

struct Metadata {
  std::string_view key;
  ValueType type = ValueType::u8;
  Bytes value;   // what follows the type, verbatim
  Bytes record;  // key, type and value, verbatim
};

struct Tensor {
  std::string_view name;
  std::array<std::int64_t, 4> dims{1, 1, 1, 1};  // ne[0] first: the columns
  std::uint32_t dim_count = 0;                   // as the file has it; 0 is a scalar
  std::uint32_t type = 0;                        // ggml's number; see gguf_types.h
  std::uint64_t offset = 0;                      // of the file, not of its data
  std::uint64_t extent = 0;  // bytes up to the next tensor that starts later, or the file's end
  std::optional<std::uint64_t> size;  // by type; nothing where the number does not tell the layout
  bool overlaps = false;              // a tensor that starts earlier, or at the same place

  std::uint64_t elements() const;
  Shape shape() const;  // further dimensions fold into rows
};

enum class Container { gguf, safetensors };

struct File {
  Container container = Container::gguf;
  Bytes bytes;                // all
  std::uint32_t version = 0;  // of GGUF
  std::uint64_t alignment = 32;
  std::shared_ptr<const void> keeper;  // of names and metadata that are not among the bytes
  std::uint64_t data_offset = 0;
  std::vector<Metadata> metadata;
  std::vector<Tensor> tensors;
  // What is wrong but leaves the rest readable: tensors that overlap or are not aligned.
  std::vector<std::string> problems;

  std::vector<std::uint32_t> by_name;  // the tensors' indices, in the order of their names

  const Tensor* find(std::string_view name) const;
  const Metadata* find_metadata(std::string_view key) const;
  Bytes data(const Tensor& tensor) const;  // extent bytes from its offset
};

// No more than this is read of any file, far beyond what models have, so that a file cannot ask for
// more time and memory than its size is worth.
inline constexpr std::uint64_t kMostTensors = 1 << 15, kMostMetadata = 1 << 16;
inline constexpr std::uint64_t kMostNameBytes = 256;  // the format's own limit is 64
inline constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;  // of a tensor
inline constexpr std::size_t kMostProblems = 50;  // that are listed one by one

// Adds a problem, or counts it where enough are listed: "and 1950 more".
class ProblemList {
 public:
  void add(std::string problem);
  std::vector<std::string> take();

 private:
  std::vector<std::string> problems_;
  std::uint64_t more_ = 0;
};

// bad_input, truncated or too_large with the place; every tensor's bytes are inside the file.
Result<File> read(Bytes bytes);

// The last steps of reading, in this order: sorts names and refuses one that two tensors have;
// makes offsets within the data those of the file, and finds extents and overlaps.
Result<void> index_names(File& file);
Result<void> place_tensors(File& file);

// A u32 value, where it is one.
std::optional<std::uint32_t> as_u32(const Metadata& metadata);

}  // namespace gpuready::ternary::gguf
