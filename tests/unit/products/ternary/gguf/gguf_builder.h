// Makes GGUF files for tests, also wrong ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ternary/gguf/gguf.h"
#include "ternary/gguf/gguf_types.h"

namespace gpuready::ternary::gguf {

class Builder {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  template <class T>
  static void number(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 255);
  }
  static std::string text(std::string_view value) {
    std::string out;
    number<std::uint64_t>(out, value.size());
    return out + std::string(value);
  }
  // A metadata entry: the value's bytes as they stand in the file.
  Builder& entry(std::string_view key, ValueType type, std::string_view value) {
    std::string record = text(key);
    number(record, static_cast<std::uint32_t>(type));
    metadata.push_back(record + std::string(value));
    return *this;
  }
  Builder& u32(std::string_view key, std::uint32_t value) {
    std::string bytes;
    number(bytes, value);
    return entry(key, ValueType::u32, bytes);
  }
  Builder& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                  std::string data) {
    infos.push_back({std::string(name), std::move(dims), type, data_.size()});
    data_ += data;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  Builder& tensor(std::string_view name, const Encoded& encoded, std::uint32_t type) {
    return tensor(name,
                  {static_cast<std::uint64_t>(encoded.shape.cols),
                   static_cast<std::uint64_t>(encoded.shape.rows)},
                  type, std::string(encoded.bytes.begin(), encoded.bytes.end()));
  }
  std::string build() const {
    std::string out = "GGUF";
    number(out, version);
    number<std::uint64_t>(out, infos.size());
    number<std::uint64_t>(out, metadata.size());
    for (const std::string& record : metadata) out += record;
    for (const Info& info : infos) {
      out += text(info.name);
      number(out, static_cast<std::uint32_t>(info.dims.size()));
      for (const std::uint64_t size : info.dims) number(out, size);
      number(out, info.type);
      number(out, info.offset);
    }
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

  struct Info {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type;
    std::uint64_t offset;
  };
  std::vector<std::string> metadata;
  std::vector<Info> infos;  // to be spoiled by tests

 private:
  std::string data_;
};

inline Bytes bytes_of(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

// Codes of all three values in no regular order, with one scale.
inline Codes some_codes(Shape shape, float scale = 0.5f) {
  Codes codes;
  codes.shape = shape;
  codes.scales = {scale};
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < shape.rows * shape.cols; ++i) {
    state = state * 1664525u + 1013904223u;
    codes.values.push_back(static_cast<std::int8_t>(static_cast<int>(state >> 16) % 3 - 1));
  }
  return codes;
}

// Metadata of every type, an array of strings and one of arrays, floats that stay and a tensor.
inline Builder sample_file(FormatId format, std::uint32_t type, Shape shape = {16, 512}) {
  Builder builder;
  builder.entry("general.architecture", ValueType::string, Builder::text("bitnet"));
  builder.u32("general.file_type", 1);
  builder.entry("a.bool", ValueType::boolean, std::string(1, '\1'));
  builder.entry("a.f64", ValueType::f64, std::string(8, '\x11'));
  std::string strings;
  Builder::number<std::uint32_t>(strings, 8);
  Builder::number<std::uint64_t>(strings, 2);
  builder.entry("a.strings", ValueType::array, strings + Builder::text("x") + Builder::text(""));
  std::string nested;
  Builder::number<std::uint32_t>(nested, 9);
  Builder::number<std::uint64_t>(nested, 1);
  Builder::number<std::uint32_t>(nested, 0);
  Builder::number<std::uint64_t>(nested, 3);
  builder.entry("a.nested", ValueType::array, nested + "abc");
  builder.tensor("norm.weight", {8}, kF32, std::string(32, '\x3f'));
  builder.tensor("w.weight", *encode(some_codes(shape), format), type);
  builder.tensor("other.weight", {32, 2}, 8, std::string(68, '\x21'));  // Q8_0
  return builder;
}

}  // namespace gpuready::ternary::gguf
