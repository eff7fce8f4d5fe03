// The public face of the GGUF reader.
#include "gpuready/ternary_gguf.h"

#include "ternary/compute.h"
#include "ternary/gguf/gguf.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_types.h"

namespace gpuready::ternary {
namespace detail {

struct GgufContents {
  std::shared_ptr<const void> keeper;
  gguf::File file;
};

}  // namespace detail

Result<GgufFile> GgufFile::read(std::span<const std::uint8_t> bytes,
                                std::shared_ptr<const void> keeper) {
  return compute([&]() -> Result<GgufFile> {
    auto contents = std::make_shared<detail::GgufContents>();
    contents->file = TRY(gguf::read(bytes));
    contents->keeper = std::move(keeper);
    return GgufFile(std::move(contents));
  });
}

std::size_t GgufFile::tensor_count() const { return contents_->file.tensors.size(); }

GgufTensor GgufFile::tensor(std::size_t index) const {
  const gguf::File& file = contents_->file;
  const gguf::Tensor& from = file.tensors[index];
  return {from.name,       from.shape(),
          from.type,       gguf::type_name(from.type),
          file.data(from), gguf::may_be_ternary(from.type)};
}

std::vector<FormatId> GgufFile::possible_layouts(std::size_t index) const {
  const gguf::File& file = contents_->file;
  std::vector<FormatId> layouts;
  for (const gguf::Candidate& candidate : gguf::candidates(file, file.tensors[index]))
    if (candidate.possible && candidate.format) layouts.push_back(*candidate.format);
  return layouts;
}

std::optional<std::size_t> GgufFile::find(std::string_view name) const {
  const gguf::Tensor* found = contents_->file.find(name);
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(found - contents_->file.tensors.data());
}

std::optional<GgufValue> GgufFile::metadata(std::string_view key) const {
  const gguf::Metadata* found = contents_->file.find_metadata(key);
  if (found == nullptr) return std::nullopt;
  return GgufValue{static_cast<std::uint32_t>(found->type), found->value};
}

const std::vector<std::string>& GgufFile::problems() const { return contents_->file.problems; }

Result<PackedWeights> GgufFile::pack(std::size_t index, std::optional<FormatId> layout, Form form,
                                     unsigned threads) const {
  return compute([&]() -> Result<PackedWeights> {
    const gguf::File& file = contents_->file;
    if (index >= file.tensors.size())
      return fail(ErrorKind::not_found, "there is no tensor " + std::to_string(index) +
                                            "; the file has " +
                                            std::to_string(file.tensors.size()));
    const std::span<const FormatId> layouts =
        layout ? std::span<const FormatId>(&*layout, 1) : std::span<const FormatId>();
    const auto loaded = TRY(gguf::load(file, file.tensors[index], layouts));
    if (layout && loaded.format != *layout)
      return fail(ErrorKind::bad_input, "tensor " + std::string(file.tensors[index].name) + " is " +
                                            std::string(format(loaded.format).name) + ", not " +
                                            std::string(format(*layout).name));
    return PackedWeights::pack(loaded.view(), form, threads);
  });
}

}  // namespace gpuready::ternary
