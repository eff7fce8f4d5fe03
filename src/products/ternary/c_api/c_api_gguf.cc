// The C interface of GGUF files. Nothing is thrown across it.
#include "base/c_api/c_status.h"
#include "base/c_api/c_text.h"
#include "gpuready/ternary_gguf.h"
#include "ternary/c_api/c_values.h"

using namespace gpuready::ternary;
using gpuready::c_call;
using gpuready::copy_text;
using gpuready::fail;
using gpuready::null_pointer;

struct gpuready_ternary_gguf {
  GgufFile file;
};

extern "C" {

gpuready_status gpuready_ternary_gguf_read(const void* bytes, size_t size,
                                           gpuready_ternary_gguf** file) {
  return c_call([&]() -> Result<void> {
    if (bytes == nullptr || file == nullptr) return null_pointer("an argument");
    *file = nullptr;
    *file = new gpuready_ternary_gguf{
        TRY(GgufFile::read({static_cast<const std::uint8_t*>(bytes), size}))};
    return {};
  });
}
void gpuready_ternary_gguf_destroy(gpuready_ternary_gguf* file) { delete file; }

gpuready_status gpuready_ternary_gguf_count(const gpuready_ternary_gguf* file, size_t* tensors) {
  return c_call([&]() -> Result<void> {
    if (file == nullptr || tensors == nullptr) return null_pointer("an argument");
    *tensors = file->file.tensor_count();
    return {};
  });
}
gpuready_status gpuready_ternary_gguf_find(const gpuready_ternary_gguf* file, const char* name,
                                           size_t* index) {
  return c_call([&]() -> Result<void> {
    if (file == nullptr || name == nullptr || index == nullptr) return null_pointer("an argument");
    const auto found = file->file.find(name);
    if (!found) return fail(ErrorKind::not_found, "the file has no tensor of this name");
    *index = *found;
    return {};
  });
}
gpuready_status gpuready_ternary_gguf_tensor(const gpuready_ternary_gguf* file, size_t index,
                                             char* name, size_t capacity, int64_t* rows,
                                             int64_t* cols, uint32_t* type) {
  return c_call([&]() -> Result<void> {
    if (file == nullptr || (name == nullptr && capacity > 0)) return null_pointer("an argument");
    if (index >= file->file.tensor_count())
      return fail(ErrorKind::not_found, "there is no tensor " + std::to_string(index));
    const GgufTensor tensor = file->file.tensor(index);
    if (capacity > 0) copy_text(name, capacity, tensor.name);
    if (rows != nullptr) *rows = tensor.shape.rows;
    if (cols != nullptr) *cols = tensor.shape.cols;
    if (type != nullptr) *type = tensor.type;
    return {};
  });
}
gpuready_status gpuready_ternary_gguf_pack(const gpuready_ternary_gguf* file, size_t index,
                                           const char* layout, gpuready_ternary_form form,
                                           uint32_t threads, gpuready_ternary_packed** packed) {
  return c_call([&]() -> Result<void> {
    if (file == nullptr || packed == nullptr) return null_pointer("an argument");
    *packed = nullptr;
    std::optional<FormatId> named;
    if (layout != nullptr) named = TRY(find_format(layout));
    *packed = new gpuready_ternary_packed{
        TRY(file->file.pack(index, named, static_cast<Form>(form), threads))};
    return {};
  });
}

}  // extern "C"
