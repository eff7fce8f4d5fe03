#include <cstring>
#include <deque>
#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "ternary/gguf/gguf_scales.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/gguf/gguf_write.h"
#include "ternary/safetensors/safetensors.h"

namespace gpuready::ternary::safetensors {
namespace {

using gguf::Bytes, gguf::File, gguf::Tensor;

// What names and metadata point into.
struct Kept {
  Json header;
  std::deque<std::vector<std::uint8_t>> records;
};

std::string in_quotes(std::string_view name) {
  return "\"" + std::string(name.substr(0, 80)) + "\"";
}

std::unexpected<Error> bad(const std::string& what) { return fail(ErrorKind::bad_input, what); }

Result<void> read_metadata(const Json& entries, Kept& kept, File& file) {
  if (!entries.is_object()) return bad("__metadata__ is not an object");
  if (entries.size() > gguf::kMostMetadata)
    return fail(ErrorKind::too_large, "__metadata__ has " + std::to_string(entries.size()) +
                                          " entries; " + std::to_string(gguf::kMostMetadata) +
                                          " are the most");
  for (const auto& [key, value] : entries.items()) {
    if (!value.is_string()) return bad("__metadata__ " + in_quotes(key) + " is not a string");
    const auto& record =
        kept.records.emplace_back(gguf::string_record(key, value.get_ref<const std::string&>()));
    const Bytes all(record);
    file.metadata.push_back({.key = key,
                             .type = gguf::ValueType::string,
                             .value = all.subspan(8 + key.size() + 4),
                             .record = all});
  }
  return {};
}

Result<void> read_shape(const Json& shape, const std::string& where, Tensor& tensor) {
  if (!shape.is_array()) return bad(where + " has no shape");
  if (shape.size() > tensor.dims.size())
    return bad(where + " has " + std::to_string(shape.size()) + " dimensions; 4 are the most");
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_number_unsigned())
      return bad(where + " has a dimension that is not a whole number");
    const auto width = shape[i].get<std::uint64_t>();
    if (width == 0) return bad(where + " has a dimension of 0");
    if (width > gguf::kMostElements / elements)
      return fail(ErrorKind::too_large, where + " has more than 2^40 elements");
    elements *= width;
    tensor.dims[shape.size() - 1 - i] = static_cast<std::int64_t>(width);
  }
  tensor.dim_count = static_cast<std::uint32_t>(shape.size());
  return {};
}

Result<Tensor> read_tensor(std::string_view name, const Json& entry) {
  Tensor tensor;
  tensor.name = name;
  const std::string where = "tensor " + in_quotes(name);
  if (name.size() > gguf::kMostNameBytes)
    return fail(ErrorKind::too_large, where + " has a name of " + std::to_string(name.size()) +
                                          " bytes; " + std::to_string(gguf::kMostNameBytes) +
                                          " are the most");
  if (!entry.is_object()) return bad(where + " is not described by an object");
  const std::string dtype = get_string(entry, "dtype").value_or("");
  const gguf::Type* type = gguf::find_plain_type(dtype);
  if (type == nullptr)
    return bad(where + " has the dtype " + in_quotes(dtype) + ", which is not read");
  tensor.type = type->number;
  TRY(read_shape(member(entry, "shape"), where, tensor));
  tensor.size = tensor.elements() * static_cast<std::uint64_t>(type->block_bytes);
  const Json& offsets = member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return bad(where + " has no two data_offsets");
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (end < begin || end - begin != *tensor.size)
    return bad(where + " takes " + std::to_string(*tensor.size) +
               " bytes, and its data_offsets are " + std::to_string(begin) + " and " +
               std::to_string(end));
  tensor.offset = begin;
  return tensor;
}

// U8 matrices with one scale beside them hold four rows of weights in each of theirs.
void find_packed(File& file) {
  const auto u8 = gguf::find_plain_type("U8")->number;
  for (Tensor& tensor : file.tensors) {
    if (tensor.type != u8 || tensor.dim_count != 2) continue;
    const Tensor* scale = gguf::find_scales(file, tensor, FormatId::bitnet_hf);
    if (scale == nullptr || scale->elements() != 1) continue;
    tensor.type = gguf::kPackedU8;
    tensor.dims[1] *= 4;
  }
}

}  // namespace

bool begins_like_one(Bytes bytes) { return bytes.size() > 8 && bytes[8] == '{'; }

Result<File> read(Bytes bytes) {
  std::uint64_t size = 0;
  if (!begins_like_one(bytes)) return bad("this is not a safetensors file");
  std::memcpy(&size, bytes.data(), 8);
  if (size > bytes.size() - 8) return fail(ErrorKind::truncated, "the file ends within the header");
  if (size > kMostHeaderBytes)
    return fail(ErrorKind::too_large, "the header has " + std::to_string(size) + " bytes; " +
                                          std::to_string(kMostHeaderBytes) + " are the most");
  const auto kept = std::make_shared<Kept>();
  kept->header = TRY(parse_json({reinterpret_cast<const char*>(bytes.data()) + 8, size},
                                "the header", kMostHeaderBytes));
  File file;
  file.container = gguf::Container::safetensors;
  file.bytes = bytes;
  file.alignment = 1;
  file.data_offset = 8 + size;
  file.keeper = kept;
  if (kept->header.size() > gguf::kMostTensors)
    return fail(ErrorKind::too_large,
                "the header has more than " + std::to_string(gguf::kMostTensors) + " tensors");
  std::uint64_t used = 0;
  for (const auto& [key, value] : kept->header.items()) {
    if (key == "__metadata__") {
      TRY(read_metadata(value, *kept, file));
      continue;
    }
    auto tensor = TRY(read_tensor(key, value));
    used += *tensor.size;
    file.tensors.push_back(std::move(tensor));
  }
  TRY(gguf::index_names(file));
  TRY(gguf::place_tensors(file));
  find_packed(file);
  if (file.problems.empty() && used != bytes.size() - file.data_offset)
    file.problems.push_back(std::to_string(bytes.size() - file.data_offset - used) +
                            " bytes of the data belong to no tensor");
  return file;
}

}  // namespace gpuready::ternary::safetensors
