#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "ternary/gguf/gguf.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/shape.h"

static_assert(std::endian::native == std::endian::little);

namespace gpuready::ternary::gguf {
namespace {

constexpr std::size_t kValueBytes[kValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
// The most that ggml takes: GGML_MAX_DIMS; and a depth beyond what any writer nests.
constexpr std::uint32_t kMostDims = 4;
constexpr int kMostDepth = 8;
// The least that a record can take: names and values may be empty.
constexpr std::uint64_t kLeastMetadata = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  bool ok() const { return ok_; }
  Bytes since(std::size_t begin) const { return bytes_.subspan(begin, at_ - begin); }

  template <class T>
  T number() {
    T value{};
    if (!take(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }
  std::string_view string() {
    const auto size = number<std::uint64_t>();
    if (!take(size)) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, size};
  }
  bool take(std::uint64_t count) {
    ok_ = ok_ && count <= left();
    if (ok_) at_ += count;
    return ok_;
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

std::string quoted(std::string_view name) { return "\"" + std::string(name.substr(0, 80)) + "\""; }

std::unexpected<Error> ends_early(const std::string& where) {
  return fail(ErrorKind::truncated, "the file ends within " + where);
}

// Moves past a value; nothing is kept of it.
Result<void> skip_value(Reader& in, std::uint32_t type, int depth, const std::string& where) {
  if (type >= kValueTypes)
    return fail(ErrorKind::bad_input, where + " has the unknown type " + std::to_string(type));
  if (type == static_cast<std::uint32_t>(ValueType::string)) {
    in.string();
  } else if (type != static_cast<std::uint32_t>(ValueType::array)) {
    in.take(kValueBytes[type]);
  } else {
    if (depth == kMostDepth)
      return fail(ErrorKind::bad_input, where + " nests arrays more than 8 deep");
    const auto element = in.number<std::uint32_t>();
    const auto count = in.number<std::uint64_t>();
    if (!in.ok()) return ends_early(where);
    if (element >= kValueTypes)
      return fail(ErrorKind::bad_input, where + " has elements of unknown type");
    const std::size_t each = kValueBytes[element];
    // Strings take 8 bytes at least and arrays 12, so a count is bounded by what is left.
    const std::size_t least = each > 0 ? each : 8;
    if (count > in.left() / least) return ends_early(where);
    if (each > 0) {
      in.take(count * each);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) TRY(skip_value(in, element, depth + 1, where));
    }
  }
  if (!in.ok()) return ends_early(where);
  return {};
}

Result<Metadata> read_metadata(Reader& in, std::uint64_t index) {
  Metadata metadata;
  const std::size_t begin = in.at();
  metadata.key = in.string();
  const auto type = in.number<std::uint32_t>();
  if (!in.ok()) return ends_early("metadata " + std::to_string(index));
  const std::size_t value = in.at();
  TRY(skip_value(in, type, 0, "the value of " + quoted(metadata.key)));
  metadata.type = static_cast<ValueType>(type);
  metadata.value = in.since(value);
  metadata.record = in.since(begin);
  return metadata;
}

Result<Tensor> read_tensor(Reader& in, std::uint64_t index) {
  Tensor tensor;
  tensor.name = in.string();
  tensor.dim_count = in.number<std::uint32_t>();
  if (!in.ok()) return ends_early("the entry of tensor " + std::to_string(index));
  const std::string where = "tensor " + std::to_string(index) + " " + quoted(tensor.name);
  if (tensor.name.size() > kMostNameBytes)
    return fail(ErrorKind::too_large, where + " has a name of " +
                                          std::to_string(tensor.name.size()) + " bytes; " +
                                          std::to_string(kMostNameBytes) + " are the most");
  if (tensor.dim_count > kMostDims)
    return fail(ErrorKind::bad_input,
                where + " has " + std::to_string(tensor.dim_count) + " dimensions; 4 are the most");
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < tensor.dim_count; ++i) {
    const auto width = in.number<std::uint64_t>();
    if (!in.ok()) return ends_early("the entry of " + where);
    if (width == 0) return fail(ErrorKind::bad_input, where + " has a dimension of 0");
    if (width > kMostElements / elements)
      return fail(ErrorKind::too_large, where + " has more than 2^40 elements");
    elements *= width;
    tensor.dims[i] = static_cast<std::int64_t>(width);
  }
  tensor.type = in.number<std::uint32_t>();
  tensor.offset = in.number<std::uint64_t>();
  if (!in.ok()) return ends_early("the entry of " + where);
  if (tensor.type >= kOfSafetensors)
    return fail(ErrorKind::bad_input, where + " has the type number " +
                                          std::to_string(tensor.type) + ", which is too large");
  if (const Type* type = find_type(tensor.type); type != nullptr && type->block > 0) {
    if (tensor.dims[0] % type->block != 0)
      return fail(ErrorKind::bad_input, where + " has rows of " + std::to_string(tensor.dims[0]) +
                                            ", and " + std::string(type->name) + " blocks of " +
                                            std::to_string(type->block));
    tensor.size = elements / static_cast<std::uint64_t>(type->block) *
                  static_cast<std::uint64_t>(type->block_bytes);
  }
  return tensor;
}

}  // namespace

// By sorting: names can be made so that every hash of them collides.
Result<void> index_names(File& file) {
  std::vector<std::string_view> keys;
  for (const Metadata& entry : file.metadata) keys.push_back(entry.key);
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
    return fail(ErrorKind::bad_input, "two metadata entries are called " + quoted(*twice));
  const auto name = [&](std::uint32_t index) { return file.tensors[index].name; };
  file.by_name.resize(file.tensors.size());
  std::iota(file.by_name.begin(), file.by_name.end(), 0u);
  std::ranges::sort(file.by_name, {}, name);
  if (const auto twice = std::ranges::adjacent_find(file.by_name, {}, name);
      twice != file.by_name.end())
    return fail(ErrorKind::bad_input, "two tensors are called " + quoted(name(*twice)));
  return {};
}

namespace {

Result<void> read_alignment(File& file) {
  const Metadata* metadata = file.find_metadata("general.alignment");
  if (metadata == nullptr) return {};
  const auto value = as_u32(*metadata);
  if (!value || *value == 0 || !std::has_single_bit(*value) || *value > 1u << 24)
    return fail(ErrorKind::bad_input,
                "general.alignment is not a power of two up to 2^24 as a u32");
  file.alignment = *value;
  return {};
}

}  // namespace

Result<void> place_tensors(File& file) {
  ProblemList problems;
  std::vector<Tensor*> order;
  order.reserve(file.tensors.size());
  for (Tensor& tensor : file.tensors) {
    const std::string where = "tensor " + quoted(tensor.name);
    if (tensor.offset % file.alignment != 0)
      problems.add(where + " starts at " + std::to_string(tensor.offset) +
                   ", which is not a multiple of " + std::to_string(file.alignment));
    const std::uint64_t room =
        file.bytes.size() - std::min<std::uint64_t>(file.data_offset, file.bytes.size());
    if (tensor.offset >= room || tensor.size.value_or(1) > room - tensor.offset)
      return fail(ErrorKind::truncated, where + " reaches beyond the end of the file");
    tensor.offset += file.data_offset;
    order.push_back(&tensor);
  }
  std::ranges::sort(order, {}, [](const Tensor* tensor) { return tensor->offset; });
  std::uint64_t next = file.bytes.size();
  for (std::size_t i = order.size(); i-- > 0;) {
    if (i + 1 < order.size() && order[i + 1]->offset != order[i]->offset)
      next = order[i + 1]->offset;
    order[i]->extent = next - order[i]->offset;
  }
  // The tensor that reaches furthest so far; one of unknown size ends where the next begins.
  const Tensor* furthest = nullptr;
  const auto end = [](const Tensor& tensor) {
    return tensor.offset + tensor.size.value_or(tensor.extent);
  };
  for (Tensor* tensor : order) {
    if (furthest != nullptr && tensor->offset < end(*furthest)) {
      tensor->overlaps = true;
      problems.add("tensors " + quoted(furthest->name) + " and " + quoted(tensor->name) +
                   " overlap");
    }
    if (furthest == nullptr || end(*tensor) > end(*furthest)) furthest = tensor;
  }
  for (Tensor& tensor : file.tensors)  // what overlaps is still readable in full
    tensor.extent = std::max(tensor.extent, tensor.size.value_or(0));
  file.problems = problems.take();
  return {};
}

std::uint64_t Tensor::elements() const {
  std::uint64_t count = 1;
  for (const std::int64_t width : dims) count *= static_cast<std::uint64_t>(width);
  return count;
}

Shape Tensor::shape() const { return {dims[1] * dims[2] * dims[3], dims[0]}; }

const Tensor* File::find(std::string_view name) const {
  const auto of = [&](std::uint32_t index) { return tensors[index].name; };
  const auto found = std::ranges::lower_bound(by_name, name, {}, of);
  return found == by_name.end() || of(*found) != name ? nullptr : &tensors[*found];
}

void ProblemList::add(std::string problem) {
  if (problems_.size() < kMostProblems)
    problems_.push_back(std::move(problem));
  else
    ++more_;
}

std::vector<std::string> ProblemList::take() {
  if (more_ > 0) problems_.push_back("and " + std::to_string(more_) + " more");
  return std::move(problems_);
}

const Metadata* File::find_metadata(std::string_view key) const {
  const auto found =
      std::ranges::find_if(metadata, [&](const Metadata& entry) { return entry.key == key; });
  return found == metadata.end() ? nullptr : &*found;
}

Bytes File::data(const Tensor& tensor) const { return bytes.subspan(tensor.offset, tensor.extent); }

std::optional<std::uint32_t> as_u32(const Metadata& metadata) {
  if (metadata.type != ValueType::u32) return std::nullopt;
  std::uint32_t value;
  std::memcpy(&value, metadata.value.data(), 4);
  return value;
}

Result<File> read(Bytes bytes) {
  Reader in(bytes);
  File file;
  file.bytes = bytes;
  const auto magic = in.number<std::uint32_t>();
  file.version = in.number<std::uint32_t>();
  if (!in.ok()) return ends_early("the header");
  if (magic != 0x46554747)  // "GGUF"
    return fail(ErrorKind::bad_input, "this is not a GGUF file: it does not begin with GGUF");
  if (file.version != 0 && (file.version & 0xFFFF) == 0)
    return fail(ErrorKind::bad_input,
                "the file is big endian; only little-endian GGUF files are read");
  if (file.version != 2 && file.version != 3)
    return fail(ErrorKind::bad_input, "GGUF version " + std::to_string(file.version) +
                                          " is not read; versions 2 and 3 are");
  const auto tensors = in.number<std::uint64_t>(), entries = in.number<std::uint64_t>();
  if (!in.ok()) return ends_early("the header");
  if (entries > in.left() / kLeastMetadata || tensors > in.left() / kLeastTensor)
    return fail(ErrorKind::truncated, "the header counts " + std::to_string(entries) +
                                          " metadata entries and " + std::to_string(tensors) +
                                          " tensors, more than the file can hold");
  if (entries > kMostMetadata || tensors > kMostTensors)
    return fail(ErrorKind::too_large, "the header counts " + std::to_string(entries) +
                                          " metadata entries and " + std::to_string(tensors) +
                                          " tensors; " + std::to_string(kMostMetadata) + " and " +
                                          std::to_string(kMostTensors) + " are the most");
  for (std::uint64_t i = 0; i < entries; ++i) {
    const auto metadata = TRY(read_metadata(in, i));
    file.metadata.push_back(metadata);
  }
  for (std::uint64_t i = 0; i < tensors; ++i) {
    const auto tensor = TRY(read_tensor(in, i));
    file.tensors.push_back(tensor);
  }
  auto good = index_names(file);
  if (good) good = read_alignment(file);
  if (!good) return std::unexpected(good.error());
  file.data_offset = (in.at() + file.alignment - 1) / file.alignment * file.alignment;
  if (good = place_tensors(file); !good) return std::unexpected(good.error());
  return file;
}

}  // namespace gpuready::ternary::gguf
