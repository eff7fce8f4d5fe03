#include "ternary/gguf/gguf_write.h"

namespace gpuready::ternary::gguf {
namespace {

class Writer {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * i));
  }
  void string(std::string_view text) {
    number(static_cast<std::uint64_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void raw(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void pad(std::uint64_t alignment) {
    bytes_.resize(bytes_.size() + padding(bytes_.size(), alignment));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::vector<std::uint8_t> head(std::uint32_t version, std::uint64_t alignment,
                               const std::vector<std::vector<std::uint8_t>>& metadata,
                               const std::vector<NewTensor>& tensors) {
  Writer out;
  out.raw(Bytes(reinterpret_cast<const std::uint8_t*>("GGUF"), 4));
  out.number(version);
  out.number(static_cast<std::uint64_t>(tensors.size()));
  out.number(static_cast<std::uint64_t>(metadata.size()));
  for (const auto& record : metadata) out.raw(record);
  std::uint64_t offset = 0;
  for (const NewTensor& tensor : tensors) {
    out.string(tensor.name);
    out.number(tensor.dim_count);
    for (std::uint32_t i = 0; i < tensor.dim_count; ++i) out.number(tensor.dims[i]);
    out.number(tensor.type);
    out.number(offset);
    offset += tensor.size + padding(tensor.size, alignment);
  }
  out.pad(alignment);
  return out.take();
}

std::vector<std::uint8_t> string_record(std::string_view key, std::string_view value) {
  Writer out;
  out.string(key);
  out.number(static_cast<std::uint32_t>(ValueType::string));
  out.string(value);
  return out.take();
}

std::vector<std::uint8_t> u32_record(std::string_view key, std::uint32_t value) {
  Writer out;
  out.string(key);
  out.number(static_cast<std::uint32_t>(ValueType::u32));
  out.number(value);
  return out.take();
}

}  // namespace gpuready::ternary::gguf
