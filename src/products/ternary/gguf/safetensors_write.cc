// The head of a safetensors file (huggingface/safetensors README, "Format").
#include <cstring>

#include "ternary/gguf/gguf_types.h"
#include "ternary/gguf/gguf_write.h"

namespace gpuready::ternary::gguf {
namespace {

void put_text(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20)
      out.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    else if (c == '"' || c == '\\')
      out.append({'\\', c});
    else
      out += c;
  }
  out += '"';
}

std::string_view text_at(Bytes bytes, std::size_t at) {
  std::uint64_t size;
  std::memcpy(&size, bytes.data() + at, 8);
  return {reinterpret_cast<const char*>(bytes.data()) + at + 8, size};
}

void put_metadata(std::string& out, const std::vector<std::vector<std::uint8_t>>& metadata) {
  std::string entries;
  for (const auto& record : metadata) {
    const std::string_view key = text_at(record, 0);
    std::uint32_t type;
    std::memcpy(&type, record.data() + 8 + key.size(), 4);
    if (type != static_cast<std::uint32_t>(ValueType::string)) continue;
    if (!entries.empty()) entries += ',';
    put_text(entries, key);
    entries += ':';
    put_text(entries, text_at(record, 8 + key.size() + 4));
  }
  if (!entries.empty()) out.append("\"__metadata__\":{").append(entries).append("},");
}

void put_tensor(std::string& out, const NewTensor& tensor, std::uint64_t offset) {
  const bool packed = tensor.type == kPackedU8;
  put_text(out, tensor.name);
  out.append(":{\"dtype\":\"")
      .append(packed ? "U8" : type_name(tensor.type))
      .append("\",\"shape\":[");
  for (std::uint32_t i = tensor.dim_count; i-- > 0;) {
    const std::int64_t width = tensor.dims[i] / (packed && i == 1 ? 4 : 1);
    out.append(std::to_string(width)).append(i > 0 ? "," : "");
  }
  out.append("],\"data_offsets\":[")
      .append(std::to_string(offset) + "," + std::to_string(offset + tensor.size))
      .append("]}");
}

}  // namespace

std::vector<std::uint8_t> safetensors_head(const std::vector<std::vector<std::uint8_t>>& metadata,
                                           const std::vector<NewTensor>& tensors) {
  std::string header = "{";
  put_metadata(header, metadata);
  std::uint64_t offset = 0;
  for (const NewTensor& tensor : tensors) {
    put_tensor(header, tensor, offset);
    header += ',';
    offset += tensor.size;
  }
  if (header.back() == ',') header.pop_back();
  header += '}';
  header.resize(header.size() + padding(header.size(), 8), ' ');
  std::vector<std::uint8_t> head(8 + header.size());
  const std::uint64_t size = header.size();
  std::memcpy(head.data(), &size, 8);
  std::memcpy(head.data() + 8, header.data(), header.size());
  return head;
}

}  // namespace gpuready::ternary::gguf
